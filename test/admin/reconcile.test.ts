/** Reconciliation names exactly the account that is corrupted, in Redis or in the archive, by how much and since when. */
import { cp, rm, truncate } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ScriptRunner } from '../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { DebitReversals } from '../../gateway/api/metering/debit-reversals.ts';
import type { LedgerEntry } from '../../gateway/commerce/store/records.ts';
import { DAY_MS, rewrite } from '../build/archive/archived-week.ts';
import { debitOf } from '../gateway/api/metering/harness.ts';
import { silentLog } from '../redis.ts';
import {
  accountsOf,
  archivedEntry,
  archivedThrough,
  changed,
  entriesOf,
  found,
  id,
  isEntry,
  ledger,
  partDir,
  parts,
  redis,
  usageFile,
  wallet,
  week,
} from './reconcile-fixture.ts';

it('finds no discrepancy in consistent accounts and reports what it read', async () => {
  const { discrepancies, problems, archive, accounts } = await week.reconcile();
  expect({ discrepancies, problems, accounts }).toEqual({ discrepancies: [], problems: [], accounts: 3 });
  const all = [...week.ledgers.values()].flat().length;
  const liveEntries = await Promise.all(week.ids.map((one) => redis.xlen(redisKeys.ledger(one))));
  expect(archive).toMatchObject({
    parts: parts.length,
    entries: all - liveEntries.reduce((sum, count) => sum + count, 0),
    // Usage of the last day is not archived yet.
    usage_days: 6,
  });
  expect(parts.length).toBe(4);
});

it('raises no false alarm when a debit is refunded after midnight, live and archived', async () => {
  const { world } = week;
  const { apiKey, account_id, call } = await world.customer();
  world.clock.ms = Math.ceil(world.clock.ms / DAY_MS) * DAY_MS - 1_000;
  const now_ms = world.clock.ms;
  await call({ price: 5 });
  const minute = redisKeys.debits(account_id, Math.floor(now_ms / 60_000));
  const [debit_id = ''] = await redis.hkeys(minute);
  world.clock.ms += 2_000;
  const runner = new ScriptRunner(redis);
  const reversals = new DebitReversals({ redis, runner, now: () => world.clock.ms, log: silentLog });
  const call_fields = { route: '/v1/countries/{iso3}', request_id: 'request-1', key_id: apiKey.key_id };
  reversals.add({ ...call_fields, account_id, indicators: '', debit_id, price: 5, at_ms: now_ms });
  await reversals.flush();
  expect(await week.store.ledger(account_id)).toMatchObject([{ kind: 'refund' }, { kind: 'debit' }, {}]);
  for (const days of [0, 2, 3, 4]) {
    world.clock.ms += days * DAY_MS;
    await week.night();
    expect(await week.discrepancies()).toEqual([]);
  }
  expect(await redis.xlen(redisKeys.ledger(account_id))).toBe(0);
});

it('counts what feed links pay and get back, live and archived, and the ledger names them', async () => {
  const { world } = week;
  const { feeds } = world.metering;
  const { apiKey, account_id, call } = await world.customer();
  const terms = { name: 'Sheet', query: '/v1/data?indicator=a.b', format: 'csv', monthly_cap: 50 } as const;
  const created = await feeds.create(apiKey, { ...terms, expires_at_ms: null });
  if (created.kind !== 'created') throw new Error(created.kind);
  const { feed_id } = created.feed;
  const route = `/feed/${feed_id}`;
  const fetchOf = (content: string) =>
    call({
      route: '/feed',
      price: 7,
      rows: 7,
      feed: { feed_id, content, edition: 'e', bytes: 9, isPaidOnly: false },
    });
  for (const content of ['a', 'a', 'b']) await fetchOf(content);
  await world.metering.refund(debitOf(await fetchOf('c')));
  const ledger = [
    { kind: 'refund', delta: 7, cause: { route } },
    ...Array.from({ length: 3 }, () => ({ kind: 'debit', delta: -7, cause: { route, rows: 7 } })),
  ];
  expect(await week.store.ledger(account_id)).toMatchObject([...ledger, {}]);
  for (const days of [0, 2, 3, 4]) {
    world.clock.ms += days * DAY_MS;
    await week.night();
    expect(await week.discrepancies()).toEqual([]);
  }
  expect(await redis.xlen(redisKeys.ledger(account_id))).toBe(0);
  expect((await feeds.list(account_id))[0]).toMatchObject({ fetches: 4 });
});

