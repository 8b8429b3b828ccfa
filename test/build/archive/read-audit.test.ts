/** The audit log and data exports across archive and live entries; the archive holds no personal data. */
import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runArchive } from '../../../build/archive/run-archive.ts';
import { Archive } from '../../../gateway/commerce/history/archive.ts';
import type { AuditEntry, AuditLog } from '../../../gateway/commerce/history/audit-log.ts';
import { parseStreamId } from '../../../gateway/commerce/history/entries.ts';
import { listAccountData } from '../../../gateway/commerce/privacy/data-export.ts';
import {
  type AccountPagesHarness,
  type Customer,
  NOON,
  startAccountPages,
} from '../../gateway/commerce/pages/harness.ts';
import { silentLog } from '../../redis.ts';
import { query } from './archive-contents.ts';

const DAY_MS = 86_400_000;

describe('the history of an account across archive and live entries', () => {
  let harness: AccountPagesHarness;
  let ann: Customer;
  let audit: AuditLog;
  let before: AuditEntry[];
  let archiveDir: string;

  const night = () =>
    runArchive({
      redis: harness.redis,
      settings: harness.settings,
      now: () => harness.clock.ms,
      log: silentLog,
    });

  beforeAll(async () => {
    harness = await startAccountPages({ settings: { AUDIT_LIVE_DAYS: '2', LEDGER_LIVE_DAYS: '2' } });
    archiveDir = harness.settings.ARCHIVE_DIR;
    audit = harness.context.audit;
    ann = await harness.customer('Ann Archived');
    const seen = new Map<string, AuditEntry>();
    const { key } = await harness.makeKey(ann, { label: 'a name of hers' });
    for (let day = 0; day < 5; day += 1) {
      for (let call = 0; call < 3; call += 1) expect((await harness.call(key)).status).toBe(200);
      await harness.signIn(ann.visitor, ann.email);
      await ann.visitor.submit('/account/alerts', '/account/alerts/balance', { low_at: String(day + 1) });
      // Recorded while they are live.
      for (const entry of (await audit.page({ limit: 500 })).entries)
        if (!seen.has(entry.id)) seen.set(entry.id, entry);
      harness.clock.ms += DAY_MS;
      if (day === 2) await night();
    }
    before = [...seen.values()].sort((a, b) => Number(parseStreamId(b.id) - parseStreamId(a.id)));
    const walked: AuditEntry[] = [];
    for await (const item of audit.readAll()) if ('action' in item) walked.push(item);
    expect(walked).toHaveLength(before.length);
    await night();
    harness.clock.ms += DAY_MS;
    await night();
    harness.clock.ms += 99 * DAY_MS;
    await night();
  });
  afterAll(() => harness.stop());

  it('exports everything that is held about a person, archive included', async () => {
    const { context, clock } = harness;
    const archive = new Archive(archiveDir);
    const held = { ...context, archive, now: () => clock.ms };
    const text: Record<string, Record<string, unknown>[]> = {};
    for (const { name, rows } of listAccountData(held, ann.account_id)) {
      const list: Record<string, unknown>[] = [];
      for await (const row of rows()) list.push({ ...row });
      text[name] = list;
    }
    await archive.close();
    expect(text.ledger?.map(({ kind }) => kind)).toEqual([...Array(15).fill('debit'), 'grant']);
    expect(text.changes).toHaveLength(before.length);
    expect(text['usage-by-day']?.map(({ requests }) => requests)).toEqual(Array(90).fill(0));
    const days = text['earlier-usage']?.map(({ date, credits }) => [date, credits]);
    expect(days).toHaveLength(5);
    expect(days?.[0]).toEqual([new Date(NOON).toISOString().slice(0, 10), 3]);
    await harness.signIn(ann.visitor, ann.email);
    const csv = (await ann.visitor.get('/account/wallet?format=csv')).html;
    expect(csv.trim().split('\r\n')).toHaveLength(1 + 16);
    const page = (await ann.visitor.get('/account/wallet')).html;
    expect(page.match(/\/v1\/countries\/\{iso3\}/g)).toHaveLength(15);
  });

  it('holds no personal data in the archive, so that an erasure need not touch it', async () => {
    const { name, email } = await harness.accounts.get(ann.account_id);
    const { request_id } = await harness.context.requests.open(ann.account_id, 'erasure');
    await harness.context.privacy.erasures.erase(request_id, { by: 'command line' });
    harness.clock.ms += 10 * DAY_MS;
    await night();
    const rows = [
      ...(await query(
        `SELECT * FROM read_parquet('${archiveDir}/ledger/*/*.parquet', union_by_name = true)`,
      )),
      ...(await query(`SELECT * FROM read_parquet('${archiveDir}/audit/*/*.parquet')`)),
      ...(await query(`SELECT * FROM read_parquet('${archiveDir}/usage/*.parquet')`)),
    ];
    const text = JSON.stringify(rows);
    expect(text).toContain(ann.account_id);
    for (const word of [name, email, 'a name of hers']) expect(text).not.toContain(word);
    const { credits } = await harness.accounts.get(ann.account_id);
    const ledger = await harness.context.accounts.ledger(ann.account_id);
    expect(ledger.reduce((sum, { delta }) => sum + delta, 0)).toBe(credits.balance);
  });

  it('reports a damaged part', async () => {
    const [first = ''] = (await readdir(join(archiveDir, 'audit'))).sort();
    await truncate(join(archiveDir, 'audit', first, 'entries.parquet'), 200);
    const { gap, entries } = await audit.page({ limit: 500 });
    expect(gap).toEqual({
      message: expect.stringContaining(`Part ${first} of the archive cannot be read`),
      before: null,
    });
    expect(entries.length).toBeGreaterThan(0);
    await expect(audit.list({ limit: 500 })).rejects.toMatchObject({ code: 'archive_damaged' });
  });
});
