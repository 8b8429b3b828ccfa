/** Pages and forms for indicators, runs and snapshots. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import { emptyRecord } from '../../build/lake/provider-lake.ts';
import { JobService } from '../../data/runtime/jobs.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { parseOverrides } from '../../data/schema/operator-changes.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { NOON, tokenOf, useAdmin, wordsOf } from './harness.ts';

const recordOf = (provider_id: string, run_id: string, more: Partial<RunRecord> = {}): RunRecord => ({
  ...emptyRecord(run_id, provider_id, NOON - 60_000),
  ...more,
});

const service = await useAdmin();
const operator = await service.signedIn();

describe('indicators', () => {
  let id: string;
  beforeAll(async () => {
    const [, first = ''] = (await operator.get('/admin/indicators?format=csv')).html.split('\r\n');
    id = first.split(',')[0] ?? '';
  });

  const states = async (query: string) =>
    (await operator.get(`/admin/indicators?${query}&format=csv`)).html.trim().split('\r\n').slice(1);
  const rebuilds = () => service.client.exists(`${redisKeys.jobs}:publish:de:rebuild`);
  const overrides = async () => parseOverrides(await service.client.hgetall('overrides')).get(id);

  it('GET /admin/indicators: filters by text, topic, provider and state', async () => {
    const all = await states('');
    expect(all.length).toBeGreaterThan(5);
    expect(await states(`q=${id.toUpperCase()}`)).toHaveLength(1);
    expect(await states('state=disabled')).toEqual([]);
    const [provider = ''] = id.split('.');
    const ofProvider = await states(`provider=${provider}`);
    expect(ofProvider.every((line) => line.startsWith(`${provider}.`))).toBe(true);
    expect(ofProvider.length).toBeLessThan(all.length);
    expect((await states('topic=economy')).every((line) => line.includes(',economy,'))).toBe(true);
    expect((await operator.get('/admin/indicators/none.such')).status).toBe(404);
  });

  it('GET /admin/indicators: names whose terms withhold an indicator', async () => {
    const texts = { unit: '', topic: 'health', provider: 'atlas', why: 'not redistributable' };
    const lists = [
      { id: 'atlas.cases', name: 'Cases', ...texts, detail: 'Health <b>Office</b>: CC BY-NC 4.0' },
      { id: 'atlas.deaths', name: 'Deaths', ...texts },
    ];
    await service.client.set(redisKeys.excluded, JSON.stringify(lists));
    expect(await states('state=not+redistributable')).toEqual([
      'atlas.cases,Cases,,,health,atlas,not redistributable,Health <b>Office</b>: CC BY-NC 4.0',
      'atlas.deaths,Deaths,,,health,atlas,not redistributable,',
    ]);
    const { html } = await operator.get('/admin/indicators?q=cases');
    expect(html).toContain('Health &lt;b&gt;Office&lt;/b&gt;: CC BY-NC 4.0');
    await service.client.del(redisKeys.excluded);
  });

  it('POST /admin/indicators/{indicator_id}/toggle: unpublishes and publishes, queues a rebuild, ignores a repeated form', async () => {
    expect(await rebuilds()).toBe(0);
    const path = `/admin/indicators/${id}`;
    const asked = await operator.get(`${path}/toggle?to=disabled`);
    expect(wordsOf(asked)).toContain(
      'Removes the indicator, its values and its rankings from every public route',
    );
    const unexplained = await operator.submit(path, `${path}/toggle`, { to: 'disabled' });
    expect([unexplained.status, wordsOf(unexplained)]).toEqual([
      422,
      expect.stringContaining('Give a reason.'),
    ]);
    expect(await overrides()).toBeUndefined();
    const off = () =>
      operator.submit(path, `${path}/toggle`, { to: 'disabled', reason: 'licence withdrawn' });
    expect((await off()).status).toBe(303);
    expect((await off()).status).toBe(303);
    expect(await overrides()).toEqual({ enabled: false });
    expect(await rebuilds()).toBe(1);
    expect(await states('state=disabled')).toHaveLength(1);
    expect(await states('state=unpublished')).toHaveLength(1);
    await operator.submit(path, `${path}/toggle`, {});
    expect(await overrides()).toBeUndefined();
    const log = await operator.get('/admin/audit?format=csv');
    expect(log.html).toContain('licence withdrawn');
    expect(log.html.match(/indicator\.(dis|en)able/g)).toEqual(['indicator.enable', 'indicator.disable']);
  });

  it('POST /admin/indicators/{indicator_id}: stores only fields that differ, shows the edit, can be undone', async () => {
    const path = `/admin/indicators/${id}`;
    const { html } = await operator.get(path);
    const field = (name: string): string =>
      new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
    const description = /<textarea[^>]*>([^<]*)</.exec(html)?.[1] ?? '';
    const before = { name: field('name'), description, unit: field('unit') };
    await operator.submit(path, path, { ...before, name: 'Better <i>name</i>' });
    expect(await overrides()).toEqual({ name: 'Better <i>name</i>' });
    const edited = await operator.get(path);
    expect(edited.html).toContain('name: ');
    expect(edited.html).toContain('→ Better &lt;i&gt;name&lt;/i&gt;');
    await operator.submit(path, `${path}/toggle`, { to: 'disabled', reason: 'under review' });
    expect(await overrides()).toEqual({ name: 'Better <i>name</i>', enabled: false });
    await operator.submit(path, `${path}/toggle`, { to: 'enabled' });
    await operator.submit(path, path, before);
    expect(await overrides()).toBeUndefined();
    const blank = await operator.submit(path, path, { name: ' ', description: 'kept', unit: 'kept too' });
    expect([blank.status, blank.html.includes('kept too')]).toEqual([422, true]);
  });
});

describe('runs', () => {
  let reporter: RunReporter;
  beforeAll(() => {
    reporter = new RunReporter(service.client, () => service.clock.ms);
  });
  afterAll(() => reporter.close());

  it('GET /admin/runs: shows progress of running runs and marks crashed runs as failed', async () => {
    const crashed = new RunReporter(service.client, () => service.clock.ms);
    crashed.onRun(recordOf('gapminder', '20261121T115900Z'));
    const progress = { task: 'ingest gapminder', step: 'reading', done: 21, total: 84, unit: 'indicators' };
    crashed.onProgress(progress);
    await crashed.flush();
    const live = await operator.get('/admin/runs');
    expect(wordsOf(live)).toContain('reading: 21 of 84 indicators');
    expect(live.headers.refresh).toBeUndefined();
    expect(live.html).toContain('href="/admin/runs?follow=yes"');
    expect((await operator.get('/admin/runs?follow=yes')).headers.refresh).toBe('3');
    expect(wordsOf(await operator.get('/admin/'))).toContain('reading: 21 of 84 indicators');
    await crashed.close();
    service.clock.ms += 60_000;
    const later = await operator.get('/admin/runs/gapminder/20261121T115900Z?follow=yes');
    expect(wordsOf(later)).toContain('failed The process that ran it has ended.');
    expect(later.headers.refresh).toBeUndefined();
    service.clock.ms = NOON;
  });

  it('GET /admin/runs/{subject}/{run}: shows rows, rejects by reason with samples, and the log', async () => {
    const rejects = { unknown_place: { rows: 3, distinct: 2, samples: ['<script>1</script>', 'Atlantis'] } };
    const finished_at = formatTimestamp(NOON);
    reporter.onRun(
      recordOf('undp', 'r1', {
        status: 'suspicious',
        finished_at,
        rows_written: 77,
        rows_read: 92,
        empty_cells: 1_234,
        lost_places: [{ place: 'Itally <i>', iso3: 'ITA', name: 'Italy' }],
        unused_settings: ['indicators: there is no series "gni"; the nearest is "gii"'],
        rejects,
        failed_indicators: [{ slug: 'gii', reason: 'cut off', rows: 12 }],
        reason: 'rows fell',
        revisions: { added: 4, changed: 3, removed: 2, restored: 1, indicators: [] },
        sources: {
          run_id: 'r0',
          files: 21,
          bytes: 4_200_000,
          digest: 'd'.repeat(64),
          first: [
            {
              url: 'https://undp.example/hdi.csv?a=<b>',
              sha256: 'e3'.repeat(32),
              bytes: 1_500_000,
              fetched_at: finished_at,
            },
          ],
        },
      }),
    );
    reporter.write(
      JSON.stringify({
        time: '2026-11-21T12:00:00Z',
        level: 30,
        run: 'r1',
        provider: 'undp',
        msg: 'read <b>it</b>',
      }),
    );
    await reporter.flush();
    const page = await operator.get('/admin/runs/undp/r1');
    const expected = ['rows fell', 'Rows written 77', 'Rows read 92', 'Rows of failed series 12'];
    expected.push('unknown_place: 3 rows, 2 distinct', 'Atlantis', 'gii : cut off (12 rows not published)');
    expected.push('Empty cells 1,234', 'Itally &lt;i&gt; : Italy?');
    expected.push('indicators: there is no series &quot;gni&quot;; the nearest is &quot;gii&quot;');
    expected.push('4 values added, 3 changed, 2 removed, 1 restored');
    expected.push(
      '21 files, 4.2 MB, unchanged since run r0 . These are the first 1; all are in sources.parquet',
    );
    expected.push('https://undp.example/hdi.csv?a=&lt;b&gt; 1.5 MB 2026-11-21 12:00', 'e3'.repeat(32));
    for (const words of expected) expect(wordsOf(page)).toContain(words);
    expect(page.html).toContain('href="/admin/runs/undp/r0"');
    expect(page.html).toContain('&lt;script&gt;1&lt;/script&gt;');
    expect(page.html).toContain('read &lt;b&gt;it&lt;/b&gt;');
    expect((await operator.get('/admin/runs/undp/none')).status).toBe(404);
    expect((await operator.get('/admin/runs?format=csv')).html).toContain('undp,r1,suspicious');
  });

  it('POST /admin/providers/{provider_id}/rerun: never queues a provider twice', async () => {
    const rerun = (provider: string) => operator.submit('/admin/', `/admin/providers/${provider}/rerun`, {});
    const notice = async () => wordsOf(await operator.get('/admin/audit'));
    await rerun('world-bank');
    expect(await notice()).toContain('world-bank is queued');
    await rerun('world-bank');
    expect(await notice()).toContain('world-bank is already queued');
    reporter.onRun(recordOf('imf', 'r2'));
    await reporter.flush();
    await rerun('imf');
    expect(await notice()).toContain('imf is already running; nothing was started');
    expect((await rerun('nobody')).status).toBe(404);
    const audit = await operator.get('/admin/audit?format=csv');
    expect(audit.html.match(/provider\.rerun/g)).toHaveLength(1);
  });

  it('POST …/accept accepts only held runs, POST …/cancel stops only running ones', async () => {
    const post = (path: string) => operator.submit('/admin/', path, { reason: 'because' });
    expect((await post('/admin/runs/undp/r1/accept')).status).toBe(303);
    expect((await post('/admin/runs/imf/r2/accept')).status).toBe(409);
    await post('/admin/runs/imf/r2/cancel');
    expect(await service.client.get(redisKeys.runCancel('imf', 'r2'))).toBe('operator@example.org');
    await post('/admin/runs/undp/r1/cancel');
    expect(await service.client.get(redisKeys.runCancel('undp', 'r1'))).toBeNull();
  });

  it('POST /admin/snapshots/{id}/rollback: rolls back to a published snapshot only', async () => {
    const _csrf = tokenOf(await operator.get('/admin/runs'));
    const roll = (id: string) =>
      operator.post(`/admin/snapshots/${encodeURIComponent(id)}/rollback`, { _csrf, reason: 'r' });
    expect((await roll('20200101T000000Z-00000000')).status).toBe(404);
    expect((await roll('../../etc')).status).toBe(404);
    const [id = ''] = /\d{8}T\d{6}Z-[0-9a-f]{8}/.exec((await operator.get('/admin/snapshots')).html) ?? [];
    expect((await roll(id)).status).toBe(303);
    const jobs = new JobService(service.client, () => service.clock.ms);
    expect((await jobs.rollback(id)).state).toBe('waiting');
    await jobs.close();
  });
});
