/** The page of the quality report: what it lists, marks and groups, and what decisions and snoozes made there do. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import { decideFindings } from '../../build/quality/findings.ts';
import { loadDecisions } from '../../build/runtime/redis-connection.ts';
import type { QualityFinding } from '../../data/schema/quality.ts';
import { DAY_MS, redisKeys } from '../../data/schema/redis-keys.ts';
import { useDirectory } from '../after-tests.ts';
import { silentLog } from '../redis.ts';
import { useAdmin, wordsOf } from './harness.ts';
import { ACCEPTED, LAPSED, OPEN, SERIES, UNPUBLISHED } from './quality-findings.ts';

const service = await useAdmin();
let operator = await service.signedIn();
const LAKE_DIR = await useDirectory();
const reporter = new RunReporter(service.client, () => service.clock.ms);
afterAll(() => reporter.close());

async function report(...findings: QualityFinding[]): Promise<void> {
  const unused = [{ kind: 'share_out_of_range', subject: 'alpha.misspelt', other: null }];
  reporter.onQuality({ night: '2026-11-20', reported_at: '2026-11-20T02:00:00+00:00', findings, unused });
  await reporter.flush();
}

const messages = async (search: string): Promise<string[]> => {
  const { html } = await operator.get(`/admin/quality${search}`);
  return [...html.matchAll(/<th[^>]* scope="row">(.*?)<br>/g)].map(([, text = '']) => text);
};

describe('the quality page', () => {
  it('says that no build has reported yet', async () => {
    expect(wordsOf(await operator.get('/admin/quality'))).toContain('No build has reported yet.');
  });

  it('lists the findings, worst and undecided first, with change, decision and reason', async () => {
    await report(UNPUBLISHED, ACCEPTED, OPEN, LAPSED);
    expect(await messages('')).toEqual([OPEN, LAPSED, ACCEPTED, UNPUBLISHED].map(({ message }) => message));
    const words = wordsOf(await operator.get('/admin/quality'));
    expect(words).toContain('Report of 2026-11-20. Undecided: 2 errors, 1 warning, 0 notices.');
    expect(words).toContain('error new France is 120 %');
    expect(words).toMatch(/accept ?: Rounded, /);
    expect(words).toContain('Open again: decided as accept up to 1 by ada on 2026-11-19, “It never had it.”');
    expect(words).toContain('Decisions that match no finding share_out_of_range of alpha.misspelt');
  });

  it.each([
    ['severity=warning', [UNPUBLISHED]],
    ['kind=provider_places_lost', [LAPSED]],
    ['provider=beta', [ACCEPTED]],
    ['state=open', [OPEN, LAPSED, UNPUBLISHED]],
    ['state=lapsed', [LAPSED]],
    ['state=changed', [OPEN, LAPSED]],
    ['state=accept', [ACCEPTED]],
    ['state=fix', []],
    ['limit=1&offset=1', [LAPSED]],
  ])('filters by %s', async (search, expected) => {
    expect(await messages(`?${search}`)).toEqual(expected.map(({ message }) => message));
  });

  it('links series that are published', async () => {
    const { html } = await operator.get('/admin/quality');
    expect(html).toContain(`href="/admin/indicators/${SERIES}"`);
    expect(html).not.toContain('href="/admin/indicators/alpha.broken"');
  });

  it('exports what is filtered', async () => {
    const { html } = await operator.get('/admin/quality?state=accept&format=csv');
    expect(html.trim().split('\r\n')).toEqual([
      expect.stringMatching(/^id,kind,severity,provider,indicator,/),
      expect.stringContaining(',accept,"Rounded, ""at the source"".",'),
    ]);
  });

  it('puts undecided errors among what needs attention', async () => {
    const words = wordsOf(await operator.get('/admin/'));
    expect(words).toContain(`2 quality errors are undecided: ${SERIES}, alpha.`);
    await report(ACCEPTED, UNPUBLISHED);
    expect(wordsOf(await operator.get('/admin/'))).not.toContain('undecided');
  });

  it('leaves out findings of a kind that it does not know', async () => {
    const stored = { night: '2026-11-20', reported_at: OPEN.first_seen, unused: [] };
    const findings = [{ ...OPEN, kind: 'of_tomorrow' }, ACCEPTED];
    await service.client.set(redisKeys.quality, JSON.stringify({ ...stored, findings }));
    expect(await messages('')).toEqual([ACCEPTED.message]);
  });
});

const PATH = '/admin/quality/decide';

/** Decides what a search finds, as its page shows it. */
async function decide(search: string, fields: Record<string, string>) {
  const page = await operator.get(`${PATH}?${search}`);
  const [, seen = ''] = /name="seen" value="([0-9a-f]{64})"/.exec(page.html) ?? [];
  const chosen = Object.fromEntries(new URLSearchParams(search));
  return operator.submit('/admin/quality', PATH, {
    until: '',
    reason: 'It is so.',
    seen,
    ...chosen,
    ...fields,
  });
}
const open = () => messages('?state=open');
/** What a build reads. */
const rowsOfBuild = async () => (await loadDecisions(service.client, { LAKE_DIR }, silentLog)).findings;
const nightWith = async (...doubts: QualityFinding[]) =>
  decideFindings({
    doubts,
    decisions: await rowsOfBuild(),
    series: new Set(),
    wholeProviders: new Set(),
    before: null,
    earlier: [],
    now: OPEN.first_seen,
  }).findings;

