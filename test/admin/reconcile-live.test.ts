/** Reconciliation names exactly the account of which something in Redis is corrupted, by how much and since when. */
import { describe, expect, it } from 'vitest';
import { ScriptRunner } from '../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { DebitReversals } from '../../gateway/metering/debit-reversals.ts';
import { DAY_MS } from '../build/archive/archived-week.ts';
import { silentLog } from '../redis.ts';
import { carried, found, id, lived, parts, redis, wallet } from './reconcile-fixture.ts';

it('finds nothing wrong where nothing is, and says what it has read', async () => {
  const { discrepancies, problems, archive, accounts } = await lived.reconcile();
  expect({ discrepancies, problems, accounts }).toEqual({ discrepancies: [], problems: [], accounts: 3 });
  const all = [...lived.ledgers.values()].flat().length;
  const liveEntries = await Promise.all(lived.ids.map((one) => redis.xlen(redisKeys.ledger(one))));
  expect(archive).toMatchObject({
    parts: parts.length,
    entries: all - liveEntries.reduce((sum, count) => sum + count, 0),
    // That of the last day is still open.
    usage_days: 6,
  });
  expect(parts.length).toBe(4);
});

it('is no false alarm when a debit is taken back after midnight, live and archived', async () => {
  const { world } = lived;
  const { facts, account_id, call } = await world.customer();
  world.clock.ms = Math.ceil(world.clock.ms / DAY_MS) * DAY_MS - 1_000;
  const now_ms = world.clock.ms;
  await call({ price: 5 });
  const minute = redisKeys.debits(account_id, Math.floor(now_ms / 60_000));
  const [debit_id = ''] = await redis.hkeys(minute);
  world.clock.ms += 2_000;
  const runner = new ScriptRunner(redis);
  const reversals = new DebitReversals({ redis, runner, now: () => world.clock.ms, log: silentLog });
  const call_facts = { route: '/v1/countries/{iso3}', request_id: 'request-1', key_id: facts.key_id };
  reversals.add({ ...call_facts, account_id, debit_id, price: 5, at_ms: now_ms });
  await reversals.flush();
  expect(await lived.store.ledger(account_id)).toMatchObject([{ kind: 'refund' }, { kind: 'debit' }, {}]);
  for (const days of [0, 2, 3, 4]) {
    world.clock.ms += days * DAY_MS;
    await lived.night();
    expect(await lived.discrepancies()).toEqual([]);
  }
  expect(await redis.xlen(redisKeys.ledger(account_id))).toBe(0);
});

describe('in Redis', () => {
  /** Makes the live ledger anew, entry by entry. */
  async function remake(change: (fields: string[], index: number) => string[] | null): Promise<void> {
    const entries = await redis.xrange(redisKeys.ledger(id), '-', '+');
    await redis.del(redisKeys.ledger(id));
    for (const [index, [entry, fields]] of entries.entries()) {
      const kept = change([...fields], index);
      if (kept) await redis.xadd(redisKeys.ledger(id), entry, ...kept);
    }
  }
  const set = (fields: string[], name: string, value: string): string[] =>
    fields.map((field, at) => (at % 2 === 1 && fields[at - 1] === name ? value : field));

  it('a balance', async () => {
    await redis.hincrby(wallet(), 'balance', 25);
    expect(await found()).toContainEqual(
      expect.objectContaining({ check: 'balance', what: 'balance against the sum of the ledger', off: 25 }),
    );
  });

  it.each([
    ['granted', 3, 'granted − spent against the balance', 3],
    ['spent', 4, 'credits ever spent against the debits', 4],
    ['paid', 1, 'number of paid orders', 1],
  ])('lifetime figures: %s', async (field, by, what, off) => {
    await redis.hincrby(wallet(), field, by);
    expect(await found()).toContainEqual(expect.objectContaining({ what, off }));
  });

  it('a live entry that is gone, changed or added', async () => {
    const second = (await redis.xrange(redisKeys.ledger(id), '-', '+', 'COUNT', 2))[1];
    const at = (second?.[1] ?? []).indexOf('delta');
    const delta = Number(second?.[1][at + 1]);
    await remake((fields, index) => (index === 1 ? null : fields));
    expect(await found()).toContainEqual(expect.objectContaining({ check: 'balance', off: delta }));
    await lived.restore();
    await remake((fields, index) => (index === 1 ? set(fields, 'delta', String(delta + 2)) : fields));
    expect(await found()).toContainEqual(expect.objectContaining({ check: 'balance', off: -2 }));
    await lived.restore();
    const fields = ['at_ms', lived.world.clock.ms, 'kind', 'grant', 'delta', 9, 'balance', 9, 'by', 'nobody'];
    await redis.xadd(redisKeys.ledger(id), '*', ...fields);
    expect(await found()).toContainEqual(expect.objectContaining({ check: 'balance', off: -9 }));
  });

  it.each([
    ['balance', 5, 'sum of archived entries against the archived balance', -5],
    ['entries', -1, 'archived entries against the count in Redis', 1],
  ])('what was carried over: %s', async (field, by, what, off) => {
    await redis.hincrby(carried(), field, by);
    expect(await found()).toContainEqual(expect.objectContaining({ check: 'archive', what, off }));
  });

  it('where the archive ends, or that there is one', async () => {
    const { through = '' } = await redis.hgetall(carried());
    await redis.hset(carried(), 'through', `${Number(through.split('-')[0]) + 1}-0`);
    expect(await found()).toContainEqual(expect.objectContaining({ check: 'archive', off: -1 }));
    await redis.del(carried());
    expect((await found()).map(({ check }) => check)).toContain('balance');
  });

  it('an order, archived long ago or open', async () => {
    const [paid = '', , , , open = ''] = lived.orders;
    await redis.hset(redisKeys.order(id, paid), 'state', 'failed');
    expect(await found()).toContainEqual(
      expect.objectContaining({ check: 'orders', what: `order ${paid} (failed)`, off: 100 }),
    );
    await lived.restore();
    await redis.hset(redisKeys.order(id, open), 'state', 'paid');
    expect(await found()).toContainEqual(
      expect.objectContaining({ check: 'orders', what: `order ${open} (paid)`, off: -100 }),
    );
    await lived.restore();
    await redis.zrem(redisKeys.accountOrders(id), paid);
    expect(await found()).toContainEqual(
      expect.objectContaining({ what: `order ${paid}, missing from the account`, off: 100 }),
    );
  });

  it('usage of a day that is live', async () => {
    const today = Math.floor(lived.world.clock.ms / DAY_MS);
    await redis.hincrby(redisKeys.usage(id, today), '/v1/data|credits', 6);
    const [one, ...more] = await found();
    expect(more).toEqual([]);
    expect(one).toMatchObject({ check: 'usage', off: 6, since_ms: today * DAY_MS });
  });

  it('live usage of a day that is archived already', async () => {
    const day = Math.floor(lived.world.clock.ms / DAY_MS) - 6;
    await redis.hincrby(redisKeys.usage(id, day), '/v1/data|credits', 6);
    const [one, ...more] = await found();
    expect(more).toEqual([]);
    expect(one).toMatchObject({ check: 'usage', off: 6, since_ms: day * DAY_MS });
    expect(one?.what).toContain('live against archived');
  });

  it('an account that Redis has lost', async () => {
    await redis.del(wallet());
    const [one, ...more] = await lived.discrepancies();
    expect(more).toEqual([]);
    expect(one).toMatchObject({
      account_id: id,
      what: 'archived entries of an account that Redis does not hold',
    });
  });
});
