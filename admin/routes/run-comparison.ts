/** Two runs of a provider side by side: figures, series, rejected rows, failed series and log lines. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RunLogLine } from '../../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../data/schema/jobs.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { PageError, parseFields, textField } from '../../gateway/web/forms.ts';
import type { AdminArea } from '../context.ts';
import { findRun, RUNS_PATH, summariseRun } from './runs.ts';

const PATH = `${RUNS_PATH}/compare`;
/** Runs that can be chosen. */
const CHOICES = 100;

const query = z.object({ subject: textField(100), before: textField(50), after: textField(50) });

/**
 * Runs of a provider, and which two are chosen: by default the newest, and the one before the later.
 * @param runs newest first
 * @returns null with fewer than two runs
 */
export function runChoice(subject: string, runs: readonly StoredRun[], chosen = { before: '', after: '' }) {
  const ids = runs.map(({ run_id }) => run_id);
  const [newest = ''] = ids;
  const after = chosen.after || newest;
  const at = ids.indexOf(after);
  const neighbour = ids[at + 1] ?? ids[at - 1];
  if (neighbour === undefined) return null;
  return {
    action: PATH,
    subject,
    after,
    before: chosen.before || neighbour,
    runs: runs.map(({ run_id, status, started_at }) => ({
      run_id,
      label: `${run_id}: ${started_at.slice(0, 19).replace('T', ' ')}, ${status}`,
    })),
  };
}

export function runComparisonRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('run-comparison.njk');

  /** A run that found upstream unchanged wrote nothing: its series are those of the good run before it. */
  async function seriesOf(run: StoredRun, all: readonly StoredRun[]): Promise<RunSeries | null> {
    const wrote =
      run.status === 'unchanged'
        ? all.find(({ status, started_at }) => status === 'succeeded' && started_at < run.started_at)
        : run;
    return wrote
      ? readRunSeries(area.settings.LAKE_DIR, { provider: run.subject, run_id: wrote.run_id })
      : null;
  }

  scope.get('/runs/compare', async (request, reply) => {
    const { subject, ...chosen } = parseFields(query, request.query);
    if (subject === SNAPSHOT_SUBJECT || !(await area.providers()).has(subject))
      throw new PageError(404, `There is no provider ${subject}.`);
    const { runs: all } = await area.runs.list({ subject, limit: CHOICES });
    const choice = runChoice(subject, all, chosen);
    if (choice === null) throw new PageError(404, `${subject} has fewer than two runs.`);
    if (choice.before === choice.after) throw new PageError(422, 'Choose two different runs.');
    const two = await Promise.all([choice.before, choice.after].map((id) => findRun(area.runs, subject, id)));
    const [before, after] = two.toSorted((a, b) => (a.started_at < b.started_at ? -1 : 1));
    if (!before || !after) throw new PageError(404, `${subject} has fewer than two runs.`);
    const [old, recent] = await Promise.all([seriesOf(before, all), seriesOf(after, all)]);
    return view(reply, `Runs of ${subject} compared`, {
      choice: { ...choice, before: before.run_id, after: after.run_id },
      before: summariseRun(before, area.now()),
      after: summariseRun(after, area.now()),
      vintages: { before: before.record?.vintage ?? '–', after: after.record?.vintage ?? '–' },
      figures: compareFigures(before, after),
      series: old && recent && compareSeries(old, recent),
      failures: compareFailures(before, after),
      rejects: compareRejects(before, after),
      log: compareLogs(
        await area.runs.log(subject, before.run_id),
        await area.runs.log(subject, after.run_id),
      ),
    });
  });
}

/** `series.json` of a run, by slug. */
const seriesFile = z.record(
  z.string(),
  z.object({
    rows: z.int(),
    /** Digest of the rows. */
    digest: z.string(),
  }),
);
type RunSeries = z.infer<typeof seriesFile>;

/** Null when the lake does not have it here. @param run of a provider that the run store knows */
async function readRunSeries(
  lakeDir: string,
  { provider, run_id }: { provider: string; run_id: string },
): Promise<RunSeries | null> {
  const text = await readFile(join(lakeDir, provider, run_id, 'series.json'), 'utf8').catch(() => null);
  return text === null ? null : (seriesFile.safeParse(JSON.parse(text)).data ?? null);
}

const durationOf = ({ started_at, finished_at }: StoredRun): number | null =>
  finished_at === null ? null : Date.parse(finished_at) - Date.parse(started_at);

