/** Members of an account, on a real Redis, in random orders of everything that can happen, against a model. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import {
  INVITATION_TTL_MS,
  MAX_MEMBERS,
  MemberStore,
} from '../../../gateway/commerce/accounts/member-store.ts';
import { founderOf, PersonStore } from '../../../gateway/commerce/accounts/person-store.ts';
import { GIVEN_ROLES, type GivenRole, type Role } from '../../../gateway/commerce/accounts/roles.ts';
import { flushRedis, startRedis, type TestRedis } from '../../redis.ts';

let redis: TestRedis;
let client: RedisClient;
let persons: PersonStore;
let members: MemberStore;
let accounts: AccountStore;
const clock = { ms: 0 };

beforeAll(async () => {
  redis = await startRedis();
  client = await redis.connect();
  const base = { redis: client, now: () => clock.ms, random: randomBytes };
  persons = new PersonStore(base);
  members = new MemberStore(base, persons);
  accounts = new AccountStore({ ...base, packs: [] });
});
afterAll(() => redis.stop());
beforeEach(() => flushRedis(client));

const PEOPLE = 3;
/** In place of a person: whoever is the owner then. Otherwise most steps would be refused. */
const OWNER = -1;
const DAY_MS = 86_400_000;
const who = fc.integer({ min: 0, max: PEOPLE - 1 });
const actor = fc.oneof({ weight: 2, arbitrary: fc.constant(OWNER) }, { weight: 1, arbitrary: who });
const role = fc.constantFrom(...GIVEN_ROLES);

type Step =
  | { kind: 'invite'; by: number; whom: number; role: GivenRole }
  | { kind: 'withdraw' | 'accept'; by: number; nth: number }
  | { kind: 'role'; by: number; whom: number; role: GivenRole }
  | { kind: 'remove' | 'move'; by: number; whom: number }
  | { kind: 'wait'; days: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('invite'), by: actor, whom: who, role }),
  fc.record({ kind: fc.constantFrom('withdraw', 'accept', 'accept'), by: who, nth: fc.nat(5) }),
  fc.record({ kind: fc.constant('role'), by: actor, whom: who, role }),
  fc.record({ kind: fc.constantFrom('remove', 'move', 'move'), by: actor, whom: who }),
  fc.record({ kind: fc.constant('wait'), days: fc.integer({ min: 1, max: 8 }) }),
) as fc.Arbitrary<Step>;

const JOINED: Step[] = [
  { kind: 'invite', by: OWNER, whom: 1, role: 'viewer' },
  { kind: 'accept', by: 1, nth: 0 },
];
const REMOVED_BEFORE_THE_MOVE: Step[] = [
  ...JOINED,
  { kind: 'remove', by: OWNER, whom: 1 },
  { kind: 'move', by: OWNER, whom: 1 },
];
const SENDER_NO_LONGER_OWNER: Step[] = [
  ...JOINED,
  { kind: 'invite', by: OWNER, whom: 2, role: 'billing' },
  { kind: 'move', by: OWNER, whom: 1 },
  { kind: 'accept', by: 2, nth: 1 },
  { kind: 'role', by: 0, whom: 0, role: 'billing' },
];

/** What should be true, written apart from the product. */
class Model {
  readonly roles = new Map<number, Role>([[0, 'owner']]);
  /** Every invitation that was ever sent, gone ones as null. */
  readonly invitations: ({ whom: number; role: GivenRole; by: number; until_ms: number } | null)[] = [];
  /** Who was let in by which invitation. */
  readonly entered = new Map<number, number>();

  owner = (): number => [...this.roles].find(([, held]) => held === 'owner')?.[0] ?? OWNER;
  owns = (person: number): boolean => this.roles.get(person) === 'owner';

  /** Whether the step is allowed; then it is done. */
  take(event: Exclude<Step, { kind: 'wait' }>): boolean {
    const { by } = event;
    switch (event.kind) {
      case 'invite':
        return this.#invite(event);
      case 'withdraw':
        if (this.owns(by) && event.nth < this.invitations.length) this.invitations[event.nth] = null;
        return this.owns(by);
      case 'accept':
        return this.#accept(by, event.nth);
      case 'role':
        return this.#setRole(by, event.whom, event.role);
      case 'remove':
        return this.#remove(by, event.whom);
      case 'move':
        return this.#move(by, event.whom);
    }
  }

