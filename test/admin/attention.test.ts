/** The dashboard's list "Needs attention": what it shows, since when, how bad, and where it is dealt with. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'bullmq';
import { afterAll, describe, expect, it } from 'vitest';
import { SEVERITIES } from '../../admin/attention/item.ts';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import { emptyRecord } from '../../build/lake/provider-lake.ts';
import { loadCurated } from '../../data/curated/curated.ts';
import { JobService } from '../../data/runtime/jobs.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { DAY_MS, redisKeys } from '../../data/schema/redis-keys.ts';
import type { FixtureIndicator } from '../gateway/fixture-data.ts';
import { publishFixture } from '../gateway/fixture-snapshot.ts';
import { startAdmin, wordsOf } from './harness.ts';

const severities: readonly string[] = SEVERITIES;
const HOUR_MS = 3_600_000;

const featured = (id: string, year: number): FixtureIndicator => ({
  id,
  name: `Name of ${id}`,
  topic: 'economy',
  featured: true,
  rows: [{ iso3: 'DEU', year, value: 1 }],
});
const FRESH = featured('alpha.fresh', 2025);

const directory = await mkdtemp(join(tmpdir(), 'alm-attention-'));
await publishFixture(directory, { indicators: [FRESH] });
const service = await startAdmin({ SNAPSHOT_DIR: directory });
let operator = await service.signedIn();
const reporter = new RunReporter(service.client, () => service.clock.ms);
const curated = await loadCurated(join(import.meta.dirname, '../../data'));
const providers = [...curated.providers.values()].filter(({ enabled }) => enabled).map(({ id }) => id);
let runs = 0;

afterAll(async () => {
  await reporter.close();
  await service.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Reports a run that has just ended. @returns its id */
async function report(provider: string, more: Partial<RunRecord> = {}): Promise<string> {
  runs += 1;
  service.clock.ms += 1_000;
  const id = `r${String(runs).padStart(3, '0')}`;
  reporter.onRun({
    ...emptyRecord(id, provider, service.clock.ms),
    status: 'succeeded',
    finished_at: formatTimestamp(service.clock.ms),
    newest_year: 2025,
    ...more,
  });
  await reporter.flush();
  return id;
}

interface Finding {
  severity: string;
  what: string;
  since: string | null;
  href: string;
}

/** The list as the page shows it. */
async function findings(): Promise<Finding[]> {
  const { html } = await operator.get('/admin/');
  const section = html.split('id="attention"')[1]?.split('</section>')[0] ?? '';
  return [...section.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].slice(1).map(([, row = '']) => ({
    severity: /class="state state-(\w+)"/.exec(row)?.[1] ?? '',
    what: wordsOf({ html: /<th[^>]*>([\s\S]*?)<\/th>/.exec(row)?.[1] ?? '', ...NO_PAGE }),
    since: /datetime="([^"]*)"/.exec(row)?.[1] ?? null,
    href: (/href="([^"]*)"/.exec(row)?.[1] ?? '').replaceAll('&amp;', '&'),
  }));
}
const NO_PAGE = { status: 200, headers: {}, location: '' };

const about = async (text: string): Promise<Finding[]> =>
  (await findings()).filter(({ what }) => what.includes(text));
const iso = (ms: number): string => new Date(ms).toISOString();
const now = (): string => iso(Math.floor(service.clock.ms / 1000) * 1000);

