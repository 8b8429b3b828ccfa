/**
 * Keys on random schedules against an independent model: minted, renamed, rotated, bound, limited, revoked, expired, over
 * months, and called through two gateways that cache what they know, one call at a time and many at once.
 *
 * Always: a revoked, expired or misplaced key does nothing; a key and those that it replaced spend no more than its limit in
 * a month; whatever may be admitted is.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CallSource, Debit, Verdict } from '../../../../gateway/api/metering/metering.ts';
import type { RedisMetering } from '../../../../gateway/api/metering/redis-metering.ts';
import type { KeyRules } from '../../../../gateway/commerce/store/records.ts';
import { AccountError, MAX_ACTIVE_KEYS } from '../../../../gateway/commerce/store/records.ts';
import { useRedis } from '../../../redis.ts';
import { admissionOf, booksOf, createWorld, type Drawn, UNLIMITED, type World, weighted } from './harness.ts';

const HOUR_MS = 3_600_000;
const HOME = '203.0.113.7';
const AWAY = '2001:db8::7';
const SITE = 'https://maps.example';

interface Place {
  address: string;
  origin: string | undefined;
}

const key = fc.nat(5);
const price = fc.integer({ min: 1, max: 9 });
const place = fc.record({
  address: fc.constantFrom(HOME, AWAY),
  origin: fc.constantFrom(undefined, SITE, 'https://evil.example'),
});
const rules: fc.Arbitrary<KeyRules> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ monthly_limit: null, ranges: [], origins: [] }) },
  {
    weight: 5,
    arbitrary: fc.record({
      monthly_limit: fc.integer({ min: 1, max: 40 }),
      ranges: fc.constantFrom([], [], ['203.0.113.0/24'], ['203.0.113.0/24', '2001:db8::/32']),
      origins: fc.constantFrom([], [], [SITE]),
    }),
  },
);
const action = fc.oneof(
  weighted(2, 'mint', { rules, expires_in_ms: fc.constantFrom(null, null, 30 * HOUR_MS, 900 * HOUR_MS) }),
  weighted(9, 'call', {
    key,
    gateway: fc.nat(1),
    price,
    place,
    status: fc.constantFrom(200, 200, 200, 404),
  }),
  weighted(3, 'burst', { key, price, calls: fc.integer({ min: 2, max: 30 }) }),
  weighted(2, 'refund', { charge: fc.nat(9) }),
  weighted(3, 'rotate', { key, grace_ms: fc.constantFrom(0, HOUR_MS, 24 * HOUR_MS, 168 * HOUR_MS) }),
  weighted(2, 'rules', { key, rules }),
  weighted(1, 'rename', { key }),
  weighted(1, 'revoke', { key }),
  weighted(3, 'clock', {
    by_ms: fc.constantFrom(1, HOUR_MS - 1, HOUR_MS, 23 * HOUR_MS, 24 * HOUR_MS, 240 * HOUR_MS),
  }),
);
type Action = Drawn<typeof action>;

/** What the model knows of a key. */
interface ModelKey {
  key_id: string;
  text: string;
  rules: KeyRules;
  expires_ms: number;
  isRevoked: boolean;
  successor: ModelKey | null;
}

interface Charge {
  key: ModelKey;
  credits: number;
  month: string;
  debit: Debit;
  isReversed: boolean;
}

class Run {
  readonly #world: World;
  readonly #gateways: readonly RedisMetering[];
  readonly #account_id: string;
  readonly #keys: ModelKey[] = [];
  readonly #charges: Charge[] = [];

  constructor(world: World, gateways: readonly RedisMetering[], account_id: string) {
    this.#world = world;
    this.#gateways = gateways;
    this.#account_id = account_id;
  }

