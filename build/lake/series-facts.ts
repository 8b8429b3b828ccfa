/**
 * The rows of a series, and the facts stored of it in `series.json` of a run: what quality gates compare, and a
 * digest by which later runs and builds detect changes.
 *
 * Rows that upstream does not flag count as projected from the definition's `projected_from` on, and after the current
 * year, unless `future_years` calls them observed.
 */

import { createHash } from 'node:crypto';
import { max, median } from 'd3-array';
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

/** A row of a series, as `observations.parquet` has it. */
export interface LakeRow {
  iso3: string;
  year: number;
  value: number | null;
  ci_lo: number | null;
  ci_hi: number | null;
  /** What upstream says; null when it says nothing. */
  projected: boolean | null;
  status: string | null;
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

/** Packs an ISO3 code into a number. */
const pack = (iso3: string): number =>
  (iso3.charCodeAt(0) << 16) | (iso3.charCodeAt(1) << 8) | iso3.charCodeAt(2);

/** Columns as bytes: editions hold hashes that follow from these digests, so their form must stay. */
function digestOf(rows: readonly LakeRow[]): string {
  const hash = createHash('sha256');
  hash.update(Int32Array.from(rows, ({ iso3 }) => pack(iso3)));
  hash.update(Int32Array.from(rows, ({ year }) => year));
  for (const name of ['value', 'ci_lo', 'ci_hi'] as const)
    hash.update(Float64Array.from(rows, (row) => row[name] ?? Number.NaN));
  hash.update(Uint8Array.from(rows, ({ projected }) => (projected === null ? 2 : Number(projected))));
  if (rows.some(({ status }) => status !== null))
    hash.update(rows.map(({ status }) => status ?? '').join('\n'));
  return hash.digest('hex');
}

function medianOf(rows: readonly LakeRow[]): number | null {
  const values = rows.map(({ value }) => value).filter((value) => value !== null);
  return median(values) ?? null;
}

function aheadOf(rows: readonly LakeRow[], rule: ProjectionRule, currentYear: number): SeriesFacts['ahead'] {
  const ahead = rows.filter(({ year, projected }) => year > currentYear && projected !== true);
  const last_row = max(ahead, ({ year }) => year);
  if (last_row === undefined) return null;
  const years = new Set(ahead.filter(({ value }) => value !== null).map(({ year }) => year));
  return { years: [...years].sort((a, b) => a - b), last_row, rule };
}

/**
 * Years of a series that only the clock makes projections: the definition has no rule for them.
 * @param rule Default: that of the run.
 */
export function yearsWithoutRule(
  ahead: SeriesFacts['ahead'],
  currentYear: number,
  rule = ahead?.rule,
): number[] {
  if (!ahead || rule?.future_years !== null) return [];
  return ahead.years.filter((year) => year > currentYear && year < (rule.projected_from ?? Infinity));
}

/** Newest observed year over all series at a later clock than that of their run. */
export function newestYearOf(series: SeriesFile, currentYear: number): number | null {
  const years = Object.values(series).flatMap(({ newest_year: newest, ahead }) => {
    const from = ahead ? firstProjectedYear(ahead.rule, currentYear) : 0;
    return [newest, ...(ahead?.years.filter((year) => year < from) ?? [])];
  });
  return max(years, (year) => year) ?? null;
}

/** @param currentYear of the run's clock */
export function factsOf(
  rows: readonly LakeRow[],
  unit: string | null,
  rule: ProjectionRule,
  currentYear: number,
): SeriesFacts {
  const projectedFrom = firstProjectedYear(rule, currentYear);
  const observed = rows.filter(
    ({ value, year, projected }) => value !== null && !(projected ?? year >= projectedFrom),
  );
  return {
    rows: rows.length,
    countries: new Set(rows.map(({ iso3 }) => iso3)).size,
    newest_year: max(observed, ({ year }) => year) ?? null,
    ahead: aheadOf(rows, rule, currentYear),
    median: medianOf(rows),
    unit,
    digest: digestOf(rows),
  };
}
