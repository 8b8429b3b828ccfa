/**
 * The quality report: what the nightly build doubts in the published figures and their labels, and what a person has
 * decided about each doubt. It stands in the lake as `<LAKE_DIR>/quality/<night>.parquet`, and what concerns a series in
 * `quality.json` of the snapshot.
 */
import { z } from 'zod';
import { qualityKind, qualitySeverity } from './quality-kinds.ts';
import { INDICATOR_ID, iso3, timestamp } from './records.ts';

/** `fix`: corrected in `data/`. `withhold`: not published. `unrank`: published without ranks. `accept`: right as it is. */
export const qualityDecisionWord = z.enum(['fix', 'withhold', 'unrank', 'accept']);
export type QualityDecisionWord = z.infer<typeof qualityDecisionWord>;

const indicator = z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>');

/** What a check finds. Equal kind, provider, indicator and other are one finding, from night to night. */
export const foundDoubt = z.object({
  kind: qualityKind,
  provider: z.string(),
  /** Null for a finding on a whole provider, such as places that it lost. */
  indicator: indicator.nullable(),
  /** The other series of a finding on a pair; the pair is ordered by id. */
  other: indicator.nullable(),
  /** The countries concerned, at most 300; empty when it concerns the series as a whole. */
  countries: z.array(iso3).max(300),
  /** First and last year concerned; null when it concerns no years. */
  years: z.tuple([z.int(), z.int()]).nullable(),
  extent: z.number().nonnegative(),
  /** A sentence that names the figures: `Suriname is 26,347 % in 2001; 3 more countries are above 100 %.` */
  message: z.string().min(1),
});
export type FoundDoubt = z.infer<typeof foundDoubt>;

/**
 * One row of `data/quality-decisions.csv`. It holds as long as the finding's extent does not exceed its own; a `fix` does
 * not hold while the finding is still found. For a pair, `withhold` and `unrank` act on the subject.
 */
export const qualityDecision = z.strictObject({
  kind: qualityKind,
  /** An indicator id, or a provider id for a finding on a whole provider. */
  subject: z.string().min(1),
  other: indicator.nullable(),
  extent: z.number().nonnegative(),
  decision: qualityDecisionWord,
  by: z.string().min(1),
  on: z.iso.date(),
  reason: z.string().min(1),
});
export type QualityDecision = z.infer<typeof qualityDecision>;

/** Decisions with the same key are about one finding: a pair may be named in either order. */
export const decisionKey = ({ kind, subject, other }: Pick<QualityDecision, 'kind' | 'subject' | 'other'>) =>
  [kind, ...[subject, other ?? ''].sort()].join(' ');

/** A finding of one night. */
export const qualityFinding = foundDoubt.extend({
  /** Hash of kind, provider, indicator and other: the same every night. */
  id: z.string().regex(/^[0-9a-f]{16}$/),
  severity: qualitySeverity,
  /** The night that found it first without a night between that did not. */
  first_seen: timestamp,
  /** Against the night before; null when it is as it was, or when there was none. */
  change: z.enum(['new', 'worse']).nullable(),
  /** Null while nobody has decided, or since the decision does not hold any more. */
  decision: qualityDecisionWord.nullable(),
  reason: z.string().nullable(),
  /** The decision that does not hold any more: the finding is worse than what was decided, or the fix did not help. */
  lapsed: qualityDecision.pick({ decision: true, extent: true, by: true, on: true, reason: true }).nullable(),
});
export type QualityFinding = z.infer<typeof qualityFinding>;

/** A finding as readers of a series see it; of a pair, with both series. */
export const publicFinding = qualityFinding.pick({
  id: true,
  kind: true,
  severity: true,
  indicator: true,
  other: true,
  countries: true,
  years: true,
  message: true,
  first_seen: true,
  decision: true,
  reason: true,
});
export type PublicFinding = z.infer<typeof publicFinding>;

/** How many findings a night has. A finding is open while no decision holds for it. */
export const qualityCounts = z.object({
  findings: z.int(),
  open_errors: z.int(),
  open_warnings: z.int(),
  open_notices: z.int(),
  /** Against the night before. */
  new: z.int(),
  worse: z.int(),
  gone: z.int(),
});
export type QualityCounts = z.infer<typeof qualityCounts>;

