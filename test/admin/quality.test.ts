/** The page of the quality report: what it lists and marks, and that its rows decide findings. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import { decideFindings } from '../../build/quality/findings.ts';
import { loadDecisions } from '../../data/curated/curated.ts';
import { Problems } from '../../data/curated/table.ts';
import { QUALITY_DECISION_COLUMNS, type QualityFinding } from '../../data/schema/quality.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { stopAfterTests } from '../after-tests.ts';
import { startAdmin, wordsOf } from './harness.ts';
import { ACCEPTED, LAPSED, OPEN, SERIES, UNPUBLISHED } from './quality-findings.ts';

const service = await stopAfterTests(startAdmin());
const operator = await service.signedIn();
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

  it('gives each open finding a row that decides it, once decision and reason are filled in', async () => {
    const { html } = await operator.get('/admin/quality');
    const rows = [...html.matchAll(/<\/summary><code>(.*?)<\/code>/g)].map(([, row = '']) => row);
    expect(rows).toHaveLength(3);
    const read = async (lines: readonly string[]) => {
      const directory = await mkdtemp(join(tmpdir(), 'alm-quality-'));
      const file = join(directory, 'quality-decisions.csv');
      await writeFile(file, [QUALITY_DECISION_COLUMNS.join(), ...lines, ''].join('\n'));
      const problems = new Problems();
      const decisions = await loadDecisions(file, new Set(['alpha', 'beta']), problems);
      await rm(directory, { recursive: true });
      return { decisions, problems };
    };
    const completed = rows.map((row) => row.replace(/,,([^,]*,[^,]*),$/, ',accept,$1,It is so.'));
    const { decisions, problems } = await read(completed);
    problems.throwIfAny();
    const decided = decideFindings({
      doubts: [OPEN, LAPSED, UNPUBLISHED],
      decisions,
      series: new Set(),
      wholeProviders: new Set(),
      before: null,
      earlier: [],
      now: OPEN.first_seen,
    });
    expect(decided.findings.map(({ decision, reason }) => [decision, reason])).toEqual(
      Array.from({ length: 3 }, () => ['accept', 'It is so.']),
    );
    expect(() => problems.throwIfAny()).not.toThrow();
    const unfilled = await read(rows);
    expect(() => unfilled.problems.throwIfAny()).toThrow(/decision: .*\n.*reason: /);
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
