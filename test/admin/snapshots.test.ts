/** The operators' list of snapshots: what changed, which are rolled back, and which can be served again. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { useDirectory } from '../after-tests.ts';
import { publishFixture } from '../gateway/fixture-snapshot.ts';
import { useAdmin } from './harness.ts';

const OLDER = 60;

const idOf = (number: number): string => `20250101T0000${String(number).padStart(2, '0')}Z-0000abcd`;
const ROLLED_BACK = '20260101T000000Z-0000abcd';

const directory = await useDirectory();
await publishFixture(directory);
const served = (await readFile(join(directory, 'current'), 'utf8')).trim();
const storage = new SnapshotStorage(directory);
const log = await storage.log();
const last = log.editions.find(({ edition }) => edition === served);
if (!last) throw new Error('the fixture is not in the log');
const manifest = await storage.manifest(served);
const ids = Array.from({ length: OLDER }, (_, number) => idOf(number));
const older = ids.map((edition, number) => ({ ...last, edition, base: ids[number - 1] ?? null }));
const rolledBack = {
  ...last,
  edition: ROLLED_BACK,
  base: ids.at(-1) ?? null,
  changed: { demo: { added: 4, withdrawn: 3, renamed: 2, revised: 1, redefined: 0 } },
};
const chain = { ...last, base: ids.at(-1) ?? null };
const rollbacks = [{ from: ROLLED_BACK, to: idOf(OLDER - 1), at: last.published_at, reason: null }];
await storage.writeLog({ ...log, editions: [...older, rolledBack, chain], rollbacks });
await writeFile(
  join(directory, 'editions', `${ROLLED_BACK}.json`),
  JSON.stringify({ ...manifest, id: ROLLED_BACK }),
);
const service = await useAdmin({ SNAPSHOT_DIR: directory });
const operator = await service.signedIn();

const rows = (html: string): string[] =>
  [...html.matchAll(/<tr><th data-label="Id" scope="row"><span.*?<\/tr>/gs)].map(([row]) => row);

describe('the list of snapshots', () => {
  it('marks the served and the rolled-back ones, and says what changed', async () => {
    const [first = '', second = '', third = ''] = rows((await operator.get('/admin/snapshots')).html);
    expect(first).toContain(served);
    expect(first).toContain('current');
    expect(second).toContain(ROLLED_BACK);
    expect(second).toContain('rolled back');
    expect(second).toContain('4 added, 3 withdrawn, 1 revised, 2 renamed');
    expect(third).toContain(idOf(OLDER - 1));
    expect(third).toContain('earlier');
  });

  it('offers to serve only those with prerendered files', async () => {
    const [, second = '', third = ''] = rows((await operator.get('/admin/snapshots')).html);
    expect(second).toContain(`/admin/snapshots/${ROLLED_BACK}/rollback`);
    expect(third).toContain('figures only');
    expect((await operator.get(`/admin/snapshots/${idOf(0)}/rollback`)).status).toBe(409);
  });

  it('is in the menu, and shows fifty at a time, sorted by its headers', async () => {
    const { html } = await operator.get('/admin/snapshots');
    expect(rows(html)).toHaveLength(50);
    expect(html).toContain('href="/admin/snapshots?limit=50&amp;offset=50" rel="next"');
    const rest = rows((await operator.get('/admin/snapshots?limit=50&offset=50')).html);
    expect(rest).toHaveLength(OLDER + 2 - 50);
    expect(rows((await operator.get('/admin/snapshots?sort=id')).html)[0]).toContain(idOf(0));
    const menu = /<nav[^>]*aria-label="Operations".*?<\/nav>/s.exec(
      (await operator.get('/admin/')).html,
    )?.[0];
    expect(menu).toContain('href="/admin/snapshots"');
  });

  it('is empty while the log cannot be read', async () => {
    const log = join(directory, 'log.json');
    const text = await readFile(log, 'utf8');
    await writeFile(log, text.slice(0, 1000));
    const { status, html } = await operator.get('/admin/snapshots');
    await writeFile(log, text);
    expect([status, rows(html)]).toEqual([200, []]);
    expect(html).toContain('No snapshots.');
  });
});
