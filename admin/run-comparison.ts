/** Compares two runs of a provider: figures, series, rejected rows, failed series and log lines. Pure functions. */
import type { RunLogLine } from '../data/runtime/run-store.ts';
import type { StoredRun } from '../data/schema/jobs.ts';
import type { RunRecord } from '../data/schema/lake.ts';
import type { RunSeries } from './lake-series.ts';

/** A number of both runs; null where a run does not have it. */
export interface FigurePair {
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

export const compareFigures = (before: StoredRun, after: StoredRun): FigurePair[] =>
  FIGURES.map(([label, kind, read]) => {
    const of = (run: StoredRun): number | null => (run.record && read(run.record, run)) ?? null;
    return { label, kind, before: of(before), after: of(after) };
  });

export interface SeriesChange {
  slug: string;
  rowsBefore: number;
  rowsAfter: number;
}

/** By slug. */
export interface SeriesComparison {
  added: SeriesChange[];
  removed: SeriesChange[];
  /** Whose rows differ. */
  changed: SeriesChange[];
  unchanged: number;
}

export function compareSeries(before: RunSeries, after: RunSeries): SeriesComparison {
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

export interface RejectComparison {
  reason: string;
  rowsBefore: number;
  rowsAfter: number;
  /** Of the samples that a run keeps: those that only this run has. */
  onlyBefore: string[];
  onlyAfter: string[];
}

export function compareRejects(before: StoredRun, after: StoredRun): RejectComparison[] {
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
export function compareFailures(before: StoredRun, after: StoredRun): { mended: string[]; failed: string[] } {
  const slugsOf = ({ record }: StoredRun): string[] =>
    (record?.failed_indicators ?? []).map(({ slug }) => slug).sort();
  const [old, recent] = [slugsOf(before), slugsOf(after)];
  return { mended: without(old, recent), failed: without(recent, old) };
}

/** A message that one run logged more often than the other. */
export interface LogDifference {
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
