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
import { RUNS_PATH } from './run-path.ts';
import { findRun, summariseRun } from './runs.ts';

const PATH = `${RUNS_PATH}/compare`;
/** Runs that can be chosen. */
const CHOICES = 100;

const query = z.object({ subject: textField(100), before: textField(50), after: textField(50) });

/** Runs of a provider, newest first, and two that are chosen. */
export interface RunChoice {
  action: string;
  subject: string;
  runs: { run_id: string; label: string }[];
  before: string;
  after: string;
}

/**
 * Which runs are chosen: by default the newest, and the one before the later. @param runs newest first
 * @returns null with fewer than two runs
 */
export function runChoice(
  subject: string,
  runs: readonly StoredRun[],
  chosen = { before: '', after: '' },
): RunChoice | null {
  const ids = runs.map(({ run_id }) => run_id);
  const [newest = ''] = ids;
  const after = chosen.after || newest;
  const at = ids.indexOf(after);
  const neighbour = ids[at + 1] ?? ids[at - 1];
  if (neighbour === undefined) return null;
  return {
    ...{ action: PATH, subject, after, before: chosen.before || neighbour },
    runs: runs.map(({ run_id, status, started_at }) => ({
      run_id,
      label: `${started_at.slice(0, 16).replace('T', ' ')}, ${status}`,
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
    /** Of the rows. */
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

/** A number of both runs; null where a run does not have it. */
interface FigurePair {
  label: string;
  kind: 'count' | 'bytes' | 'span' | 'year';
  before: number | null;
  after: number | null;
}

const durationOf = ({ started_at, finished_at }: StoredRun): number | null =>
  finished_at === null ? null : Date.parse(finished_at) - Date.parse(started_at);

const rejectedRows = (record: RunRecord): number =>
  Object.values(record.rejects).reduce((sum, { rows }) => sum + rows, 0);

const FIGURES: readonly [
  label: string,
  kind: FigurePair['kind'],
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

const compareFigures = (before: StoredRun, after: StoredRun): FigurePair[] =>
  FIGURES.map(([label, kind, read]) => {
    const of = (run: StoredRun): number | null => (run.record && read(run.record, run)) ?? null;
    return { label, kind, before: of(before), after: of(after) };
  });

interface SeriesChange {
  slug: string;
  rowsBefore: number;
  rowsAfter: number;
}

/** By slug. */
interface SeriesComparison {
  added: SeriesChange[];
  removed: SeriesChange[];
  /** Whose rows differ. */
  changed: SeriesChange[];
  unchanged: number;
}

function compareSeries(before: RunSeries, after: RunSeries): SeriesComparison {
  const slugs = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const rows = slugs.map((slug) => ({
    change: { slug, rowsBefore: before[slug]?.rows ?? 0, rowsAfter: after[slug]?.rows ?? 0 },
    old: before[slug]?.digest,
    new: after[slug]?.digest,
  }));
  const select = (test: (row: (typeof rows)[number]) => boolean): SeriesChange[] =>
    rows.filter(test).map(({ change }) => change);
  return {
    added: select((row) => row.old === undefined),
    removed: select((row) => row.new === undefined),
    changed: select((row) => row.old !== undefined && row.new !== undefined && row.old !== row.new),
    unchanged: rows.filter((row) => row.old === row.new).length,
  };
}

interface RejectComparison {
  reason: string;
  rowsBefore: number;
  rowsAfter: number;
  /** Of the samples that a run keeps: those that only this run has. */
  onlyBefore: string[];
  onlyAfter: string[];
}

function compareRejects(before: StoredRun, after: StoredRun): RejectComparison[] {
  const [old, recent] = [rejectsOf(before), rejectsOf(after)];
  const reasons = [...new Set([...old.keys(), ...recent.keys()])].sort();
  return reasons.map((reason) => {
    const [samplesBefore, samplesAfter] = [old.get(reason)?.samples ?? [], recent.get(reason)?.samples ?? []];
    return {
      reason,
      rowsBefore: old.get(reason)?.rows ?? 0,
      rowsAfter: recent.get(reason)?.rows ?? 0,
      onlyBefore: without(samplesBefore, samplesAfter),
      onlyAfter: without(samplesAfter, samplesBefore),
    };
  });
}

const rejectsOf = ({ record }: StoredRun) => new Map(Object.entries(record?.rejects ?? {}));
const without = (from: readonly string[], other: readonly string[]): string[] =>
  from.filter((one) => !other.includes(one));

/** Slugs of series that failed in one of the runs only. */
function compareFailures(before: StoredRun, after: StoredRun): { mended: string[]; failed: string[] } {
  const slugsOf = ({ record }: StoredRun): string[] =>
    (record?.failed_indicators ?? []).map(({ slug }) => slug).sort();
  const [old, recent] = [slugsOf(before), slugsOf(after)];
  return { mended: without(old, recent), failed: without(recent, old) };
}

/** A message that one run logged more often than the other. */
interface LogDifference {
  message: string;
  before: number;
  after: number;
}

/** In the order in which the messages first appear. */
export function compareLogs(before: readonly RunLogLine[], after: readonly RunLogLine[]): LogDifference[] {
  const count = (lines: readonly RunLogLine[]): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const { msg = '' } of lines) counts.set(msg, (counts.get(msg) ?? 0) + 1);
    return counts;
  };
  const [old, recent] = [count(before), count(after)];
  return [...new Set([...old.keys(), ...recent.keys()])]
    .map((message) => ({ message, before: old.get(message) ?? 0, after: recent.get(message) ?? 0 }))
    .filter((line) => line.before !== line.after);
}