  #invite({ by, whom, role: given }: { by: number; whom: number; role: GivenRole }): boolean {
    if (!this.owns(by)) return false;
    for (const [index, sent] of this.invitations.entries())
      if (sent?.whom === whom) this.invitations[index] = null;
    this.invitations.push({ by, whom, role: given, until_ms: clock.ms + INVITATION_TTL_MS });
    return true;
  }

  #setRole(by: number, whom: number, given: GivenRole): boolean {
    const held = this.roles.get(whom);
    if (!this.owns(by) || held === undefined || held === 'owner') return false;
    this.roles.set(whom, given);
    return true;
  }

  #remove(by: number, whom: number): boolean {
    if ((by !== whom && !this.owns(by)) || this.owns(whom)) return false;
    this.roles.delete(whom);
    this.entered.delete(whom);
    return true;
  }

  #accept(by: number, nth: number): boolean {
    const sent = this.invitations[nth];
    if (sent === undefined) return false;
    // Repeating the acceptance that made somebody a member changes nothing.
    if (sent === null) return this.entered.get(by) === nth && this.roles.has(by);
    if (sent.until_ms <= clock.ms || !this.owns(sent.by)) return false;
    this.invitations[nth] = null;
    if (!this.roles.has(by)) {
      this.roles.set(by, sent.role);
      this.entered.set(by, nth);
    }
    return true;
  }

  #move(by: number, whom: number): boolean {
    if (by === whom) return false;
    // Repeating the move that made somebody the owner changes nothing.
    if (this.owns(whom)) return true;
    if (!this.owns(by) || !this.roles.has(whom)) return false;
    this.roles.set(by, 'developer').set(whom, 'owner');
    for (const index of this.invitations.keys()) this.invitations[index] = null;
    return true;
  }
}

it('no order of events gives anybody a role that the owner of that moment did not give', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (events) => {
      await flushRedis(client);
      clock.ms = Date.UTC(2026, 10, 21, 12);
      const { account_id } = await accounts.create({ email: 'p0@example.org', verified: true, by: 'test' });
      const ids = [founderOf(account_id)];
      for (let n = 1; n < PEOPLE; n++)
        ids.push((await persons.findOrCreate(`p${n}@example.org`, '')).person_id);
      const id = (n: number): string => ids[n] ?? '';
      const invited: string[] = [];
      const model = new Model();

      const act = async (event: Exclude<Step, { kind: 'wait' }>): Promise<void> => {
        const by = id(event.by);
        switch (event.kind) {
          case 'invite': {
            const email = `p${event.whom}@example.org`;
            const sent = await members.invite(account_id, { email, role: event.role, by });
            invited.push(sent.invitation_id);
            return;
          }
          case 'withdraw':
            return members.withdraw(account_id, invited[event.nth] ?? 'inv_none', by);
          case 'accept':
            return members.accept(account_id, invited[event.nth] ?? 'inv_none', by);
          case 'role':
            return members.setRole(account_id, { person_id: id(event.whom), role: event.role, by });
          case 'remove':
            return members.remove(account_id, { person_id: id(event.whom), by });
          case 'move': {
            const to = { person_id: id(event.whom), email: `p${event.whom}@example.org` };
            return members.moveOwnership(account_id, { to, by });
          }
        }
      };

      for (const drawn of events) {
        if (drawn.kind === 'wait') {
          clock.ms += drawn.days * DAY_MS;
          continue;
        }
        const event = { ...drawn, by: drawn.by === OWNER ? model.owner() : drawn.by };
        const isAllowed = model.take(event);
        const happened = await act(event).then(
          () => true,
          (error: { code?: string }) => {
            expect(error.code).toBe('member_refused');
            return false;
          },
        );
        expect([event, happened]).toEqual([event, isAllowed]);
        const roles = await Promise.all(ids.map((one) => members.roleOf(account_id, one)));
        expect(roles).toEqual(ids.map((_one, n) => model.roles.get(n) ?? null));
        expect(roles.filter((held) => held === 'owner')).toHaveLength(1);
        const owner = roles.indexOf('owner');
        expect((await accounts.get(account_id)).email).toBe(`p${owner}@example.org`);
        expect((await accounts.findByEmail(`p${owner}@example.org`)).account_id).toBe(account_id);
      }
    }),
    { numRuns: 40, examples: [[REMOVED_BEFORE_THE_MOVE], [SENDER_NO_LONGER_OWNER]] },
  );
});

it('an ownership that moves twice at once, to members who leave or are removed, leaves exactly one owner', async () => {
  clock.ms = Date.UTC(2026, 10, 21, 12);
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
  clock.ms = Date.UTC(2026, 10, 21, 12);
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
