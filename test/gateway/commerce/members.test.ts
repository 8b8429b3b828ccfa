/** Members of an account, on a real Redis: what happens at once, in a suspended account, and late. */
import { describe, expect, it } from 'vitest';
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
  members = new MemberStore(base, persons);
  accounts = new AccountStore({ ...base, packs: [] });
});

const PEOPLE = ['owner', 'member', 'other', 'stranger'] as const;
type Team = Record<(typeof PEOPLE)[number] | 'account_id' | 'invitation_id' | 'email', string>;
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

const rolesIn = (team: Team) => Promise.all(PEOPLE.map((who) => members.roleOf(team.account_id, team[who])));

describe('only who may', () => {
  type Act = (team: Team, by: string) => Promise<unknown>;
  const give =
    (whom: keyof Team): Act =>
    (team, by) =>
      members.setRole(team.account_id, { person_id: team[whom], role: 'billing', by });
  const remove =
    (whom: keyof Team): Act =>
    (team, by) =>
      members.remove(team.account_id, { person_id: team[whom], by });
  const move =
    (whom: keyof Team): Act =>
    (team, by) =>
      members.moveOwnership(team.account_id, { to: { person_id: team[whom], email: 'to@example.org' }, by });
  const invite: Act = ({ account_id }, by) =>
    members.invite(account_id, { email: 'new@example.org', role: 'viewer', by });
  const withdraw: Act = (team, by) => members.withdraw(team.account_id, team.invitation_id, by);

  it.each<[string, Act, string[], (string | null)[]]>([
    ['invites', invite, ['owner'], ['owner', 'developer', 'viewer', null]],
    ['withdraws an invitation', withdraw, ['owner'], ['owner', 'developer', 'viewer', null]],
    ['gives a member a role', give('member'), ['owner'], ['owner', 'billing', 'viewer', null]],
    ['gives the owner a role', give('owner'), [], []],
    ['gives a stranger a role', give('stranger'), [], []],
    ['removes a member', remove('member'), ['owner', 'member'], ['owner', null, 'viewer', null]],
    ['removes the owner', remove('owner'), [], []],
    ['moves the ownership', move('member'), ['owner'], ['developer', 'owner', 'viewer', null]],
    ['moves the ownership to a stranger', move('stranger'), [], []],
  ])('%s', async (_what, act, allowed, roles) => {
    for (const by of PEOPLE) {
      const team = await makeTeam();
      const before = await rolesIn(team);
      const code = await act(team, team[by]).then(
        () => 'done',
        (error: { code?: string }) => error.code,
      );
      const isAllowed = allowed.includes(by);
      expect([by, code]).toEqual([by, isAllowed ? 'done' : 'member_refused']);
      expect([by, await rolesIn(team)]).toEqual([by, isAllowed ? roles : before]);
      // Addresses are unique among accounts.
      await accounts.close(team.account_id);
    }
  });
});

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