  get #now(): number {
    return this.#world.clock.ms;
  }

  async perform(action: Action): Promise<void> {
    if (action.kind === 'clock') {
      this.#world.clock.ms += action.by_ms;
      return;
    }
    if (action.kind === 'mint') return this.#mint(action);
    if (action.kind === 'refund') return this.#refund(this.#charges[action.charge]);
    const chosen = this.#keys[action.key % Math.max(1, this.#keys.length)];
    if (chosen === undefined) return;
    if (action.kind === 'call') return this.#call(chosen, action);
    if (action.kind === 'burst') return this.#burst(chosen, action);
    if (action.kind === 'rotate') return this.#rotate(chosen, action.grace_ms);
    if (action.kind === 'revoke') {
      await this.#world.store.keys.revoke(chosen.key_id);
      chosen.isRevoked = true;
      return;
    }
    const isAllowed = this.#isAlive(chosen) && (action.kind === 'rename' || chosen.successor === null);
    const changed =
      action.kind === 'rename'
        ? this.#world.store.keys.rename(chosen.key_id, 'renamed')
        : this.#world.store.keys.setRules(chosen.key_id, action.rules);
    expect(await codeOf(changed)).toBe(isAllowed ? 'done' : 'key_state');
    if (isAllowed && action.kind === 'rules') chosen.rules = action.rules;
  }

  #isAlive(key: ModelKey): boolean {
    return !key.isRevoked && this.#now < key.expires_ms;
  }

  get #isFull(): boolean {
    return this.#keys.filter((key) => this.#isAlive(key)).length >= MAX_ACTIVE_KEYS;
  }

  async #mint({ rules, expires_in_ms }: Extract<Action, { kind: 'mint' }>): Promise<void> {
    const expires_at_ms = expires_in_ms === null ? null : this.#now + expires_in_ms;
    const isFull = this.#isFull;
    const made = this.#world.store.keys.mint(this.#account_id, { rules, expires_at_ms });
    if (isFull) return expect(await codeOf(made)).toBe('too_many_keys');
    const { key_id, key: text } = await made;
    const expires_ms = expires_at_ms ?? Number.POSITIVE_INFINITY;
    this.#keys.push({ key_id, text, rules, expires_ms, isRevoked: false, successor: null });
  }

  async #rotate(old: ModelKey, grace_ms: number): Promise<void> {
    const isRefused = !this.#isAlive(old) || old.successor !== null;
    const isFull = this.#isFull && grace_ms > 0;
    const made = this.#world.store.keys.rotate(old.key_id, { grace_ms });
    if (isRefused) return expect(await codeOf(made)).toBe('key_state');
    if (isFull) return expect(await codeOf(made)).toBe('too_many_keys');
    const { key_id, key: text } = await made;
    const { rules, expires_ms } = old;
    old.successor = { key_id, text, rules, expires_ms, isRevoked: false, successor: null };
    this.#keys.push(old.successor);
    if (grace_ms === 0) old.isRevoked = true;
    else old.expires_ms = Math.min(expires_ms, this.#now + grace_ms);
  }

  async #refund(charge: Charge | undefined): Promise<void> {
    // Later, the ledger is searched by the clock of Redis.
    if (charge === undefined || this.#now - charge.debit.at_ms > 100_000) return;
    await this.#gateways[0]?.refund(charge.debit);
    charge.isReversed = true;
  }

  /** What the key, those that it replaced, and those that replace it have spent this month. */
  #used(key: ModelKey): number {
    return this.#charges
      .filter(
        (charge) =>
          last(charge.key) === last(key) && charge.month === monthText(this.#now) && !charge.isReversed,
      )
      .reduce((sum, { credits }) => sum + credits, 0);
  }

  #expected(key: ModelKey, price: number, { address, origin }: Place): Verdict['kind'] {
    const { ranges, origins } = key.rules;
    if (!this.#isAlive(key)) return 'invalid_key';
    if (ranges.length === 1 && address !== HOME) return 'restricted';
    if (origins.length > 0 && origin !== SITE) return 'restricted';
    const { monthly_limit } = last(key).rules;
    if (price > 0 && monthly_limit !== null && this.#used(key) + price > monthly_limit)
      return 'key_limit_reached';
    return 'admitted';
  }

  async #send(key: ModelKey, gateway: number, price: number, status: number, place: Place): Promise<Verdict> {
    const metering = this.#gateways[gateway];
    const apiKey = await metering?.resolveKey(`Bearer ${key.text}`);
    if (!metering || !apiKey) throw new Error('every minted key resolves');
    const source: CallSource = { address: () => place.address, origin: () => place.origin };
    const verdict = await metering.admit(admissionOf(apiKey, { price, status, source }));
    if (verdict.kind === 'admitted' && verdict.debit !== null) {
      const month = monthText(this.#now);
      this.#charges.push({ key, credits: price, month, debit: verdict.debit, isReversed: false });
    }
    return verdict;
  }

  async #call(key: ModelKey, { gateway, price, status, place }: Extract<Action, { kind: 'call' }>) {
    const expected = this.#expected(key, status === 200 ? price : 0, place);
    expect((await this.#send(key, gateway, price, status, place)).kind).toBe(expected);
  }

  async #burst(key: ModelKey, { price, calls }: Extract<Action, { kind: 'burst' }>): Promise<void> {
    const place = { address: HOME, origin: SITE };
    const isUsable = this.#expected(key, 0, place) === 'admitted';
    const { monthly_limit } = last(key).rules;
    const left =
      monthly_limit === null ? calls : Math.max(0, Math.floor((monthly_limit - this.#used(key)) / price));
    const sent = Array.from({ length: calls }, (_, call) => this.#send(key, call % 2, price, 200, place));
    const admitted = (await Promise.all(sent)).filter(({ kind }) => kind === 'admitted').length;
    expect(admitted).toBe(isUsable ? Math.min(calls, left) : 0);
  }

  /** What the pages show, against the model. */
  async check(): Promise<void> {
    for (const key of await this.#world.store.keys.list(this.#account_id)) {
      const model = this.#keys.find(({ key_id }) => key_id === key.key_id);
      if (!model) throw new Error('a key that nobody made');
      expect(key.state === 'active').toBe(this.#isAlive(model));
      expect(key.expires_at_ms ?? Number.POSITIVE_INFINITY).toBe(model.expires_ms);
      expect(key.replaced_by).toBe(model.successor?.key_id ?? null);
      expect(key.counted_with).toBe(model.successor === null ? null : last(model).key_id);
      if (model.successor === null) expect(key.month_credits).toBe(this.#used(model));
      expect(key).toMatchObject(model.rules);
    }
  }
}

const last = (key: ModelKey): ModelKey => (key.successor === null ? key : last(key.successor));

const monthText = (ms: number): string => {
  const date = new Date(ms);
  return `${date.getUTCFullYear()} ${date.getUTCMonth()}`;
};

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof AccountError ? error.code : String(error)),
  );

const server = await useRedis();

/** Two gateways with connections and caches of their own. */
async function service(): Promise<{ world: World; gateways: RedisMetering[] }> {
  const world = createWorld(await server.connect(), UNLIMITED);
  const gateways = [
    world.gateway({ redis: await server.connect() }),
    world.gateway({ redis: await server.connect() }),
  ];
  return { world, gateways };
}

it('keys live, end and spend as the model says', async () => {
  const { world, gateways } = await service();
  let accounts = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 60 }), async (actions) => {
      const email = `keys-${accounts++}@example.org`;
      const { account_id } = await world.store.create({ email, credits: 1_000_000, by: 'test' });
      const run = new Run(world, gateways, account_id);
      await run.perform({
        kind: 'mint',
        rules: { monthly_limit: 30, ranges: [], origins: [] },
        expires_in_ms: null,
      });
      for (const action of actions) await run.perform(action);
      await run.check();
    }),
    { numRuns: 120 },
  );
});

