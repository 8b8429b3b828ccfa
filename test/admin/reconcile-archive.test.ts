/**
 * Reconciliation names exactly the account of which something in the archive is corrupted, by how much and since when,
 * and the file of the archive that is.
 */
import { cp, rm, truncate } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { LedgerEntry } from '../../gateway/accounts/records.ts';
import { DAY_MS, rewrite } from '../build/archive/archived-week.ts';
import {
  accountsOf,
  archivedEntry,
  changed,
  entriesOf,
  found,
  id,
  idIs,
  ledger,
  lived,
  partDir,
  parts,
  redis,
  usageFile,
  wallet,
} from './reconcile-fixture.ts';

describe('in the archive', () => {
  it.each([
    ['delta', 'delta + 3'],
    ['balance', 'balance - 1'],
  ])('an entry whose %s was altered, with the moment', async (column, value) => {
    const entry = archivedEntry();
    await rewrite(entriesOf(1), changed(column, value, entry));
    const tear = (await found()).find(({ what }) => what.startsWith('balance at entry '));
    expect(tear).toMatchObject({ check: 'archive', since_ms: expect.any(Number) });
    expect(tear?.what).toContain(`in ledger/${parts[1]}`);
    expect(Math.abs((tear?.since_ms ?? 0) - entry.at_ms)).toBeLessThan(DAY_MS);
  });

  it('an entry that is gone, and all of them in a part', async () => {
    const entry = archivedEntry();
    await rewrite(entriesOf(1), `SELECT * FROM rows WHERE NOT (${idIs(entry)})`);
    expect(await found()).toContainEqual(
      expect.objectContaining({ what: 'archived entries against the count in Redis', off: -1 }),
    );
    await lived.restore();
    await rewrite(entriesOf(1), `SELECT * FROM rows WHERE account_id <> '${id}'`);
    await rewrite(accountsOf(1), `SELECT * FROM rows WHERE account_id <> '${id}'`);
    const missing = (await found()).find(({ what }) => what.startsWith('opening balance'));
    expect(missing?.what).toContain(
      `opening balance of ledger/${parts[2]} against the closing balance of ledger/${parts[0]}`,
    );
  });

  it('entries that two parts hold', async () => {
    const from = `read_parquet('${entriesOf(1)}')`;
    await rewrite(
      entriesOf(2),
      `SELECT * FROM rows UNION ALL SELECT * FROM ${from} WHERE account_id = '${id}' ORDER BY ALL`,
    );
    const said = await found();
    expect(said.map(({ what }) => what)).toContain('archived entries against the count in Redis');
  });

  it('a debit that became something else, or of another day, or of another order', async () => {
    const debit = ledger.find(
      ({ kind, at_ms }) => kind === 'debit' && at_ms >= archivedEntry().at_ms,
    ) as LedgerEntry;
    await rewrite(entriesOf(1), changed('kind', "'grant'", debit));
    expect((await found()).map(({ check }) => check).sort()).toEqual(['lifetime', 'usage']);
    await lived.restore();
    await rewrite(entriesOf(1), changed('at_ms', `at_ms - ${DAY_MS}`, debit));
    const days = await found();
    expect(days.map(({ check, off }) => [check, off])).toEqual([
      ['usage', debit.delta],
      ['usage', -debit.delta],
    ]);
    await lived.restore();
    const bought = ledger.find(({ kind }) => kind === 'purchase') as LedgerEntry;
    await rewrite(entriesOf(1), changed('"order"', "'ord_other'", bought));
    expect((await found()).map(({ what, off }) => [what, off])).toEqual([
      [`order ${lived.orders[0]} (paid)`, -100],
      ['order ord_other, missing from the account', 100],
    ]);
  });

  it('usage of an archived day', async () => {
    const date = new Date(archivedEntry().at_ms).toISOString().slice(0, 10);
    const credits = `CASE WHEN account_id = '${id}' THEN credits + 2 ELSE credits END AS credits`;
    await rewrite(usageFile(date), `SELECT * REPLACE (${credits}) FROM rows`);
    const since_ms = Date.parse(date);
    expect(await found()).toEqual([
      { check: 'usage', off: 2, since_ms, what: `credits used on ${date} against its debits` },
      { check: 'usage', off: -2, since_ms, what: `credits used on ${date}, live against archived` },
    ]);
    await rm(usageFile(date));
    expect(await lived.discrepancies()).toEqual([]);
    lived.world.clock.ms += 120 * DAY_MS;
    const { problems } = await lived.reconcile();
    expect(problems).toContain(`usage/${date} is missing: its debits cannot be checked`);
  });

  it('any entry, in any way that changes what it says', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.nat(3),
        fc.constantFrom('delta', 'balance', 'id_ms'),
        fc.integer({ min: 1, max: 1_000 }),
        async (row, at, column, by) => {
          await lived.restore();
          const one = `row_number() OVER () = 1 + ${row} % (SELECT count(*) FROM rows)`;
          // A later id may still be in order; an earlier one than any other of the account never is.
          const value = column === 'id_ms' ? 'id_ms + 1000000000' : `${column} + ${by}`;
          const marked = `(SELECT *, ${one} AS is_it FROM rows)`;
          await rewrite(
            entriesOf(at),
            `SELECT * EXCLUDE is_it REPLACE (if(is_it, ${value}, ${column}) AS ${column}) FROM ${marked}`,
          );
          const said = await lived.discrepancies();
          expect(new Set(said.map(({ account_id }) => account_id)).size).toBe(1);
        },
      ),
      { numRuns: 10 },
    );
  });
});

