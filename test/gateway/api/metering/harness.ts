/** A metering, an account store and a movable clock on one real Redis. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import type { CreditPack } from '../../../../data/schema/curated.ts';
import type {
  Admission,
  ApiKey,
  CallSource,
  Debit,
  Verdict,
} from '../../../../gateway/api/metering/metering.ts';
import { RedisMetering, type TierLimits } from '../../../../gateway/api/metering/redis-metering.ts';
import { AccountStore } from '../../../../gateway/commerce/accounts/account-store.ts';
import { silentLog } from '../../../redis.ts';

/** Noon UTC, on a whole minute. */
export const NOON_MS = Date.UTC(2026, 10, 20, 12);

export const LIMITS: TierLimits = {
  ANONYMOUS_PER_MINUTE: 3,
  ANONYMOUS_PER_DAY: 10,
  PAGES_PER_MINUTE: 4,
  PAGES_PER_DAY: 12,
  FREE_PER_MINUTE: 5,
  FREE_PER_DAY: 20,
  PAID_PER_MINUTE: 8,
  PAID_PER_DAY: 40,
};

export const UNLIMITED = Object.fromEntries(
  Object.keys(LIMITS).map((name) => [name, 1_000_000_000]),
) as unknown as TierLimits;

export const PACKS: CreditPack[] = [
  { id: 'small', name: 'Small', credits: 100, price_minor: 500, currency: 'EUR' },
  { id: 'large', name: 'Large', credits: 5000, price_minor: 19_900, currency: 'EUR' },
];

/** Random bytes that are the same in every run of the tests, and never repeat within one. */
export function seededRandom(seed: string): (size: number) => Buffer {
  let counter = 0;
  return (size) => {
    const parts: Buffer[] = [];
    for (let made = 0; made < size; made += 32) {
      parts.push(createHash('sha256').update(`${seed}:${counter++}`).digest());
    }
    return Buffer.concat(parts).subarray(0, size);
  };
}

export interface Clock {
  ms: number;
}

export interface World {
  redis: RedisClient;
  clock: Clock;
  metering: RedisMetering;
  store: AccountStore;
  /** A further gateway on the same store, by its clock. */
  gateway(over?: Partial<ConstructorParameters<typeof RedisMetering>[0]>): RedisMetering;
  /** An account with one key; verified by default. */
  customer(options?: { credits?: number; verified?: boolean }): Promise<Customer>;
}

export interface Customer {
  account_id: string;
  email: string;
  key: string;
  apiKey: ApiKey;
  /** One call; status 200 and 1 credit by default. */
  call(admission?: Partial<Admission>): Promise<Verdict>;
}

let worlds = 0;

export function createWorld(redis: RedisClient, settings: TierLimits = LIMITS): World {
  const clock: Clock = { ms: NOON_MS };
  const now = (): number => clock.ms;
  const seed = `world ${worlds++}`;
  const gateway: World['gateway'] = (over) =>
    new RedisMetering({ redis, settings, now, log: silentLog, ...over });
  const metering = gateway();
  const store = new AccountStore({ redis, now, random: seededRandom(seed), packs: PACKS });
  let customers = 0;
  return {
    redis,
    clock,
    metering,
    store,
    gateway,
    customer: async ({ credits = 100, verified = true } = {}) => {
      const email = `customer-${worlds}-${customers++}@example.org`;
      const { account_id } = await store.create({ email, verified, credits, by: 'test' });
      const { key } = await store.keys.mint(account_id);
      const apiKey = await metering.resolveKey(`Bearer ${key}`);
      if (!apiKey) throw new Error('a fresh key must resolve');
      return {
        account_id,
        email,
        key,
        apiKey,
        call: (admission) => metering.admit(admissionOf(apiKey, admission)),
      };
    },
  };
}

/** Where calls of tests come from. */
export const SOURCE: CallSource = { address: () => '192.0.2.1', origin: () => undefined };

export const admissionOf = (key: ApiKey, changes: Partial<Admission> = {}): Admission => ({
  key,
  source: SOURCE,
  route: '/v1/countries/{iso3}',
  price: 1,
  rows: 0,
  status: 200,
  request_id: 'request-1',
  ...changes,
});

/** The debit of a verdict that charged. */
export function debitOf(verdict: Verdict): Debit {
  if (verdict.kind !== 'admitted' || verdict.debit === null) throw new Error('the call was not charged');
  return verdict.debit;
}

export interface Books {
  balance: number;
  granted: number;
  spent: number;
  /** Sum of all ledger deltas. */
  ledger: number;
  debits: number;
  entries: number;
}

/** Wallet and whole ledger of an account. */
export async function booksOf(
  { redis, store }: Pick<World, 'redis' | 'store'>,
  account_id: string,
): Promise<Books> {
  const { credits } = await store.get(account_id);
  const entries = await redis.xrange(`{a:${account_id}}:ledger`, '-', '+');
  const fields = entries.map(([, list]) => Object.fromEntries(pairs(list)));
  return {
    balance: credits.balance,
    granted: credits.lifetime_granted,
    spent: credits.lifetime_spent,
    ledger: fields.reduce((sum, { delta }) => sum + Number(delta), 0),
    debits: fields.filter(({ kind }) => kind === 'debit').length,
    entries: entries.length,
  };
}

const pairs = (list: string[]): [string, string][] =>
  list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1] ?? '']] : []));

/** An action of a random schedule, which is drawn as often as its weight says. */
export const weighted = <Kind extends string, Fields extends object>(
  weight: number,
  kind: Kind,
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
): fc.WeightedArbitrary<{ kind: Kind } & Fields> => ({
  weight,
  arbitrary: fc.record({ kind: fc.constant(kind), ...fields }) as fc.Arbitrary<{ kind: Kind } & Fields>,
});

/** What an arbitrary draws. */
export type Drawn<Of> = Of extends fc.Arbitrary<infer Value> ? Value : never;
