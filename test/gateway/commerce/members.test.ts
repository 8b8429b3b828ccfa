/** Members of an account, on a real Redis: what happens at once, in a suspended account, and late. */
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
  members = new MemberStore(base, persons);
  accounts = new AccountStore({ ...base, packs: [] });
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
