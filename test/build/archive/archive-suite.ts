/** What an archive run moves, keeps and reports, for one Redis and for a cluster. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ArchiveSummary, archiveWarnings, runArchive } from '../../../build/archive/run-archive.ts';
import { acquireLock } from '../../../data/runtime/file-lock.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import {
  AUDIT_COLUMNS,
  LEDGER_ACCOUNT_COLUMNS,
  LEDGER_COLUMNS,
  USAGE_COLUMNS,
} from '../../../data/schema/archive.ts';
import { AuditLog } from '../../../gateway/commerce/history/audit-log.ts';
import { stopAfterTests } from '../../after-tests.ts';
import { createWorld, UNLIMITED, type World } from '../../gateway/api/metering/harness.ts';
import { silentLog } from '../../redis.ts';
import { archivedAudit, archivedLedgers, query, stream, usageRows } from './archive-contents.ts';
import { ArchiveOracle } from './archive-oracle.ts';

const DAY_MS = 86_400_000;

type Start = () => Promise<{ connect(): Promise<RedisClient>; stop(): Promise<void> }>;

export function describeArchive(name: string, start: Start): void {
  describe(`the archive on ${name}`, async () => {
    let world: World;
    let dir: string;
    let oracle: ArchiveOracle;

    const server = await stopAfterTests(start());
    const redis = await server.connect();
    beforeEach(async () => {
      const nodes = 'nodes' in redis ? redis.nodes('master') : [redis];
      await Promise.all(nodes.map((node) => node.flushall()));
      world = createWorld(redis, UNLIMITED);
      dir = await mkdtemp(join(tmpdir(), 'alm-archive-'));
      oracle = new ArchiveOracle(redis, dir);
      return () => rm(dir, { recursive: true, force: true });
    });

    const archive = (options: { partEntries?: number; onStep?: () => void } = {}): Promise<ArchiveSummary> =>
      runArchive({
        redis,
        settings: { ARCHIVE_DIR: dir, LEDGER_LIVE_DAYS: 3, AUDIT_LIVE_DAYS: 90 },
        now: () => world.clock.ms,
        log: silentLog,
        ...options,
      });
    const nextDay = (days = 1): void => {
      world.clock.ms += days * DAY_MS;
    };

    it('moves whole days that are old enough and keeps newer ones', async () => {
      const ada = await world.customer();
      const bob = await world.customer();
      for (let day = 0; day < 5; day += 1) {
        for (let call = 0; call < 3; call += 1) await ada.call({ price: call + 1 });
        nextDay();
      }
      await oracle.record();
      // Day 5: days 2, 3 and 4 stay whole; days 0 and 1 go.
      const summary = await archive();
      expect(summary.ledger).toMatchObject({ entries: 8, resumed: [], left: [] });
      expect(summary.ledger.parts).toHaveLength(1);
      expect(await redis.xlen(`{a:${ada.account_id}}:ledger`)).toBe(9);
      expect(await redis.xlen(`{a:${bob.account_id}}:ledger`)).toBe(0);
      expect(await oracle.problems()).toEqual([]);
      expect((await archive()).ledger).toEqual({ parts: [], entries: 0, resumed: [], left: [] });
      nextDay();
      expect((await archive()).ledger.entries).toBe(3);
      expect(await oracle.problems()).toEqual([]);
      // Later entries continue from the archived balance.
      await bob.call();
      await oracle.record();
      expect(await oracle.problems()).toEqual([]);
    });

    it('writes the documented columns, sorted, with opening and closing balance of each account', async () => {
      const customers = [await world.customer(), await world.customer({ credits: 7 })];
      for (const customer of customers) for (let call = 0; call < 5; call += 1) await customer.call();
      nextDay(4);
      // Parts of four of the twelve entries.
      const { ledger } = await archive({ partEntries: 4 });
      expect(ledger.parts).toHaveLength(3);
      expect([...ledger.parts].sort()).toEqual(ledger.parts);
      const [part = ''] = ledger.parts;
      const described = async (file: string): Promise<unknown> =>
        Object.fromEntries(
          (await query(`DESCRIBE SELECT * FROM read_parquet('${dir}/${file}')`)).map((row) => [
            row.column_name,
            row.column_type,
          ]),
        );
      expect(await described(`ledger/${part}/entries.parquet`)).toEqual(LEDGER_COLUMNS);
      expect(await described(`ledger/${part}/accounts.parquet`)).toEqual(LEDGER_ACCOUNT_COLUMNS);
      expect(await described('usage/2026-11-20.parquet')).toEqual(USAGE_COLUMNS);
      for (const { account_id } of customers) {
        const whole = (await archivedLedgers(dir)).get(account_id) ?? [];
        expect(whole).toHaveLength(6);
        const rows = await query(
          `SELECT * EXCLUDE (filename) FROM read_parquet('${dir}/ledger/*/accounts.parquet', filename = true)
         WHERE account_id = '${account_id}' ORDER BY filename`,
        );
        const [grant] = whole;
        expect(rows[0]).toMatchObject({ opening: '0', first_ms: grant?.[0].split('-')[0] });
        expect(rows.at(-1)).toMatchObject({ closing: String(whole.at(-1)?.[1].balance) });
      }
    });

    it('reports an account whose balances do not add up, keeps it in Redis and archives the others', async () => {
      const [good, bad] = [await world.customer(), await world.customer()];
      await good.call();
      await bad.call();
      const key = `{a:${bad.account_id}}:ledger`;
      const at_ms = String(world.clock.ms);
      await redis.xadd(key, '*', 'at_ms', at_ms, 'kind', 'debit', 'delta', '-1', 'balance', '42');
      const before = await stream(redis, key);
      nextDay(4);
      const summary = await archive();
      expect(summary.ledger).toMatchObject({ entries: 2, left: [{ what: bad.account_id }] });
      expect(archiveWarnings(summary)[0]).toMatch(/does not follow from a balance of 99/);
      expect(await stream(redis, key)).toEqual(before);
      expect(await redis.exists(`{a:${bad.account_id}}:carried`)).toBe(0);
      expect((await archivedLedgers(dir)).has(bad.account_id)).toBe(false);
      expect(await redis.xlen(`{a:${good.account_id}}:ledger`)).toBe(0);
    });

    it('trims nothing of an account whose live entries differ from the part, and goes on with the others', async () => {
      const [good, bad] = [await world.customer(), await world.customer()];
      await good.call();
      await bad.call();
      nextDay(4);
      // Killed after the part was written; then the live entries are changed.
      const onStep = () => {
        throw new Error('killed');
      };
      await expect(archive({ onStep })).rejects.toThrow('killed');
      const key = `{a:${bad.account_id}}:ledger`;
      const [[first = ''] = []] = await stream(redis, key);
      await redis.xdel(key, first);
      const before = await stream(redis, key);
      for (let night = 0; night < 2; night += 1) {
        const { ledger } = await archive();
        expect(ledger.left).toMatchObject([{ what: bad.account_id }]);
        expect(ledger.left[0]?.why).toMatch(/1 entries are live/);
        expect(await stream(redis, key)).toEqual(before);
        nextDay();
      }
      expect(await redis.xlen(`{a:${good.account_id}}:ledger`)).toBe(0);
      expect((await archivedLedgers(dir)).get(good.account_id)).toHaveLength(2);
    });

    it('moves old audit entries out of the log and the streams of their subjects', async () => {
      const log = new AuditLog(redis, () => world.clock.ms);
      const change = {
        by: 'ada@example.org',
        action: 'indicator.toggle',
        before: { enabled: true },
        request_id: 'r',
      };
      for (let day = 0; day < 250; day += 1) {
        const subject = `indicator x.${day % 3 === 0 ? 'one' : `late${day}`}`;
        await log.record({ ...change, subject, after: { day, reason: 'ü "quoted"' }, reason: '' });
        world.clock.ms += DAY_MS;
      }
      const before = await stream(redis, '{audit}:log');
      const one = await stream(redis, '{audit}:of:indicator%20x.one');
      const { audit } = await archive();
      expect(audit).toMatchObject({ entries: 160, left: [] });
      const archived = await archivedAudit(dir);
      const live = await stream(redis, '{audit}:log');
      expect([...archived, ...live]).toEqual(before);
      expect(live).toHaveLength(90);
      const liveOne = await stream(redis, '{audit}:of:indicator%20x.one');
      expect([...archived.filter(([, { subject }]) => subject === 'indicator x.one'), ...liveOne]).toEqual(
        one,
      );
      expect(await redis.exists('{audit}:of:indicator%20x.late1')).toBe(0);
      expect(await redis.hgetall('{audit}:carried')).toEqual({
        through: archived.at(-1)?.[0],
        entries: '160',
      });
      const [part = ''] = audit.parts;
      const columns = await query(
        `DESCRIBE SELECT * FROM read_parquet('${dir}/audit/${part}/entries.parquet')`,
      );
      expect(columns.map(({ column_name }) => column_name)).toEqual(Object.keys(AUDIT_COLUMNS));
      expect((await archive()).audit).toMatchObject({ parts: [], entries: 0 });
    });

    it('writes the usage of a day once, when it can no longer change', async () => {
      const ada = await world.customer();
      await ada.call({ price: 3, rows: 3, route: '/v1/data' });
      await ada.call({ price: 0, status: 404 });
      world.clock.ms = Date.UTC(2026, 10, 21, 12);
      expect((await archive()).usage.days).toEqual([]);
      world.clock.ms = Date.UTC(2026, 10, 22, 13);
      expect((await archive()).usage).toEqual({ days: ['2026-11-20', '2026-11-21'], lost: null });
      const row = { account_id: ada.account_id };
      expect(await usageRows(dir, '2026-11-20')).toEqual([
        { ...row, route: '/v1/countries/{iso3}', requests: '1', errors: '1', rows: '0', credits: '0' },
        { ...row, route: '/v1/data', requests: '1', errors: '0', rows: '3', credits: '3' },
      ]);
      expect(await usageRows(dir, '2026-11-21')).toEqual([]);
      await redis.hincrby(`{a:${ada.account_id}}:usage:2026-11-20`, '/v1/data|credits', 1);
      expect((await archive()).usage.days).toEqual([]);
      expect(await redis.exists(`{a:${ada.account_id}}:usage:2026-11-20`)).toBe(1);
    });

    it('reports once which days of usage expired before they were archived', async () => {
      await world.customer();
      world.clock.ms += 150 * DAY_MS;
      const summary = await archive();
      expect(summary.usage.lost).toEqual({ from: '2026-11-20', to: '2027-01-09' });
      expect(summary.usage.days).toHaveLength(98);
      expect(archiveWarnings(summary)[0]).toMatch(/usage from 2026-11-20 to 2027-01-09/);
      nextDay();
      expect((await archive()).usage.lost).toBeNull();
    });

    it('removes unfinished files, runs under a lock and refuses a Redis that belongs to another archive', async () => {
      await archive();
      await mkdir(join(dir, 'ledger/.20260101T000000000Z-0000'));
      await writeFile(join(dir, 'usage/.2026-01-01.parquet'), 'half');
      await archive();
      expect(await readdir(join(dir, 'ledger'))).toEqual([]);
      expect(await readdir(join(dir, 'usage'))).toEqual([]);
      const lock = await acquireLock(join(dir, '.lock'), 'the archive');
      await expect(archive()).rejects.toThrow(/already being worked on/);
      await lock.release();
      await rm(join(dir, 'archive.json'));
      await expect(archive()).rejects.toThrow(/set ARCHIVE_DIR/);
    });
  });
}