/** A kind that this version does not know is left out. */
export const qualityFindings = z
  .array(z.looseObject({ kind: z.string() }))
  .transform((findings) => findings.filter(({ kind }) => qualityKind.safeParse(kind).success))
  .pipe(z.array(qualityFinding));

/** What a build reports to operators through Redis. */
export const operatorReport = z.object({
  /** A day (UTC). */
  night: z.iso.date(),
  reported_at: timestamp,
  findings: qualityFindings,
  /** Decisions that match no finding. */
  unused: z.array(z.object({ kind: z.string(), subject: z.string(), other: z.string().nullable() })),
});
export type OperatorReport = z.output<typeof operatorReport>;

/** What is odd in the history of a country, or in a year of a series; see `build/quality/sql/anomalies.sql`. */
export const anomaly = z.object({
  kind: z.enum([
    'decimal_slip',
    'isolated_value',
    'level_break',
    'unit_change',
    'frozen_values',
    'sign_flip',
    'same_figures_places',
  ]),
  /** Null for what concerns most countries: `unit_change`, and `frozen_values` of a year. */
  iso3: iso3.nullable(),
  year: z.int(),
  /** The last year of `frozen_values` and `same_figures_places`. */
  until: z.int().nullable(),
  value: z.number().nullable(),
  /** The country's values before and after it. */
  previous: z.number().nullable(),
  next: z.number().nullable(),
  /** Powers of ten of a change; values of `frozen_values` and `same_figures_places`. */
  size: z.number(),
});
export type Anomaly = z.infer<typeof anomaly>;

/** Kinds of anomalies after which figures are of another level: none is derived from figures on both sides. */
export const BREAK_KINDS = ['decimal_slip', 'level_break', 'unit_change'] as const;

/** Where a series breaks. */
export const seriesBreaks = z
  .array(
    z.object({
      kind: z.enum(BREAK_KINDS),
      iso3: iso3.nullable().describe('Null for a break of most countries'),
      year: z.int().describe('The first year of another level; of a `decimal_slip`, its only one'),
    }),
  )
  .describe('Years from which on figures are of another level, and slips: no figure is derived across them');

/** The figures of a published series in numbers; `statistics.json` holds them by indicator id. */
export const seriesStatistics = z.object({
  rows: z.int(),
  /** Rows with a value. All numbers below count these, projected ones included, unless they say otherwise. */
  values: z.int(),
  nulls: z.int(),
  projected: z.int().describe('Rows that are projected, with or without a value'),
  countries: z.int(),
  min: z.number().nullable(),
  q1: z.number().nullable(),
  median: z.number().nullable(),
  q3: z.number().nullable(),
  max: z.number().nullable(),
  negative: z.int(),
  zero: z.int(),
  above_1: z.int(),
  above_100: z.int(),
  /** Too large or too small to compute with: beyond 10^100 or, without being 0, within 10^-100. Quartiles are null then. */
  extreme: z.int(),
  /** Share of whole numbers, 0..1. */
  whole_share: z.number().nullable(),
  first_year: z.int().nullable(),
  last_year: z.int().nullable(),
  /** Newest observed year, as in `coverage`. */
  latest_year: z.int().nullable(),
  /** Countries with an observed value in the latest year. */
  latest_countries: z.int(),
  newest_projected_year: z.int().nullable(),
  /** The greatest change of a country from one year to the next, of values with the same sign. */
  jump: z
    .object({
      /** At least 1: the greater value by the smaller. */
      ratio: z.number(),
      iso3,
      year: z.int(),
    })
    .nullable(),
  /** Rows by status; rows without one are not counted. */
  statuses: z.record(z.string(), z.int()),
  /** Hash of country, year and value of all values. Equal figures have equal digests. */
  digest: z.string(),
  /** At most 300. */
  anomalies: z.array(anomaly),
});
export type SeriesStatistics = z.infer<typeof seriesStatistics>;

/** `statistics.json`. A later build takes over the statistics of files that did not change, if `version` is its own. */
export const statisticsFile = z.object({
  version: z.string(),
  series: z.record(z.string(), seriesStatistics),
});