describe('reports corruption in Redis', () => {
  /** Rewrites the live ledger entry by entry. */
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

  it('a changed balance', async () => {
    await redis.hincrby(wallet(), 'balance', 25);
    expect(await found()).toContainEqual(
      expect.objectContaining({ check: 'balance', what: 'balance against the sum of the ledger', off: 25 }),
    );
  });

  it('a live entry with another balance, although the sum is right', async () => {
    await remake((fields, index) => (index === 2 ? set(fields, 'balance', '1') : fields));
    const what = expect.stringMatching(/^balance at entry \S+ against the sum of entries up to it$/);
    expect(await found()).toEqual([expect.objectContaining({ what })]);
  });

  it('an order that granted twice', async () => {
    const [paid = ''] = week.orders;
    for (const total of ['balance', 'granted']) await redis.hincrby(wallet(), total, 100);
    const balance = Number(await redis.hget(wallet(), 'balance'));
    const fields = { at_ms: week.world.clock.ms, kind: 'purchase', delta: 100, balance, order: paid };
    await redis.xadd(redisKeys.ledger(id), '*', ...Object.entries(fields).flat());
    expect(await found()).toEqual([
      expect.objectContaining({ check: 'orders', what: `order ${paid} (paid)`, off: 100 }),
    ]);
  });

  it.each([
    ['granted', 3, 'granted − spent against the balance', 3],
    ['spent', 4, 'credits ever spent against the debits', 4],
    ['paid', 1, 'number of paid orders', 1],
  ])('a changed lifetime total: %s', async (field, by, what, off) => {
    await redis.hincrby(wallet(), field, by);
    expect(await found()).toContainEqual(expect.objectContaining({ what, off }));
  });

  it('a live entry that is missing, changed or added', async () => {
    const second = (await redis.xrange(redisKeys.ledger(id), '-', '+', 'COUNT', 2))[1];
    const at = (second?.[1] ?? []).indexOf('delta');
    const delta = Number(second?.[1][at + 1]);
    await remake((fields, index) => (index === 1 ? null : fields));
    expect(await found()).toContainEqual(expect.objectContaining({ check: 'balance', off: delta }));
    await week.restore();
    await remake((fields, index) => (index === 1 ? set(fields, 'delta', String(delta + 2)) : fields));
    expect(await found()).toContainEqual(expect.objectContaining({ check: 'balance', off: -2 }));
    await week.restore();
    const fields = ['at_ms', week.world.clock.ms, 'kind', 'grant', 'delta', 9, 'balance', 9, 'by', 'nobody'];
    await redis.xadd(redisKeys.ledger(id), '*', ...fields);
    expect(await found()).toContainEqual(expect.objectContaining({ check: 'balance', off: -9 }));
  });

  it.each([
    ['balance', 5, 'sum of archived entries against the archived balance', -5],
    ['entries', -1, 'archived entries against the count in Redis', 1],
  ])('a changed archived-through counter: %s', async (field, by, what, off) => {
    await redis.hincrby(archivedThrough(), field, by);
    expect(await found()).toContainEqual(expect.objectContaining({ check: 'archive', what, off }));
  });

  it('a changed or missing archived-through record', async () => {
    const { through = '' } = await redis.hgetall(archivedThrough());
    await redis.hset(archivedThrough(), 'through', `${Number(through.split('-')[0]) + 1}-0`);
    expect(await found()).toContainEqual(expect.objectContaining({ check: 'archive', off: -1 }));
    await redis.del(archivedThrough());
    expect((await found()).map(({ check }) => check)).toContain('balance');
  });

  it('a changed or missing order, archived or open', async () => {
    const [paid = '', , , , open = ''] = week.orders;
    await redis.hset(redisKeys.order(id, paid), 'state', 'failed');
    expect(await found()).toContainEqual(
      expect.objectContaining({ check: 'orders', what: `order ${paid} (failed)`, off: 100 }),
    );
    await week.restore();
    await redis.hset(redisKeys.order(id, open), 'state', 'paid');
    expect(await found()).toContainEqual(
      expect.objectContaining({ check: 'orders', what: `order ${open} (paid)`, off: -100 }),
    );
    await week.restore();
    await redis.zrem(redisKeys.accountOrders(id), paid);
    expect(await found()).toContainEqual(
      expect.objectContaining({ what: `order ${paid}, missing from the account`, off: 100 }),
    );
  });

  it('changed usage of a live day', async () => {
    const today = Math.floor(week.world.clock.ms / DAY_MS);
    await redis.hincrby(redisKeys.usage(id, today), '/v1/data|credits', 6);
    const [one, ...more] = await found();
    expect(more).toEqual([]);
    expect(one).toMatchObject({ check: 'usage', off: 6, since_ms: today * DAY_MS });
  });

  it('changed live usage of an archived day', async () => {
    const day = Math.floor(week.world.clock.ms / DAY_MS) - 6;
    await redis.hincrby(redisKeys.usage(id, day), '/v1/data|credits', 6);
    const [one, ...more] = await found();
    expect(more).toEqual([]);
    expect(one).toMatchObject({ check: 'usage', off: 6, since_ms: day * DAY_MS });
    expect(one?.what).toContain('live against archived');
  });

  it('an account missing from Redis', async () => {
    await redis.del(wallet());
    const [one, ...more] = await week.discrepancies();
    expect(more).toEqual([]);
    expect(one).toMatchObject({
      account_id: id,
      what: 'archived entries of an account that Redis does not hold',
    });
  });
});