describe('Needs attention', () => {
  it('counts a run of the starter data as no read, and the page of the run says what it read', async () => {
    const before = await findings();
    const id = await report('undp', { starter: true });
    expect(await findings()).toEqual(before);
    expect(wordsOf(await operator.get(`/admin/runs/undp/${id}`))).toContain('Read from the starter data');
  });

  it('names providers that were never read, and says plainly when nothing needs attention', async () => {
    expect(await findings()).toMatchObject([
      { severity: 'notice', what: expect.stringMatching(/^\d+ providers were never read: /) },
    ]);
    for (const provider of providers) await report(provider);
    const words = wordsOf(await operator.get('/admin/'));
    expect(words).toContain('Nothing needs attention. There are no failed runs');
    expect(await findings()).toEqual([]);
  });

  it('shows failed series until a run reads them again, and since when they fail', async () => {
    const slugs = Array.from({ length: 12 }, (_, index) => `series_${index}`);
    const failed_indicators = slugs.map((slug) => ({ slug, reason: `${slug} was cut off`, rows: 3 }));
    const carried_indicators = slugs.slice(0, 2);
    await report('undp', { failed_indicators });
    const since = now();
    const id = await report('undp', { failed_indicators, carried_indicators });
    const finding = {
      severity: 'warning',
      what: expect.stringMatching(
        /^12 series of United Nations .* failed: series_0, .* and 7 more\. 2 of them/,
      ),
      since,
      href: `/admin/runs/undp/${id}#failed-series`,
    };
    expect(await findings()).toEqual([finding]);
    expect(wordsOf(await operator.get('/admin/runs'))).toContain('succeeded with 12 failed series');
    const page = wordsOf(await operator.get(`/admin/runs/undp/${id}`));
    expect(page).toContain('succeeded with 12 failed series');
    for (const slug of slugs) expect(page).toContain(`${slug} : ${slug} was cut off (3 rows not published)`);
    expect(page.match(/values of the last successful run stay published/g)).toHaveLength(2);
    expect((await operator.get('/admin/runs?format=csv')).html).toMatch(
      new RegExp(`undp,${id},succeeded,.*,12\\r`),
    );
    // Nothing was fetched, so the failed series are still those of the run before.
    await report('undp', { status: 'unchanged' });
    expect(await findings()).toEqual([finding]);
    await report('undp');
    expect(await findings()).toEqual([]);
  });

  it('shows held and failed runs with their reasons, until a good run', async () => {
    const held = await report('undp', { status: 'suspicious', reason: 'Held: gii: newest year went back.' });
    expect(await findings()).toMatchObject([
      {
        severity: 'warning',
        what: expect.stringContaining('newest year went back'),
        href: `/admin/runs/undp/${held}`,
      },
    ]);
    expect(wordsOf(await operator.get('/admin/runs'))).toContain('held');
    await report('undp', { status: 'failed', reason: 'HTTP 503' });
    await report('undp', { status: 'cancelled' });
    expect(await findings()).toMatchObject([
      {
        severity: 'warning',
        what: expect.stringMatching(/^The last run of United Nations .* failed: HTTP 503/),
      },
    ]);
    await report('undp');
    expect(await findings()).toEqual([]);
  });

  it('judges freshness by the newest year, too', async () => {
    await report('imf', { newest_year: 2019 });
    expect(await findings()).toEqual([
      {
        severity: 'warning',
        what: 'The newest year of International Monetary Fund is 2019, though its runs succeed.',
        since: '2023-01-01T00:00:00.000Z',
        href: '/admin/runs?subject=imf',
      },
    ]);
    expect(wordsOf(await operator.get('/admin/runs'))).toMatch(
      /International Monetary Fund twice a year outdated/,
    );
    await report('imf', { newest_year: 2023 });
    expect(await findings()).toEqual([]);
    service.clock.ms += 20 * DAY_MS;
    operator = await service.signedIn();
    expect(await findings()).toMatchObject([
      { what: 'Our World in Data has had no successful run for too long, though it publishes weekly.' },
    ]);
    await report('owid');
    expect(await findings()).toEqual([]);
  });

  it('shows stale featured series by provider, and not those that are not featured', async () => {
    const stale = [featured('beta.stale', 2019), featured('beta.older', 2015)];
    const hidden = { ...featured('beta.hidden', 2010), featured: false };
    await publishFixture(directory, {
      id: '20261120T020000Z-00000002',
      indicators: [FRESH, ...stale, hidden],
    });
    await service.snapshots.check();
    const [found, ...more] = await findings();
    expect(more).toEqual([]);
    expect(found).toMatchObject({ severity: 'notice', since: '2023-01-01T00:00:00.000Z' });
    expect(found?.what).toMatch(/^2 featured series of .* end in 2019 or earlier: .*beta\.stale \(2019\)/);
    expect(found?.what).not.toContain('hidden');
    const { html } = await operator.get(`${found?.href}&format=csv`);
    expect(html.trim().split('\r\n').slice(1)).toHaveLength(2);
    await publishFixture(directory, { id: '20261120T020000Z-00000003', indicators: [FRESH] });
    await service.snapshots.check();
    expect(await findings()).toEqual([]);
  });

  it('shows rows that were rejected for their quality', async () => {
    const sample = { samples: ['Atlantis', 'Mu'], distinct: 2 };
    const rejects = { unknown_place: { rows: 30, ...sample }, aggregate_place: { rows: 400, ...sample } };
    const id = await report('undp', { rejects });
    expect(await findings()).toMatchObject([
      {
        severity: 'notice',
        what: expect.stringMatching(/^30 rows of .* with places that no table maps: Atlantis, Mu\.$/),
        href: `/admin/runs/undp/${id}#rejected`,
      },
    ]);
    await report('undp');
  });

  it('shows failed jobs until they succeed', async () => {
    const jobs = new JobService(service.client, () => service.clock.ms);
    const workerOf = (queue: string, fail: boolean) =>
      new Worker(
        queue,
        async () => {
          if (fail) throw new Error('disk full');
        },
        { connection: service.client, prefix: redisKeys.jobs, stalledInterval: 1_000 },
      );
    const runOne = async (fail: boolean): Promise<void> => {
      const worker = workerOf('ingest', fail);
      const ended = new Promise((resolve) => worker.once(fail ? 'failed' : 'completed', resolve));
      await jobs.ingest('undp', { by: 'test' });
      await ended;
      await worker.close();
    };
    await runOne(true);
    expect(await findings()).toMatchObject([
      {
        severity: 'warning',
        what: 'The job ingest of undp failed: disk full.',
        href: '/admin/runs?subject=undp',
      },
    ]);
    await runOne(false);
    expect(await findings()).toEqual([]);
    await jobs.close();
  });

  it('shows open invoices and privacy requests, worse with age', async () => {
    const { account_id } = await service.accounts.create({
      email: 'ann@example.org',
      verified: true,
      by: 'test',
    });
    const { order_id } = await service.accounts.orders.create(account_id, 'starter');
    await service.accounts.orders.create(account_id, 'starter', 'stripe');
    const { request_id } = await service.requests.open(account_id, 'erasure');
    const ordered = iso(service.clock.ms);
    const request = (severity: string, days: string) => ({
      severity,
      what: `The erasure request of ${account_id} has been open for ${days}.`,
      since: ordered,
      href: '/admin/gdpr',
    });
    const invoice = (severity: string, state: string) => ({
      severity,
      what: `Invoice 2026-000001 over 9.00 EUR is ${state}.`,
      since: ordered,
      href: '/admin/orders?status=pending',
    });
    expect(await about('acc_')).toEqual([request('notice', '0 days')]);
    expect(await about('Invoice')).toEqual([invoice('notice', 'open')]);
    for (const [days, severity] of [
      [7, 'warning'],
      [25, 'critical'],
    ] as const) {
      service.clock.ms = Date.parse(ordered) + days * DAY_MS + HOUR_MS;
      operator = await service.signedIn();
      expect(await about('acc_')).toEqual([request(severity, `${days} days`)]);
    }
    service.clock.ms += 10 * DAY_MS;
    operator = await service.signedIn();
    expect(await about('Invoice')).toEqual([invoice('warning', 'overdue')]);
    await service.requests.fail(request_id, { by: 'test' });
    await service.accounts.orders.move(order_id, 'cancelled');
    expect(await about('acc_')).toEqual([]);
    expect(await about('Invoice')).toEqual([]);
  });

  it('shows books that disagree, worst first, and what cannot be checked', async () => {
    const { account_id } = await service.accounts.create({
      email: 'ben@example.org',
      credits: 100,
      verified: true,
      by: 'test',
    });
    await service.client.hincrby(redisKeys.account(account_id), 'balance', 25);
    await service.client.hincrby(redisKeys.account(account_id), 'granted', 25);
    service.clock.ms += DAY_MS;
    operator = await service.signedIn();
    await report('undp', { failed_indicators: [{ slug: 'gii', reason: 'cut off', rows: 0 }] });
    await operator.get('/admin/reconcile');
    await service.client.zadd(redisKeys.orders, 1, 'ord_of_no_account');
    expect(wordsOf(await operator.get('/admin/'))).toContain('The orders cannot be read.');
    const all = await findings();
    expect(all.map(({ what }) => what)).toEqual(
      expect.arrayContaining([
        'Accounts do not reconcile: 1 discrepancy (ben@example.org).',
        'It cannot be checked whether there are open invoices. The service log says why.',
        expect.stringContaining('1 series of United Nations'),
      ]),
    );
    const ranks = all.map(({ severity }) => severities.indexOf(severity));
    expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
    for (const [, group] of Map.groupBy(all, ({ severity }) => severity)) {
      const times = group.flatMap(({ since }) => (since === null ? [] : [since]));
      expect(times).toEqual(times.toSorted());
    }
  });

  it('says that the books cannot be compared, until they can', async () => {
    const { account_id } = await service.accounts.create({ email: 'eve@example.org', by: 'test' });
    const ledger = redisKeys.ledger(account_id);
    await service.client.set(ledger, 'no stream');
    await operator.get('/admin/reconcile');
    const books = () => about('The books cannot be compared');
    expect(await books()).toMatchObject([{ severity: 'critical', href: '/admin/reconcile' }]);
    await service.client.del(ledger);
    await operator.get('/admin/reconcile');
    expect(await books()).toEqual([]);
  });
});