const rejectedRows = (record: RunRecord): number =>
  Object.values(record.rejects).reduce((sum, { rows }) => sum + rows, 0);

const FIGURES: readonly [
  label: string,
  kind: 'count' | 'bytes' | 'span' | 'year',
  read: (record: RunRecord, run: StoredRun) => number | null | undefined,
][] = [
  ['Duration', 'span', (_, run) => durationOf(run)],
  ['Rows written', 'count', ({ rows_written }) => rows_written],
  ['Rows read', 'count', ({ rows_read }) => rows_read],
  ['Empty cells', 'count', ({ empty_cells }) => empty_cells],
  ['Rows rejected', 'count', rejectedRows],
  ['Kept from an earlier run', 'count', ({ rows_carried }) => rows_carried ?? 0],
  ['Indicators', 'count', ({ indicators }) => indicators],
  ['Failed series', 'count', ({ failed_indicators }) => failed_indicators.length],
  ['Countries', 'count', ({ countries }) => countries],
  ['Newest year', 'year', ({ newest_year }) => newest_year],
  ['Upstream files', 'count', ({ sources }) => sources?.files],
  ['Downloaded', 'bytes', ({ bytes }) => bytes],
];

/** Numbers of both runs; null where a run does not have one. */
const compareFigures = (before: StoredRun, after: StoredRun) =>
  FIGURES.map(([label, kind, read]) => {
    const of = (run: StoredRun): number | null => (run.record && read(run.record, run)) ?? null;
    return { label, kind, before: of(before), after: of(after) };
  });

/** What either run has, by key. @returns each key with both values; undefined where a run does not have it */
const paired = <Value>(before: ReadonlyMap<string, Value>, after: ReadonlyMap<string, Value>) =>
  [...new Set([...before.keys(), ...after.keys()])].map((key) => ({
    key,
    old: before.get(key),
    recent: after.get(key),
  }));

/** By slug; `changed` are those whose rows differ. */
function compareSeries(before: RunSeries, after: RunSeries) {
  const pairs = paired(new Map(Object.entries(before)), new Map(Object.entries(after)));
  const rows = pairs.sort(byKey).map(({ key: slug, old, recent }) => ({
    change: { slug, rowsBefore: old?.rows ?? 0, rowsAfter: recent?.rows ?? 0 },
    state: !old ? 'added' : !recent ? 'removed' : old.digest === recent.digest ? 'unchanged' : 'changed',
  }));
  const select = (wanted: string) => rows.filter(({ state }) => state === wanted).map(({ change }) => change);
  return {
    added: select('added'),
    removed: select('removed'),
    changed: select('changed'),
    unchanged: select('unchanged').length,
  };
}

/** By reason; of the samples that a run keeps, those that only this run has. */
const compareRejects = (before: StoredRun, after: StoredRun) =>
  paired(rejectsOf(before), rejectsOf(after))
    .sort(byKey)
    .map(({ key: reason, old, recent }) => ({
      reason,
      rowsBefore: old?.rows ?? 0,
      rowsAfter: recent?.rows ?? 0,
      onlyBefore: without(old?.samples ?? [], recent?.samples ?? []),
      onlyAfter: without(recent?.samples ?? [], old?.samples ?? []),
    }));

const byKey = (a: { key: string }, b: { key: string }): number => (a.key < b.key ? -1 : 1);
const rejectsOf = ({ record }: StoredRun) => new Map(Object.entries(record?.rejects ?? {}));
const without = (from: readonly string[], other: readonly string[]): string[] =>
  from.filter((one) => !other.includes(one));

/** Slugs of series that failed in one of the runs only. */
function compareFailures(before: StoredRun, after: StoredRun) {
  const slugsOf = ({ record }: StoredRun): string[] =>
    (record?.failed_indicators ?? []).map(({ slug }) => slug).sort();
  const [old, recent] = [slugsOf(before), slugsOf(after)];
  return { mended: without(old, recent), failed: without(recent, old) };
}

/** Messages that one run logged more often than the other, in the order in which they first appear. */
export function compareLogs(before: readonly RunLogLine[], after: readonly RunLogLine[]) {
  const count = (lines: readonly RunLogLine[]): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const { msg = '' } of lines) counts.set(msg, (counts.get(msg) ?? 0) + 1);
    return counts;
  };
  return paired(count(before), count(after))
    .map(({ key, old = 0, recent = 0 }) => ({ message: key, before: old, after: recent }))
    .filter((line) => line.before !== line.after);
}