describe('a limit', () => {
  it('is not passed by calls that run while the key is rotated, again and again', async () => {
    const { world, gateways } = await service();
    const { account_id } = await world.store.create({ email: 'race@example.org', credits: 1e6, by: 'test' });
    const rules = { monthly_limit: 100, ranges: [], origins: [] };
    const first = await world.store.keys.mint(account_id, { rules });
    const charged: number[] = [];
    const spend = async (text: string): Promise<void> => {
      for (let call = 0; call < 40; call += 1) {
        const metering = gateways[call % gateways.length];
        const key = await metering?.resolveKey(`Bearer ${text}`);
        if (!metering || !key) throw new Error('the key does not resolve');
        const verdict = await metering.admit(admissionOf(key, { price: 1 + (call % 3) }));
        if (verdict.kind === 'admitted') charged.push(verdict.charged);
      }
    };
    const spending = [spend(first.key)];
    let { key_id } = first;
    for (let turn = 0; turn < 4; turn += 1) {
      const made = await world.store.keys.rotate(key_id, { grace_ms: 24 * HOUR_MS });
      key_id = made.key_id;
      spending.push(spend(made.key));
    }
    await Promise.all(spending);
    const total = charged.reduce((sum, credits) => sum + credits, 0);
    expect(total).toBe(100);
    const newest = (await world.store.keys.list(account_id)).find((key) => key.key_id === key_id);
    expect(newest?.month_credits).toBe(100);
    expect(await booksOf(world, account_id)).toMatchObject({ spent: 100 });
  });

  it('begins anew with the month, but not by a gateway whose clock is slow', async () => {
    const { world, gateways } = await service();
    const { account_id } = await world.store.create({ email: 'month@example.org', credits: 1e6, by: 'test' });
    const rules = { monthly_limit: 5, ranges: [], origins: [] };
    const { key } = await world.store.keys.mint(account_id, { rules });
    const call = async (at_ms: number): Promise<string> => {
      world.clock.ms = at_ms;
      const apiKey = await gateways[0]?.resolveKey(`Bearer ${key}`);
      return (apiKey && (await gateways[0]?.admit(admissionOf(apiKey, { price: 5 })))?.kind) ?? 'no key';
    };
    const december_ms = Date.UTC(2026, 11, 1);
    expect(await call(december_ms - 1)).toBe('admitted');
    expect(await call(december_ms - 1)).toBe('key_limit_reached');
    expect(await call(december_ms)).toBe('admitted');
    expect(await call(december_ms - 1)).toBe('key_limit_reached');
    expect(await call(december_ms)).toBe('key_limit_reached');
    expect(await call(Date.UTC(2027, 0, 1))).toBe('admitted');
  });

  it('counts large amounts exactly', async () => {
    const { world } = await service();
    const { account_id } = await world.store.create({
      email: 'large@example.org',
      credits: 1e12,
      by: 'test',
    });
    const { key } = await world.store.keys.mint(account_id);
    const apiKey = await world.metering.resolveKey(`Bearer ${key}`);
    for (const price of [999_999_999_990, 3])
      expect(apiKey && (await world.metering.admit(admissionOf(apiKey, { price }))).kind).toBe('admitted');
    expect(await world.store.keys.list(account_id)).toMatchObject([{ month_credits: 999_999_999_993 }]);
  });
});
