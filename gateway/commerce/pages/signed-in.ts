/**
 * Who is signed in to the account pages: a person, in one of the person's accounts, with the role of now.
 *
 * Everything is read again at each request, so that a change of members counts from the next request on. A session whose
 * account is no longer open to the person sees the list of the person's accounts and nothing else.
 */

import { contactOf } from '../../api/http/http.ts';
import { ownAccountOf, PERMISSIONS, type PersonRecord } from '../accounts/accounts.ts';
import type { Session, SessionStore, SignedInUser } from '../people/people.ts';
import type { AccountService } from '../service.ts';
import { AccountError, nullIfUnknown } from '../store/store.ts';

/** The only page for the owner of a closed account. */
const PRIVACY_PAGE = '/account/data';
/** The only page for somebody who is in no account. */
export const ACCOUNTS_PAGE = '/account/accounts';

const CLOSED = 'A closed account can no longer do this.';
const NO_ACCOUNT = 'You are not a member of this account. Choose one of yours.';

type Parts = Pick<AccountService, 'accounts' | 'members' | 'persons'>;
type UserParts = Parts & Pick<AccountService, 'settings' | 'publicUrl'> & { sessions: SessionStore };

/** The accounts of a person, the person's own first. */
export async function membershipsOf(parts: Parts, person_id: string) {
  const ids = await parts.persons.accountsOf(person_id);
  const all = await Promise.all(ids.map((account_id) => findMembership(parts, person_id, account_id)));
  const own = ownAccountOf(person_id);
  return all
    .filter((membership) => membership !== null)
    .sort((a, b) => Number(b.account_id === own) - Number(a.account_id === own));
}

/** Null for somebody who is not a member, and for others than the owner once the account is closed. */
async function findMembership({ accounts, members }: Parts, person_id: string, account_id: string) {
  const [account, role] = await Promise.all([
    accounts.get(account_id).catch(nullIfUnknown),
    members.roleOf(account_id, person_id),
  ]);
  if (account === null || role === null || (account.state === 'closed' && role !== 'owner')) return null;
  const { name, email, state } = account;
  return { account_id, name, email, state, role };
}

/** Returns what finds the user of a session; null if the sessions of the person were ended. */
export function userFinder(parts: UserParts) {
  return async (session: Session): Promise<SignedInUser | null> => {
    const person = await parts.persons.get(session.subject);
    if (!person || person.epoch !== session.epoch) return null;
    const membership = await currentMembership(parts, session, person);
    const base = { subject: person.person_id, email: person.email, canWrite: true };
    if (membership === null)
      return { ...base, role: 'no account', restrictedTo: ACCOUNTS_PAGE, restrictedBecause: NO_ACCOUNT };
    const { account_id, role, state } = membership;
    return {
      ...base,
      account: { account_id, role, permissions: PERMISSIONS[role] },
      formScope: account_id,
      role: state === 'active' ? role : state,
      hidden: role === 'owner' ? [] : [PRIVACY_PAGE],
      ...(state === 'suspended' && { suspended: contactLink(parts) }),
      ...(state === 'closed' && { restrictedTo: PRIVACY_PAGE, restrictedBecause: CLOSED }),
    };
  };
}

function contactLink({ settings, publicUrl }: UserParts): { contact: string; href: string } {
  const contact = contactOf(settings, publicUrl());
  return { contact, href: settings.CONTACT_EMAIL === undefined ? contact : `mailto:${contact}` };
}

async function currentMembership(
  parts: Parts & { sessions: SessionStore },
  session: Session,
  { person_id }: PersonRecord,
) {
  if (session.account_id !== null) return findMembership(parts, person_id, session.account_id);
  const [first = null] = await membershipsOf(parts, person_id);
  if (first) await parts.sessions.setAccount(session, first.account_id);
  return first;
}

/** @throws {AccountError} `account_unknown` unless the person is in the account */
export async function expectMembership(parts: Parts, person_id: string, account_id: string) {
  const membership = await findMembership(parts, person_id, account_id);
  if (membership) return membership;
  throw new AccountError('account_unknown', 'You are not a member of this account.');
}
