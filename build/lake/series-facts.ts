/**
 * The columns of a series, and the facts stored of it in `series.json` of a run: what quality gates compare, and a
 * digest by which later runs and builds detect changes.
 *
 * Rows that upstream does not flag count as projected from the definition's `projected_from` on, and after the current
 * year, unless `future_years` calls them observed.
 */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { futureYears, type IndicatorOverlay, type ProviderDefinition } from '../../data/schema/curated.ts';

export const projectionRule = z.object({
  /** First forecast year; null without one. */
  projected_from: z.int().nullable(),
  /** What the definition says of years after the current one; null when it says nothing. */
  future_years: futureYears.nullable(),
});
export type ProjectionRule = z.infer<typeof projectionRule>;

export const projectionRuleOf = (
  definition: Pick<ProviderDefinition, 'projected_from' | 'future_years'>,
  overlay: Pick<IndicatorOverlay, 'projected_from' | 'future_years'>,
): ProjectionRule => ({
  projected_from: overlay.projected_from ?? definition.projected_from ?? null,
  future_years: overlay.future_years ?? definition.future_years ?? null,
});

/** The calendar year of an instant, UTC. */
export const yearOf = (instant: number): number => new Date(instant).getUTCFullYear();

/** First projected year for rows without a flag; infinite when there is none. */
export function firstProjectedYear(rule: ProjectionRule, currentYear: number): number {
  const { projected_from: from, future_years: future } = rule;
  return Math.min(
    from ?? Number.POSITIVE_INFINITY,
    future === 'observed' ? Number.POSITIVE_INFINITY : currentYear + 1,
  );
}

/** Those of the years that only the clock makes projections: the definition has no rule for them. */
export const yearsWithoutRule = (
  rule: ProjectionRule,
  years: readonly number[],
  currentYear: number,
): number[] =>
  rule.future_years === null
    ? years.filter((year) => year > currentYear && year < (rule.projected_from ?? Number.POSITIVE_INFINITY))
    : [];

/** Codes of `projected`: no, yes, not stated. */
export const OBSERVED = 0;
export const PROJECTED = 1;
export const UNSTATED = 2;

/** Columns of one series; the first `rows` items are valid. A missing number is NaN. */
export interface SeriesColumns {
  rows: number;
  country: Int32Array;
  year: Int32Array;
  value: Float64Array;
  ciLo: Float64Array;
  ciHi: Float64Array;
  projected: Uint8Array;
  /** Index into the statuses of the run; 0 is no status. */
  status: Int32Array;
}

export const seriesFacts = z.object({
  rows: z.int(),
  /** Countries with a row. */
  countries: z.int(),
  /** Newest year with an observed value, by the rule and the clock of the run. */
  newest_year: z.int().nullable(),
  /** The rows after the year of the run that upstream does not flag as projected; null without any. */
  ahead: z
    .object({
      /** Their years with a value, ascending. */
      years: z.array(z.int()),
      /** Their newest year, with a value or without. */
      last_row: z.int(),
      /** The definition's rule in this run. */
      rule: projectionRule,
    })
    .nullable(),
  /** The median of all values. */
  median: z.number().nullable(),
  unit: z.string().nullable(),
  /** SHA-256 of the rows; the same on every machine. */
  digest: z.string(),
});
export type SeriesFacts = z.infer<typeof seriesFacts>;
/** By slug. */
export const seriesFile = z.record(z.string(), seriesFacts);
export type SeriesFile = z.infer<typeof seriesFile>;

/** Packs an ISO3 code into a number, independent of the list of countries. */
const pack = (iso3: string): number =>
  (iso3.charCodeAt(0) << 16) | (iso3.charCodeAt(1) << 8) | iso3.charCodeAt(2);

function digestOf(
  columns: SeriesColumns,
  countries: readonly string[],
  statuses: readonly (string | null)[],
): string {
  const { rows } = columns;
  const packed = countries.map(pack);
  const hash = createHash('sha256');
  const code = Int32Array.from({ length: rows }, (_, row) => packed[columns.country[row] ?? 0] ?? 0);
  hash.update(code);
  for (const column of [columns.year, columns.value, columns.ciLo, columns.ciHi, columns.projected]) {
    hash.update(column.subarray(0, rows));
  }
  const coded = columns.status.subarray(0, rows);
  if (coded.some((status) => status !== 0)) {
    hash.update(Array.from(coded, (status) => statuses[status] ?? '').join('\n'));
  }
  return hash.digest('hex');
}

function medianOf(values: Float64Array): number | null {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  if (sorted.length === 0) return null;
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  if (sorted.length % 2) return upper;
  const lower = sorted[half - 1] ?? 0;
  const sum = lower + upper;
  return Number.isFinite(sum) ? sum / 2 : lower / 2 + upper / 2;
}

function aheadOf(
  { rows, year, value, projected }: SeriesColumns,
  rule: ProjectionRule,
  currentYear: number,
): SeriesFacts['ahead'] {
  const years = new Set<number>();
  let last = currentYear;
  for (let row = 0; row < rows; row += 1) {
    const when = year[row] ?? 0;
    if (when <= currentYear || projected[row] === PROJECTED) continue;
    last = Math.max(last, when);
    if (!Number.isNaN(value[row])) years.add(when);
  }
  return last === currentYear ? null : { years: [...years].sort((a, b) => a - b), last_row: last, rule };
}

/** Newest observed year over all series at a later clock than that of their run. */
export function newestYearOf(series: SeriesFile, currentYear: number): number | null {
  const years = Object.values(series).flatMap(({ newest_year: newest, ahead }) => {
    const from = ahead ? firstProjectedYear(ahead.rule, currentYear) : 0;
    return [newest, ...(ahead?.years.filter((year) => year < from) ?? [])].filter((year) => year !== null);
  });
  return years.reduce<number | null>((newest, year) => Math.max(newest ?? year, year), null);
}

/** @param currentYear of the run's clock */
export function factsOf(
  columns: SeriesColumns,
  countries: readonly string[],
  statuses: readonly (string | null)[],
  unit: string | null,
  rule: ProjectionRule,
  currentYear: number,
): SeriesFacts {
  const { rows, country, year, value, projected } = columns;
  const projectedFrom = firstProjectedYear(rule, currentYear);
  const seen = new Set<number>();
  let newest: number | null = null;
  for (let row = 0; row < rows; row += 1) {
    seen.add(country[row] ?? 0);
    if (Number.isNaN(value[row])) continue;
    const when = year[row] ?? 0;
    const flag = projected[row];
    const observed = flag === OBSERVED || (flag !== PROJECTED && when < projectedFrom);
    if (observed && (newest === null || when > newest)) newest = when;
  }
  return {
    rows,
    countries: seen.size,
    newest_year: newest,
    ahead: aheadOf(columns, rule, currentYear),
    median: medianOf(value.subarray(0, rows)),
    unit,
    digest: digestOf(columns, countries, statuses),
  };
}