describe('reports corruption in the archive', () => {
  it.each([
    ['delta', 'delta + 3'],
    ['balance', 'balance - 1'],
  ])('an entry with a changed %s, and when', async (column, value) => {
    const entry = archivedEntry();
    await rewrite(entriesOf(1), changed(column, value, entry));
    const fault = (await found()).find(({ what }) => what.startsWith('balance at entry '));
    expect(fault).toMatchObject({ check: 'archive', since_ms: expect.any(Number) });
    expect(fault?.what).toContain(`in ledger/${parts[1]}`);
    expect(Math.abs((fault?.since_ms ?? 0) - entry.at_ms)).toBeLessThan(DAY_MS);
  });

  it('a missing entry, and all entries missing from a part', async () => {
    const entry = archivedEntry();
    await rewrite(entriesOf(1), `SELECT * FROM rows WHERE NOT (${isEntry(entry)})`);
    expect(await found()).toContainEqual(
      expect.objectContaining({ what: 'archived entries against the count in Redis', off: -1 }),
    );
    await week.restore();
    await rewrite(entriesOf(1), `SELECT * FROM rows WHERE account_id <> '${id}'`);
    await rewrite(accountsOf(1), `SELECT * FROM rows WHERE account_id <> '${id}'`);
    const missing = (await found()).find(({ what }) => what.startsWith('opening balance'));
    expect(missing?.what).toContain(
      `opening balance of ledger/${parts[2]} against the closing balance of ledger/${parts[0]}`,
    );
  });

  it('entries held by two parts', async () => {
    const from = `read_parquet('${entriesOf(1)}')`;
    await rewrite(
      entriesOf(2),
      `SELECT * FROM rows UNION ALL SELECT * FROM ${from} WHERE account_id = '${id}' ORDER BY ALL`,
    );
    const reported = await found();
    expect(reported.map(({ what }) => what)).toContain('archived entries against the count in Redis');
  });

  it('an entry with another kind, day or order', async () => {
    const debit = ledger.find(
      ({ kind, at_ms }) => kind === 'debit' && at_ms >= archivedEntry().at_ms,
    ) as LedgerEntry;
    await rewrite(entriesOf(1), changed('kind', "'grant'", debit));
    expect((await found()).map(({ check }) => check).sort()).toEqual(['lifetime', 'usage']);
    await week.restore();
    await rewrite(entriesOf(1), changed('at_ms', `at_ms - ${DAY_MS}`, debit));
    const days = await found();
    expect(days.map(({ check, off }) => [check, off])).toEqual([
      ['usage', debit.delta],
      ['usage', -debit.delta],
    ]);
    await week.restore();
    const bought = ledger.find(({ kind }) => kind === 'purchase') as LedgerEntry;
    await rewrite(entriesOf(1), changed('"order"', "'ord_other'", bought));
    expect((await found()).map(({ what, off }) => [what, off])).toEqual([
      [`order ${week.orders[0]} (paid)`, -100],
      ['order ord_other, missing from the account', 100],
    ]);
  });

  it('changed or missing usage of an archived day', async () => {
    const date = new Date(archivedEntry().at_ms).toISOString().slice(0, 10);
    const credits = `CASE WHEN account_id = '${id}' THEN credits + 2 ELSE credits END AS credits`;
    await rewrite(usageFile(date), `SELECT * REPLACE (${credits}) FROM rows`);
    const since_ms = Date.parse(date);
    expect(await found()).toEqual([
      { check: 'usage', off: 2, since_ms, what: `credits used on ${date} against its debits` },
      { check: 'usage', off: -2, since_ms, what: `credits used on ${date}, live against archived` },
    ]);
    await rm(usageFile(date));
    expect(await week.discrepancies()).toEqual([]);
    week.world.clock.ms += 120 * DAY_MS;
    const { problems } = await week.reconcile();
    expect(problems).toContain(`usage/${date} is missing: its debits cannot be checked`);
  });

  it('any changed entry', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.nat(3),
        fc.constantFrom('delta', 'balance', 'id_ms'),
        fc.integer({ min: 1, max: 1_000 }),
        async (row, at, column, by) => {
          await week.restore();
          const one = `row_number() OVER () = 1 + ${row} % (SELECT count(*) FROM rows)`;
          // A later id may still be in order; an earlier one than any other of the account never is.
          const value = column === 'id_ms' ? 'id_ms + 1000000000' : `${column} + ${by}`;
          const marked = `(SELECT *, ${one} AS is_it FROM rows)`;
          await rewrite(
            entriesOf(at),
            `SELECT * EXCLUDE is_it REPLACE (if(is_it, ${value}, ${column}) AS ${column}) FROM ${marked}`,
          );
          const reported = await week.discrepancies();
          expect(new Set(reported.map(({ account_id }) => account_id)).size).toBe(1);
        },
      ),
      { numRuns: 10 },
    );
  });
});