describe('whole files of the archive', () => {
  const accountsNamed = async (): Promise<Set<string>> =>
    new Set((await lived.discrepancies()).map(({ account_id }) => account_id));

  it('a part that is missing, or stands twice, names everyone in it', async () => {
    await rm(partDir(1), { recursive: true });
    expect(await accountsNamed()).toEqual(new Set(lived.ids));
    await lived.restore();
    await cp(partDir(1), `${partDir(1)}-again`, { recursive: true });
    expect(await accountsNamed()).toEqual(new Set(lived.ids));
    const said = await lived.discrepancies();
    expect(
      said.some(
        ({ what }) => what === `entries in ledger/${parts[1]}-again that ledger/${parts[1]} also holds`,
      ),
    ).toBe(true);
  });

  it('a part that cannot be read is named, with everyone in it', async () => {
    await truncate(entriesOf(1), 500);
    const { problems, discrepancies } = await lived.reconcile();
    expect(problems).toEqual([expect.stringContaining(`ledger/${parts[1]} cannot be read`)]);
    expect(new Set(discrepancies.map(({ account_id }) => account_id))).toEqual(new Set(lived.ids));
  });

  it('a list of accounts that is wrong or damaged is named, and nobody with it', async () => {
    await rewrite(
      accountsOf(1),
      `SELECT * REPLACE (if(account_id = '${id}', closing + 1, closing) AS closing) FROM rows`,
    );
    const says = `ledger/${parts[1]}: its list of accounts differs from its entries for 1 of them`;
    expect(await lived.reconcile()).toMatchObject({ problems: [says], discrepancies: [] });
    await truncate(accountsOf(1), 100);
    const { problems, discrepancies } = await lived.reconcile();
    expect(problems).toEqual([expect.stringContaining('its list of accounts cannot be read')]);
    expect(discrepancies).toEqual([]);
  });

  it('an archive that is not there is said once, and what can be checked is', async () => {
    await rm(lived.archiveDir, { recursive: true });
    const { problems, discrepancies } = await lived.reconcile();
    expect(problems).toEqual(['The archive cannot be read here: 3 accounts have entries in it.']);
    expect(discrepancies).toEqual([]);
    await redis.hincrby(wallet(), 'balance', 1);
    expect((await found()).map(({ check }) => check)).toContain('balance');
  });
});

it('is no false alarm while the night archives and calls are paid', async () => {
  lived.world.clock.ms += 5 * DAY_MS;
  const calls = lived.ids.map((account_id) => lived.store.grant(account_id, { credits: 1, by: 'test' }));
  const [first, second] = await Promise.all([
    lived.discrepancies(),
    lived.discrepancies(),
    lived.night(),
    ...calls,
  ]);
  expect([first, second]).toEqual([[], []]);
  expect(await lived.discrepancies()).toEqual([]);
  expect(await redis.xlen(redisKeys.ledger(id))).toBeLessThan(3);
});
