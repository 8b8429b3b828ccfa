/**
 * Members of an account, on a real Redis: what happens at once, in a suspended account, and late. Who may do what:
 * `pages/team-events.extended.test.ts`.
 */
import { expect, it } from 'vitest';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import {
  type GivenRole,
  INVITATION_TTL_MS,
  MAX_MEMBERS,
  MemberStore,
} from '../../../gateway/commerce/accounts/member-store.ts';
import { founderOf, PersonStore } from '../../../gateway/commerce/accounts/person-store.ts';
import { useStores } from './stores.ts';

let persons: PersonStore;
let members: MemberStore;
let accounts: AccountStore;
const { clock } = useStores(({ base }) => {
  persons = new PersonStore(base);
  members = new MemberStore(base);
  accounts = new AccountStore({ ...base, packs: [] });
});

const REFUSED = { code: 'member_refused' };

/** An account of an owner, who can let persons in. */
async function found() {
  const { account_id } = await accounts.create({ email: 'owner@example.org', verified: true, by: 'test' });
  const by = founderOf(account_id);
  const personOf = async (email: string) => (await persons.findOrCreate(email, '')).person_id;
  const invite = async (email: string, role: GivenRole = 'viewer') =>
    (await members.invite(account_id, { email, role, by })).invitation_id;
  const accept = (invitation_id: string, person_id: string) =>
    members.accept(account_id, invitation_id, person_id);
  const join = async (email: string, role?: GivenRole) => {
    const person_id = await personOf(email);
    await accept(await invite(email, role), person_id);
    return { person_id, email };
  };
  const move = (to: { person_id: string; email: string }) => members.moveOwnership(account_id, { to, by });
  return { account_id, by, personOf, invite, accept, join, move };
}

it('a moved ownership takes the address of the account along and ends invitations; one accepted is used up', async () => {
  const { account_id, by, personOf, invite, accept, join, move } = await found();
  const [member, other] = [await join('member@example.org', 'developer'), await join('other@example.org')];
  const open = await invite('invited@example.org', 'billing');
  const [stranger, late] = [await personOf('stranger@example.org'), await personOf('late@example.org')];
  const used = await invite('s@example.org', 'billing');
  for (let time = 0; time < 2; time++) await accept(used, stranger);
  await expect(accept(used, late)).rejects.toMatchObject(REFUSED);
  await members.remove(account_id, { person_id: other.person_id, by });
  await expect(move(other)).rejects.toMatchObject(REFUSED);
  await move(member);
  expect((await accounts.findByEmail(member.email)).account_id).toBe(account_id);
  await expect(accept(open, late)).rejects.toMatchObject(REFUSED);
  expect(await members.roleOf(account_id, late)).toBeNull();
});

it('an ownership that moves twice at once, to members who leave or are removed, leaves exactly one owner', async () => {
  const { account_id, by, join, move } = await found();
  const [one, other] = [await join('p1@example.org'), await join('p2@example.org')];
  await Promise.allSettled([
    ...[move(one), move(other)],
    members.remove(account_id, { person_id: one.person_id, by }),
    members.remove(account_id, { person_id: other.person_id, by: other.person_id }),
    move(one),
  ]);
  const list = await members.list(account_id);
  expect(list.filter(({ role: held }) => held === 'owner')).toHaveLength(1);
});

it('a suspended or closed account takes nobody in, and its ownership stays', async () => {
  const { account_id, by, personOf, invite, accept, move } = await found();
  const email = 'p1@example.org';
  const person_id = await personOf(email);
  const invitation = await invite(email);
  await accounts.suspend(account_id);
  await expect(accept(invitation, person_id)).rejects.toMatchObject(REFUSED);
  await expect(invite(email)).rejects.toMatchObject(REFUSED);
  await accounts.restore(account_id);
  await accept(invitation, person_id);
  await accounts.suspend(account_id);
  await expect(move({ person_id, email })).rejects.toMatchObject(REFUSED);
  await accounts.restore(account_id);
  await accounts.close(account_id);
  await expect(move({ person_id, email })).rejects.toMatchObject(REFUSED);
  expect(await members.roleOf(account_id, by)).toBe('owner');
});

it('bounds members and invitations together, and counts none that expired', async () => {
  const { account_id, invite } = await found();
  for (let n = 1; n < MAX_MEMBERS; n++) await invite(`q${n}@example.org`);
  await expect(invite('last@example.org')).rejects.toMatchObject(REFUSED);
  clock.ms += INVITATION_TTL_MS;
  await invite('last@example.org');
  expect(await members.invitations(account_id)).toHaveLength(1);
});

it('an invitation that has expired lets nobody in, and one that was withdrawn neither', async () => {
  const { account_id, by, personOf, invite, accept } = await found();
  const person_id = await personOf('p1@example.org');
  const late = await invite('p1@example.org');
  clock.ms += INVITATION_TTL_MS;
  await expect(accept(late, person_id)).rejects.toMatchObject(REFUSED);
  const withdrawn = await invite('p1@example.org');
  await expect(members.withdraw(account_id, withdrawn, person_id)).rejects.toMatchObject(REFUSED);
  await members.withdraw(account_id, withdrawn, by);
  await expect(accept(withdrawn, person_id)).rejects.toMatchObject(REFUSED);
  expect(await members.roleOf(account_id, person_id)).toBeNull();
});