describe('reports damaged archive files', () => {
  const reportedAccounts = async (): Promise<Set<string>> =>
    new Set((await week.discrepancies()).map(({ account_id }) => account_id));

  it('a missing or duplicated part, with every account in it', async () => {
    await rm(partDir(1), { recursive: true });
    expect(await reportedAccounts()).toEqual(new Set(week.ids));
    await week.restore();
    await cp(partDir(1), `${partDir(1)}-again`, { recursive: true });
    expect(await reportedAccounts()).toEqual(new Set(week.ids));
    const reported = await week.discrepancies();
    expect(
      reported.some(
        ({ what }) => what === `entries in ledger/${parts[1]}-again that ledger/${parts[1]} also holds`,
      ),
    ).toBe(true);
  });

  it('an unreadable part, with every account in it', async () => {
    await truncate(entriesOf(1), 500);
    const { problems, discrepancies } = await week.reconcile();
    expect(problems).toEqual([expect.stringContaining(`ledger/${parts[1]} cannot be read`)]);
    expect(new Set(discrepancies.map(({ account_id }) => account_id))).toEqual(new Set(week.ids));
  });

  it('a wrong or damaged account list, without naming accounts', async () => {
    await rewrite(
      accountsOf(1),
      `SELECT * REPLACE (if(account_id = '${id}', closing + 1, closing) AS closing) FROM rows`,
    );
    const problem = `ledger/${parts[1]}: its list of accounts differs from its entries for 1 of them`;
    expect(await week.reconcile()).toMatchObject({ problems: [problem], discrepancies: [] });
    await truncate(accountsOf(1), 100);
    const { problems, discrepancies } = await week.reconcile();
    expect(problems).toEqual([expect.stringContaining('its list of accounts cannot be read')]);
    expect(discrepancies).toEqual([]);
  });

  it('a missing archive once, and still checks live data', async () => {
    await rm(week.archiveDir, { recursive: true });
    const { problems, discrepancies } = await week.reconcile();
    expect(problems).toEqual(['The archive cannot be read here: 3 accounts have entries in it.']);
    expect(discrepancies).toEqual([]);
    await redis.hincrby(wallet(), 'balance', 1);
    expect((await found()).map(({ check }) => check)).toContain('balance');
  });
});

it('raises no false alarm while archiving runs and ledgers change', async () => {
  week.world.clock.ms += 5 * DAY_MS;
  const calls = week.ids.map((account_id) => week.store.grant(account_id, { credits: 1, by: 'test' }));
  const [first, second] = await Promise.all([
    week.discrepancies(),
    week.discrepancies(),
    week.night(),
    ...calls,
  ]);
  expect([first, second]).toEqual([[], []]);
  expect(await week.discrepancies()).toEqual([]);
  expect(await redis.xlen(redisKeys.ledger(id))).toBeLessThan(3);
});
