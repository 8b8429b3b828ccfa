/**
 * The layout of the lake, which ingestion writes and the build reads.
 *
 *   <VAR_DIR>/lake/<provider>/<run id>/observations.parquet   LAKE_COLUMNS, sorted by indicator, iso3, year
 *   <VAR_DIR>/lake/<provider>/<run id>/catalogue.json         CatalogueEntry[]
 *   <VAR_DIR>/lake/<provider>/<run id>/series.json            per series: rows, digest and what quality gates compare
 *   <VAR_DIR>/lake/<provider>/<run id>/fetches.json           fetched files, for conditional requests
 *   <VAR_DIR>/lake/<provider>/<run id>/revisions.parquet      figures that differ from the last good run, if any
 *   <VAR_DIR>/lake/<provider>/<run id>/run.json               the run record, written last
 *   <VAR_DIR>/lake/<provider>/current                         the id of the last good run
 *
 * A run directory never changes once it has `run.json`. A failed, held or cancelled run never becomes current.
 */
import { z } from 'zod';
import { timestamp } from './records.ts';

/** Upstream's description of one series. Curated data may override everything but the slug. */
export const catalogueEntry = z.object({
  /** The part of the indicator id after the dot. */
  slug: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  unit: z.string().nullable(),
  /** The original collector as upstream names it, for the credit line. */
  source: z.string().nullable(),
  source_url: z.string().nullable(),
  /** Upstream's subject words, matched by the topic rules of a provider definition. */
  tags: z.array(z.string()),
  /** Licence of this series where upstream states it; the definition says which are redistributable. */
  licence: z.string().nullable(),
});
export type CatalogueEntry = z.infer<typeof catalogueEntry>;

export const LAKE_COLUMNS = {
  indicator: 'VARCHAR', // the slug
  iso3: 'VARCHAR',
  year: 'INTEGER',
  value: 'DOUBLE',
  ci_lo: 'DOUBLE',
  ci_hi: 'DOUBLE',
  projected: 'BOOLEAN', // what upstream says; null where the definition's `projected_from` decides, at build
  status: 'VARCHAR', // what upstream says of the figure: estimated, provisional, break, ...
} as const;

/** Why a record was rejected. */
export const rejectReason = z.enum([
  'unknown_place',
  'aggregate_place',
  'historical_place',
  'bad_year',
  'bad_number',
  'duplicate_key',
  'out_of_bounds',
  'withdrawn',
  'other_dimension', // a part of the population that the definition does not select
]);
export type RejectReason = z.infer<typeof rejectReason>;

export const runStatus = z.enum(['running', 'succeeded', 'unchanged', 'suspicious', 'failed', 'cancelled']);

export const runRecord = z.object({
  run_id: z.string(),
  provider_id: z.string(),
  status: runStatus,
  started_at: timestamp,
  finished_at: timestamp.nullable(),
  rows_written: z.int(),
  /**
   * Rows in upstream's files. Each was written, rejected or part of a failed series: this is
   * `rows_written` less `rows_carried`, plus the rows of `rejects` and of `failed_indicators`.
   */
  rows_read: z.int().optional(),
  indicators: z.int(),
  countries: z.int(),
  bytes: z.int(),
  /** What upstream calls this edition, or the newest Last-Modified among its files. */
  vintage: z.string().nullable(),
  rejects: z.partialRecord(
    rejectReason,
    z.object({ rows: z.int(), samples: z.array(z.string()).max(20), distinct: z.int() }),
  ),
  /**
   * Indicators that failed on their own, with the reason and the rows left out with them, beside those among the
   * rejects; the others of the run are kept.
   */
  failed_indicators: z.array(z.object({ slug: z.string(), reason: z.string(), rows: z.int().optional() })),
  /** Why the run failed or is held; a sentence for the operator. */
  reason: z.string().nullable(),
  /** Newest observed year of the run. */
  newest_year: z.int().nullable().optional(),
  /** Series that failed in this run and kept the rows of the last good run. */
  carried_indicators: z.array(z.string()).optional(),
  rows_carried: z.int().optional(),
  /** Against the last good run; absent when there was none. The rows are in `revisions.parquet`. */
  revisions: z
    .object({
      added: z.int(),
      changed: z.int(),
      removed: z.int(),
      indicators: z.array(z.object({ slug: z.string(), added: z.int(), changed: z.int(), removed: z.int() })),
    })
    .optional(),
  /** The held run that an operator accepted with this one. */
  accepted_run: z.string().optional(),
});
export type RunRecord = z.infer<typeof runRecord>;