describe('deciding findings', () => {
  beforeEach(async () => {
    await service.client.del(redisKeys.findingDecisions);
    await report(UNPUBLISHED, ACCEPTED, OPEN, LAPSED);
  });

  it('accepts one with a reason, at once for operators and with the next build for readers', async () => {
    expect((await decide(`id=${OPEN.id}`, { decision: 'accept' })).location).toBe('/admin/quality');
    expect(await open()).toEqual([LAPSED, UNPUBLISHED].map(({ message }) => message));
    expect(wordsOf(await operator.get('/admin/quality?state=accept'))).toMatch(/accept ?: It is so. pending/);
    expect(wordsOf(await operator.get('/admin/'))).toContain('1 quality error is undecided: alpha.');
    const [same, worse] = [await nightWith(OPEN), await nightWith({ ...OPEN, extent: OPEN.extent + 1 })];
    expect(same).toMatchObject([{ decision: 'accept', reason: 'It is so.', lapsed: null }]);
    expect(worse).toMatchObject([
      { decision: null, lapsed: { by: 'operator@example.org', on: '2026-11-21' } },
    ]);
    const subject = `indicator ${SERIES}`;
    const [entry] = (await service.audit.page({ subject })).entries;
    expect(entry).toMatchObject({
      action: 'finding.decide',
      reason: 'It is so.',
      after: { decision: 'accept' },
    });
    const obeyed = { ...OPEN, decision: 'accept' as const, reason: 'It is so.' };
    const stored = { night: '2026-11-22', reported_at: '2026-11-22T02:00:00+00:00', unused: [] };
    await service.client.set(redisKeys.quality, JSON.stringify({ ...stored, findings: [obeyed] }));
    expect(wordsOf(await operator.get('/admin/quality'))).not.toContain('pending');
    await service.client.set(redisKeys.quality, JSON.stringify({ ...stored, findings: worse }));
    expect(await open()).toHaveLength(1);
  });

  it('snoozes until the end of a day, unless it gets worse; builds are told nothing', async () => {
    const begin = service.clock.ms;
    await decide(`id=${OPEN.id}`, { decision: 'snooze', until: '2026-11-23' });
    expect(await open()).not.toContain(OPEN.message);
    expect(await messages('?state=snoozed')).toEqual([OPEN.message]);
    expect(wordsOf(await operator.get('/admin/quality'))).toContain('snoozed until 2026-11-23: It is so.');
    expect(wordsOf(await operator.get('/admin/'))).toContain('1 quality error is undecided');
    expect(await rowsOfBuild()).toEqual([]);
    await report({ ...OPEN, extent: OPEN.extent + 1 });
    expect(await open()).toEqual([OPEN.message]);
    await report(OPEN);
    for (const [days, count] of [
      [2, 0],
      [3, 1],
    ]) {
      service.clock.ms = begin + Number(days) * DAY_MS;
      operator = await service.signedIn();
      expect([days, (await open()).length]).toEqual([days, count]);
    }
    service.clock.ms = begin;
    operator = await service.signedIn();
  });

  it.each(['check', 'series'])('groups them by %s, each found and open one once', async (by) => {
    const page = await operator.get(`/admin/quality?by=${by}`);
    const groups = [...page.html.matchAll(/<tr><td data-label="Severity">.*?<\/tr>/gs)].map(([row]) => row);
    const count = (label: string) =>
      groups.reduce(
        (sum, row) => sum + Number(new RegExp(`data-label="${label}"[^>]*>(\\d+)`).exec(row)?.[1]),
        0,
      );
    expect([groups.length, count('Open'), count('Snoozed'), count('Decided')]).toEqual([4, 3, 0, 1]);
    for (const row of groups) {
      const href = /href="(\/admin\/quality\?[^"]*)"/.exec(row)?.[1]?.replaceAll('&amp;', '&') ?? '';
      const shown = await messages(href.slice('/admin/quality'.length));
      expect(shown).toHaveLength(
        ['Open', 'Snoozed', 'Decided'].reduce(
          (sum, label) => sum + Number(new RegExp(`data-label="${label}"[^>]*>(\\d+)`).exec(row)?.[1]),
          0,
        ),
      );
    }
  });

  it('decides all open ones of a group in one step, and leaves others', async () => {
    await report(OPEN, LAPSED, UNPUBLISHED, ACCEPTED);
    expect(wordsOf(await operator.get(`${PATH}?provider=alpha`))).toContain('Decide 3 findings');
    await decide('severity=error', { decision: 'fix' });
    expect(await open()).toEqual([UNPUBLISHED.message]);
    expect((await rowsOfBuild()).map(({ kind, decision }) => [kind, decision]).sort()).toEqual(
      [OPEN, LAPSED].map(({ kind }) => [kind, 'fix']).sort(),
    );
    expect(await messages('?state=accept')).toEqual([ACCEPTED.message]);
  });

  it('rebuilds for what changes the figures', async () => {
    const rebuilds = async () => (await service.audit.page({ subject: 'quality report' })).entries.length;
    const before = await rebuilds();
    await decide(`id=${OPEN.id}`, { decision: 'withhold' });
    expect(await rebuilds()).toBe(before + 1);
    expect(wordsOf(await operator.get('/admin/quality'))).toContain('The catalogue is being rebuilt');
    expect(await rowsOfBuild()).toMatchObject([{ subject: SERIES, decision: 'withhold' }]);
  });

  it.each([
    ['without a reason', `id=${OPEN.id}`, { decision: 'accept', reason: '' }, 422, 'Reason: say why.'],
    [
      'a provider to be withheld',
      `id=${LAPSED.id}`,
      { decision: 'withhold' },
      422,
      'not all of these findings can be decided as withhold',
    ],
    [
      'a snooze into the past',
      `id=${OPEN.id}`,
      { decision: 'snooze', until: '2026-11-20' },
      422,
      'Until: a day',
    ],
    ['a snooze without a day', `id=${OPEN.id}`, { decision: 'snooze' }, 422, 'Until: a day'],
    ['another word', `id=${OPEN.id}`, { decision: 'ignore' }, 422, 'one of accept'],
    ['what is not there', 'id=0000000000000000', { decision: 'accept' }, 404, 'No such finding'],
    [
      'what others have seen',
      `id=${OPEN.id}`,
      { decision: 'accept', seen: 'x' },
      409,
      'have changed meanwhile',
    ],
  ])('refuses %s', async (_, search, fields, status, problem) => {
    const page = await decide(search, fields);
    expect([page.status, wordsOf(page)]).toEqual([status, expect.stringContaining(problem)]);
    expect(await rowsOfBuild()).toEqual([]);
  });
});
