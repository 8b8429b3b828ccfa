/** Persons and members from a store that was written before there were any: one account with its login. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import { MemberStore } from '../../../gateway/commerce/people/member-store.ts';
import { PersonStore } from '../../../gateway/commerce/people/person-store.ts';
import { flushRedis, startRedis, type TestRedis } from '../../redis.ts';

const ACCOUNT = 'acc_q1';
const PERSON = 'per_q1';
const EMAIL = 'ada@example.org';
const NOW = Date.UTC(2026, 10, 21, 12);
const SIGNED_UP = NOW - 1_000_000;

let redis: TestRedis;
let client: RedisClient;
let persons: PersonStore;
let members: MemberStore;
let accounts: AccountStore;

beforeAll(async () => {
  redis = await startRedis();
  client = await redis.connect();
  const base = { redis: client, now: () => NOW, random: randomBytes };
  persons = new PersonStore(base);
  members = new MemberStore(base, persons);
  accounts = new AccountStore({ ...base, packs: [] });
});
afterAll(() => redis.stop());
beforeEach(() => flushRedis(client));

/** What the version before persons wrote. */
async function writeEarlier(
  account: Record<string, string> = {},
  login: Record<string, string> = {},
): Promise<void> {
  await client.hset(redisKeys.account(ACCOUNT), {
    ...{ creation_id: ACCOUNT, created_at_ms: SIGNED_UP, email: EMAIL, name: 'Ada', state: 'active' },
    ...{ verified: '1', paid: '0', balance: '5', granted: '5', spent: '0', ...account },
  });
  await client.set(redisKeys.email(EMAIL), ACCOUNT);
  await client.zadd(redisKeys.accounts, SIGNED_UP, ACCOUNT);
  await client.hset(redisKeys.login(ACCOUNT), { password: 'scrypt$1$1$1$a$b', epoch: '7', ...login });
}

it('the holder is a person with address, name, password and epoch as before, and owns the account', async () => {
  await writeEarlier();
  const found = await Promise.all([1, 2, 3].map(() => persons.findByEmail(EMAIL)));
  for (const person of found)
    expect(person).toEqual({
      ...{ person_id: PERSON, email: EMAIL, name: 'Ada', created_at_ms: SIGNED_UP },
      ...{ password: 'scrypt$1$1$1$a$b', epoch: '7' },
    });
  expect(await persons.findLogin(EMAIL)).toEqual({
    subject: PERSON,
    password: 'scrypt$1$1$1$a$b',
    epoch: '7',
  });
  expect(await members.list(ACCOUNT)).toEqual([
    { person_id: PERSON, role: 'owner', added_at_ms: SIGNED_UP, by: null },
  ]);
  expect(await members.roleOf(ACCOUNT, PERSON)).toBe('owner');
  expect(await members.roleOf(ACCOUNT, 'per_other')).toBeNull();
  expect(await persons.accountsOf(PERSON)).toEqual([ACCOUNT]);
  expect(await client.exists(redisKeys.login(ACCOUNT))).toBe(0);
});

it('the owner is there whichever is asked first, and is made once', async () => {
  await writeEarlier();
  expect(await Promise.all([1, 2].map(() => members.roleOf(ACCOUNT, PERSON)))).toEqual(['owner', 'owner']);
  await persons.setPassword(PERSON, 'another');
  expect((await persons.get(PERSON))?.epoch).toBe('8');
  await client.hset(redisKeys.login(ACCOUNT), { password: 'stale', epoch: '1' });
  expect((await persons.get(PERSON))?.password).toBe('another');
});

it('the command line finds the account by the address, before and after', async () => {
  await writeEarlier();
  expect((await accounts.findByEmail(EMAIL)).account_id).toBe(ACCOUNT);
  await persons.get(PERSON);
  expect((await accounts.findByEmail(EMAIL.toUpperCase())).account_id).toBe(ACCOUNT);
  await expect(accounts.create({ email: EMAIL, by: 'test' })).rejects.toMatchObject({
    code: 'account_exists',
  });
});

it.each([
  ['nobody can sign in who could not before: the address is not confirmed', { verified: '0' }, null],
  ['the holder of a closed account can sign in', { state: 'closed', verified: '0' }, PERSON],
])('%s', async (_what, account, subject) => {
  await writeEarlier(account);
  expect((await persons.findLogin(EMAIL))?.subject ?? null).toBe(subject);
});

it('an erased account has neither a holder nor members', async () => {
  await writeEarlier({ state: 'closed', email: 'erased_x', name: '', erased_as: 'erased_x' });
  expect(await persons.get(PERSON)).toBeNull();
  expect(await members.list(ACCOUNT)).toEqual([]);
  expect(await members.roleOf(ACCOUNT, PERSON)).toBeNull();
});

it('an erased person is not made again from the account of earlier versions', async () => {
  await writeEarlier();
  await persons.erase(PERSON);
  expect(await persons.get(PERSON)).toBeNull();
  expect(await persons.findByEmail(EMAIL)).toBeNull();
  expect(await client.exists(redisKeys.email(EMAIL))).toBe(0);
  await expect(persons.setPassword(PERSON, 'x')).rejects.toMatchObject({ code: 'person_unknown' });
});
