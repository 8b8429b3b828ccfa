/** Operator pages, exports and command line across archive and live entries, also with a damaged part. */
import { execFile } from 'node:child_process';
import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { runArchive } from '../../../build/archive/run-archive.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { useAdmin, wordsOf } from '../../admin/harness.ts';
import { useDirectory } from '../../after-tests.ts';
import { silentLog } from '../../redis.ts';
import { DAY_MS } from './archived-week.ts';

const run = promisify(execFile);
const EMAIL = 'old@example.org';
const GRANTS = 60;

describe('operator pages across archive and live entries', async () => {
  const dir = await useDirectory();
  const service = await useAdmin({ ARCHIVE_DIR: dir });
  let operator = await service.signedIn();
  const id = (await service.accounts.create({ email: EMAIL, verified: true, credits: 500, by: 'test' }))
    .account_id;
  for (let count = 1; count < GRANTS; count += 1)
    await service.accounts.grant(id, { credits: count, by: 'test', reason: `number ${count}` });
  await operator.submit(`/admin/users/${id}`, `/admin/users/${id}/suspend`, {});
  service.clock.ms += 5 * DAY_MS;
  const settings = { ARCHIVE_DIR: dir, LEDGER_LIVE_DAYS: 1, AUDIT_LIVE_DAYS: 1 };
  await runArchive({ redis: service.client, settings, now: () => service.clock.ms, log: silentLog });
  operator = await service.signedIn();
  await operator.submit(`/admin/users/${id}`, `/admin/users/${id}/restore`, {});
  await operator.submit(`/admin/users/${id}`, `/admin/users/${id}/credits`, {
    delta: '-3',
    reason: 'live',
    idem: 'i',
  });

  const reasons = (html: string): string[] =>
    [...html.matchAll(/number \d+|first credits|>live</g)].map(([word]) => word);

  it('page through the ledger to its first entry', async () => {
    expect(await service.client.xlen(redisKeys.ledger(id))).toBe(1);
    const seen: string[] = [];
    let path: string | undefined = `/admin/users/${id}`;
    for (let pages = 0; path !== undefined; pages += 1) {
      expect(pages).toBeLessThan(4);
      const { html } = await operator.get(path);
      const [, ledger = ''] = html.split('id="ledger"');
      seen.push(...reasons(ledger.split('<h2>Orders')[0] ?? ''));
      path = /href="([^"]+)" rel="next">Older entries/
        .exec(ledger)?.[1]
        ?.replaceAll('&amp;', '&')
        .split('#')[0];
    }
    const numbers = Array.from({ length: GRANTS - 1 }, (_, index) => `number ${GRANTS - 1 - index}`);
    expect(seen).toEqual(['>live<', ...numbers, 'first credits']);
  });

  it('export the whole ledger and the whole audit log', async () => {
    const ledger = (await operator.get(`/admin/users/${id}?format=ledger.csv`)).html.trim().split('\r\n');
    expect(ledger).toHaveLength(1 + GRANTS + 1);
    for (const path of [`/admin/users/${id}?format=audit.csv`, '/admin/audit?format=csv']) {
      const { html } = await operator.get(path);
      for (const action of ['account.suspend', 'account.restore', 'credits.adjust'])
        expect(html).toContain(action);
    }
    expect(wordsOf(await operator.get('/admin/audit'))).toContain('account.suspend');
    expect(wordsOf(await operator.get(`/admin/users/${id}`))).toContain('account.suspend');
    const reconciled = wordsOf(await operator.get('/admin/reconcile'));
    expect(reconciled).toContain('No discrepancies in 1 account');
    expect(reconciled).toMatch(
      new RegExp(`The archive holds ${GRANTS} entries in 1 part, and \\d+ days? of usage`),
    );
  });

  it('have a command line that shows archived entries', async () => {
    const settings = [`REDIS_URL=${service.redis.url}`, `ARCHIVE_DIR=${dir}`];
    const main = join(import.meta.dirname, '../../../admin/cli.ts');
    const show = [process.execPath, main, 'show', '--email', EMAIL, '--json'];
    const { stdout } = await run('env', [...settings, ...show]);
    const { ledger } = JSON.parse(stdout);
    expect(ledger).toHaveLength(20);
    expect(ledger[1]).toMatchObject({ kind: 'grant', delta: GRANTS - 1, reason: `number ${GRANTS - 1}` });
  });

  it('report unreadable parts on pages and in exports', async () => {
    for (const kind of ['ledger', 'audit']) {
      const [part = ''] = await readdir(join(dir, kind));
      await truncate(join(dir, kind, part, 'entries.parquet'), 300);
    }
    const account = await operator.get(`/admin/users/${id}`);
    expect(account.status).toBe(200);
    expect(wordsOf(account)).toMatch(/Part \S+ of the archive cannot be read/);
    expect(wordsOf(await operator.get('/admin/audit'))).toMatch(/Part \S+ of the archive cannot be read/);
    const csv = (await operator.get(`/admin/users/${id}?format=ledger.csv`)).html;
    expect(csv).toMatch(/,missing,.*Part \S+ of the archive cannot be read/);
    expect((await operator.get('/admin/audit?format=csv')).html).toMatch(/,missing,.*cannot be read/);
    const reconciled = await operator.get('/admin/reconcile');
    expect(wordsOf(reconciled)).toMatch(/ledger\/\S+ cannot be read/);
    expect(wordsOf(reconciled)).toMatch(/audit\/\S+ cannot be read/);
    expect(reconciled.html).not.toContain(dir);
    expect(reconciled.html).toContain(EMAIL);
    service.clock.ms += DAY_MS;
    operator = await service.signedIn();
    expect(wordsOf(await operator.get('/admin/'))).toContain('The archive has problems');
  });
});
