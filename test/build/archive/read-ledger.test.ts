/** Ledgers read across archive and live entries equal those before archiving, and report what is missing. */
import { readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import { Archive } from '../../../gateway/commerce/history/archive.ts';
import { isGap } from '../../../gateway/commerce/history/entries.ts';
import { readWholeLedger } from '../../../gateway/commerce/history/ledger-history.ts';
import { stopAfterTests } from '../../after-tests.ts';
import { PACKS, seededRandom } from '../../gateway/api/metering/harness.ts';
import { silentLog, useRedis } from '../../redis.ts';
import { createArchivedWeek } from './archived-week.ts';

describe('a ledger across archive and live entries', async () => {
  const server = await useRedis();
  const redis = await server.connect();
  const lived = await stopAfterTests(createArchivedWeek(redis));
  const id = lived.ids.at(-1) ?? '';
  const whole = lived.ledgers.get(id) ?? [];
  beforeEach(() => lived.restore());

  const parts = async (): Promise<string[]> => (await readdir(join(lived.archiveDir, 'ledger'))).sort();
  const entriesOf = (part: string): string => join(lived.archiveDir, 'ledger', part, 'entries.parquet');
  const accountsOf = (part: string): string => join(lived.archiveDir, 'ledger', part, 'accounts.parquet');

  it('contains each entry once while an account is trimmed in steps', async () => {
    const middle = whole.length - 9;
    // A run was killed halfway: the part is written, only the first entries are trimmed.
    const left = whole.slice(0, middle).reverse();
    const through = whole[middle];
    await redis.del(redisKeys.ledger(id));
    for (const entry of left)
      await redis.xadd(redisKeys.ledger(id), entry.id, ...(lived.fields.get(entry.id) ?? []));
    await redis.hset(redisKeys.archivedThrough(id), {
      through: through?.id ?? '',
      at_ms: through?.at_ms ?? 0,
      balance: through?.balance ?? 0,
      entries: 9,
    });
    expect(await lived.store.ledger(id, { limit: 500 })).toEqual(whole);
    expect(await lived.discrepancies()).toEqual([]);
  });

  it('sums archived entries up as one when the archive is unavailable', async () => {
    const options = { redis, now: () => 0, random: seededRandom('x'), packs: PACKS, log: silentLog };
    const elsewhere = new Archive(join(lived.archiveDir, 'not', 'here'));
    for (const store of [new AccountStore(options), new AccountStore({ ...options, archive: elsewhere })]) {
      const entries = await store.ledger(id, { limit: 500 });
      const first = entries.at(-1);
      expect(first).toMatchObject({ kind: 'carry_forward', delta: first?.balance });
      expect(entries.slice(0, -1)).toEqual(whole.slice(0, entries.length - 1));
      const { credits } = await store.get(id);
      expect(entries.reduce((sum, { delta }) => sum + delta, 0)).toBe(credits.balance);
      expect(await store.ledger(id, { before: first?.id ?? '' })).toEqual([]);
    }
    await elsewhere.close();
  });

  /** The whole ledger as pages and exports read it: entry ids, and messages for gaps. */
  async function walk(): Promise<string[]> {
    const said: string[] = [];
    for await (const item of readWholeLedger(lived.store, id))
      said.push(isGap(item) ? item.message : item.id);
    return said;
  }

  it('reports a damaged part and shows older entries; a damaged account list loses nothing', async () => {
    const [, second = ''] = await parts();
    await truncate(accountsOf(second), 100);
    expect(await walk()).toEqual(whole.map((entry) => entry.id));
    await truncate(entriesOf(second), 1_000);
    const said = await walk();
    const gaps = said.filter((word) => word.includes(' '));
    expect(gaps).toEqual([
      `Part ${second} of the archive cannot be read; entries that lie in it are not shown.`,
    ]);
    const at = said.indexOf(gaps[0] ?? '');
    expect(whole.map((entry) => entry.id)).toEqual(
      expect.arrayContaining(said.filter((word) => word !== gaps[0])),
    );
    expect(at).toBeGreaterThan(0);
    expect(said.length).toBeGreaterThan(at + 1);
    await expect(lived.store.ledger(id, { limit: 500 })).rejects.toMatchObject({ code: 'archive_damaged' });
  });

  it.each([0, 1, -1])('reports missing entries when part %i is gone', async (at) => {
    const mine = await parts();
    await rm(join(lived.archiveDir, 'ledger', mine.at(at) ?? ''), { recursive: true });
    const said = await walk();
    expect(said.filter((word) => word.includes('missing'))).toHaveLength(1);
    const ids = said.filter((word) => !word.includes(' '));
    expect(ids.length).toBeLessThan(whole.length);
    expect(whole.map((entry) => entry.id)).toEqual(expect.arrayContaining(ids));
  });

  it('reports parts that are unreadable from the start', async () => {
    for (const name of await parts()) {
      await writeFile(entriesOf(name), 'rubbish');
      await writeFile(accountsOf(name), 'rubbish');
    }
    const said = await walk();
    expect(said.filter((word) => word.includes('cannot be read')).length).toBeGreaterThan(0);
  });
});
