/**
 * Members of an account, on a real Redis: what happens at once, in a suspended account, and late. Who may do what:
 * `pages/team-events.extended.test.ts`.
 */
import { expect, it } from 'vitest';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import {
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

type Team = Record<
  'account_id' | 'invitation_id' | 'email' | 'owner' | 'member' | 'other' | 'stranger',
  string
>;
let teams = 0;

/** An owner, a developer with the address, a viewer, a stranger, and an invitation of somebody else. */
async function makeTeam(): Promise<Team> {
  teams += 1;
  const emailOf = (name: string): string => `${name}${teams}@example.org`;
  const { account_id } = await accounts.create({ email: emailOf('owner'), verified: true, by: 'test' });
  const owner = founderOf(account_id);
  const join = async (name: string, role: 'developer' | 'viewer'): Promise<string> => {
    const { person_id } = await persons.findOrCreate(emailOf(name), '');
    const invited = await members.invite(account_id, { email: emailOf(name), role, by: owner });
    await members.accept(account_id, invited.invitation_id, person_id);
    return person_id;
  };
  const [member, other] = [await join('member', 'developer'), await join('other', 'viewer')];
  const { person_id: stranger } = await persons.findOrCreate(emailOf('stranger'), '');
  const invitation = { email: emailOf('invited'), role: 'billing', by: owner } as const;
  const { invitation_id } = await members.invite(account_id, invitation);
  return { account_id, invitation_id, email: emailOf('member'), owner, member, other, stranger };
}

it('a moved ownership takes the address of the account along and ends invitations; one accepted is used up', async () => {
  const team = await makeTeam();
  const { account_id, email, member, other, stranger, owner: by } = team;
  const { invitation_id } = await members.invite(account_id, { email: 's@example.org', role: 'billing', by });
  await members.accept(account_id, invitation_id, stranger);
  await members.accept(account_id, invitation_id, stranger);
  const { person_id: late } = await persons.findOrCreate('late@example.org', '');
  const accept = (id: string) => members.accept(account_id, id, late);
  await expect(accept(invitation_id)).rejects.toMatchObject({ code: 'member_refused' });
  await members.remove(account_id, { person_id: other, by });
  const move = (person_id: string) => members.moveOwnership(account_id, { to: { person_id, email }, by });
  await expect(move(other)).rejects.toMatchObject({ code: 'member_refused' });
  await move(member);
  expect((await accounts.findByEmail(email)).account_id).toBe(account_id);
  await expect(accept(team.invitation_id)).rejects.toMatchObject({ code: 'member_refused' });
  expect(await members.roleOf(account_id, late)).toBeNull();
});

it('an ownership that moves twice at once, to members who leave or are removed, leaves exactly one owner', async () => {
  const { account_id } = await accounts.create({ email: 'p0@example.org', verified: true, by: 'test' });
  const owner = founderOf(account_id);
  const join = async (email: string) => {
    const { person_id } = await persons.findOrCreate(email, '');
    const { invitation_id } = await members.invite(account_id, { email, role: 'viewer', by: owner });
    await members.accept(account_id, invitation_id, person_id);
    return { person_id, email };
  };
  const [one, other] = [await join('p1@example.org'), await join('p2@example.org')];
  await Promise.allSettled([
    members.moveOwnership(account_id, { to: one, by: owner }),
    members.moveOwnership(account_id, { to: other, by: owner }),
    members.remove(account_id, { person_id: one.person_id, by: owner }),
    members.remove(account_id, { person_id: other.person_id, by: other.person_id }),
    members.moveOwnership(account_id, { to: one, by: owner }),
  ]);
  const list = await members.list(account_id);
  expect(list.filter(({ role: held }) => held === 'owner')).toHaveLength(1);
});

it('a suspended or closed account takes nobody in, and its ownership stays', async () => {
  const { account_id } = await accounts.create({ email: 'p0@example.org', verified: true, by: 'test' });
  const owner = founderOf(account_id);
  const { person_id } = await persons.findOrCreate('p1@example.org', '');
  const invite = () => members.invite(account_id, { email: 'p1@example.org', role: 'viewer', by: owner });
  const { invitation_id } = await invite();
  await accounts.suspend(account_id);
  await expect(members.accept(account_id, invitation_id, person_id)).rejects.toMatchObject({
    code: 'member_refused',
  });
  await expect(invite()).rejects.toMatchObject({ code: 'member_refused' });
  await accounts.restore(account_id);
  await members.accept(account_id, invitation_id, person_id);
  const move = () =>
    members.moveOwnership(account_id, { to: { person_id, email: 'p1@example.org' }, by: owner });
  await accounts.suspend(account_id);
  await expect(move()).rejects.toMatchObject({ code: 'member_refused' });
  await accounts.restore(account_id);
  await accounts.close(account_id);
  await expect(move()).rejects.toMatchObject({ code: 'member_refused' });
  expect(await members.roleOf(account_id, owner)).toBe('owner');
});

it('bounds members and invitations together, and counts none that expired', async () => {
  const { account_id } = await accounts.create({ email: 'p0@example.org', verified: true, by: 'test' });
  const by = founderOf(account_id);
  const invite = (n: number) =>
    members.invite(account_id, { email: `q${n}@example.org`, role: 'viewer', by });
  for (let n = 1; n < MAX_MEMBERS; n++) await invite(n);
  await expect(invite(MAX_MEMBERS)).rejects.toMatchObject({ code: 'member_refused' });
  clock.ms += INVITATION_TTL_MS;
  await invite(MAX_MEMBERS);
  expect(await members.invitations(account_id)).toHaveLength(1);
});

it('an invitation that has expired lets nobody in, and one that was withdrawn neither', async () => {
  const { account_id } = await accounts.create({ email: 'p0@example.org', verified: true, by: 'test' });
  const by = founderOf(account_id);
  const { person_id } = await persons.findOrCreate('p1@example.org', '');
  const invite = () => members.invite(account_id, { email: 'p1@example.org', role: 'viewer', by });
  const accept = (invitation_id: string) => members.accept(account_id, invitation_id, person_id);
  const late = await invite();
  clock.ms += INVITATION_TTL_MS;
  await expect(accept(late.invitation_id)).rejects.toMatchObject({ code: 'member_refused' });
  const withdrawn = await invite();
  await expect(members.withdraw(account_id, withdrawn.invitation_id, person_id)).rejects.toMatchObject({
    code: 'member_refused',
  });
  await members.withdraw(account_id, withdrawn.invitation_id, by);
  await expect(accept(withdrawn.invitation_id)).rejects.toMatchObject({ code: 'member_refused' });
  expect(await members.roleOf(account_id, person_id)).toBeNull();
});
