/**
 * The layout of the lake, which ingestion writes and the build reads.
 *
 *   <VAR_DIR>/lake/<provider>/<run id>/observations.parquet   LAKE_COLUMNS, sorted by indicator, iso3, year
 *   <VAR_DIR>/lake/<provider>/<run id>/catalogue.json         CatalogueEntry[]
 *   <VAR_DIR>/lake/<provider>/<run id>/series.json            per series: rows, digest and what quality gates compare
 *   <VAR_DIR>/lake/<provider>/<run id>/vanished.json          the same of series that earlier good runs had and this one lacks
 *   <VAR_DIR>/lake/<provider>/<run id>/aggregates.json        upstream's own figures of groups, if any (`upstreamAggregates`)
 *   <VAR_DIR>/lake/<provider>/<run id>/fetches.json           fetched files, for conditional requests
 *   <VAR_DIR>/lake/<provider>/<run id>/revisions.parquet      REVISION_COLUMNS: rows that differ from `base_run`, if any
 *   <VAR_DIR>/lake/<provider>/<run id>/sources.parquet        SOURCE_COLUMNS: the upstream files, and what they feed
 *   <VAR_DIR>/lake/<provider>/<run id>/run.json               the run record, written last
 *   <VAR_DIR>/lake/<provider>/history/<run id>/               what stays of a run that LAKE_KEEP removed
 *   <VAR_DIR>/lake/<provider>/current                         the id of the last good run
 *   <VAR_DIR>/lake/quality/<night>.parquet                    the quality report of a night; see quality.ts
 *
 * A run directory never changes once it has `run.json`. A failed, held or cancelled run never becomes current.
 *
 * `history/` keeps for ever, of every run but failed and cancelled ones, `run.json`, `revisions.parquet` and
 * `sources.parquet`, and of a run without `base_run` also `observations.parquet`: all its rows are new. So the rows of
 * any good run are those of the first run of its chain with the revisions of the later ones applied in order.
 */
import { z } from 'zod';
import { iso3, storedFormat, timestamp } from './records.ts';

/** Of a run and all its files: increment when earlier versions of the software cannot read them. */
export const LAKE_FORMAT = 1;
/** Part of `run.json`, beside the record. */
export const lakeFormat = z.object({ format: storedFormat(LAKE_FORMAT).optional() });

/** The directory of the quality reports, beside those of providers: no provider may have this id. */
export const QUALITY_REPORTS = 'quality';

/** A source of figures as upstream names it. */
export const namedSource = z.object({
  name: z.string().nullable(),
  url: z.string().nullable(),
  note: z.string().nullable(),
});
export type NamedSource = z.infer<typeof namedSource>;

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
  /** All of them, where upstream names several. */
  sources: z.array(namedSource).min(1).optional(),
  /** Upstream's subject words, matched by the topic rules of a provider definition. */
  tags: z.array(z.string()),
  /** Licence of this series where upstream states it; the definition says which are redistributable. */
  licence: z.string().nullable(),
  /** How upstream aggregates its figures, in its words: `Sum`, `Weighted average`. */
  aggregation: z.string().optional(),
});
export type CatalogueEntry = z.infer<typeof catalogueEntry>;

/** The entry of a series of which only the slug is known. */
export const bareEntry = (slug: string): CatalogueEntry => ({
  slug,
  name: slug,
  description: null,
  unit: null,
  source: null,
  source_url: null,
  tags: [],
  licence: null,
});

/** Upstream's own figures of groups that the definition names, by slug and group: years and values. */
export const upstreamAggregates = z.record(
  z.string(),
  z.record(z.string(), z.array(z.tuple([z.int(), z.number()]))),
);
export type UpstreamAggregates = z.infer<typeof upstreamAggregates>;

export const LAKE_COLUMNS = {
  indicator: 'VARCHAR', // the slug
  iso3: 'VARCHAR',
  year: 'INTEGER',
  value: 'DOUBLE',
  ci_lo: 'DOUBLE',
  ci_hi: 'DOUBLE',
  projected: 'BOOLEAN', // what upstream says; null where the definition and the clock decide, at build
  status: 'VARCHAR', // what upstream says of the figure, in the words of `describeStatus`
} as const;

/**
 * Sorted by indicator, iso3, year. `old_` is the base run, `new_` this one. A figure is a row with a value; a row without
 * one counts as none in `kind`, but is kept, so that nothing is lost.
 */
export const REVISION_COLUMNS = {
  indicator: 'VARCHAR',
  iso3: 'VARCHAR',
  year: 'INTEGER',
  // added, changed, withdrawn, restored. No revision: `gap`, only a row without a value came, went or changed.
  kind: 'VARCHAR',
  old_row: 'BOOLEAN', // whether the base run has the row
  new_row: 'BOOLEAN',
  old_value: 'DOUBLE',
  new_value: 'DOUBLE',
  old_ci_lo: 'DOUBLE',
  new_ci_lo: 'DOUBLE',
  old_ci_hi: 'DOUBLE',
  new_ci_hi: 'DOUBLE',
  old_projected: 'BOOLEAN',
  new_projected: 'BOOLEAN',
  old_status: 'VARCHAR',
  new_status: 'VARCHAR',
} as const;

/** Sorted by url, reference and sha256. */
export const SOURCE_COLUMNS = {
  url: 'VARCHAR', // at the origin, also when a mirror served the file; see originUrl in build/upstream
  reference: 'VARCHAR', // what the connector asked for, relative to the origin or to the mirror's own layout
  sha256: 'VARCHAR', // of the bytes that the connector read, after any Content-Encoding
  bytes: 'BIGINT',
  // when these bytes first came from upstream (of a mirror directory: were read); a later run that gets the same bytes
  // from the same URL keeps the time of the good run before it
  fetched_at: 'VARCHAR',
  confirmed_at: 'VARCHAR', // when upstream last sent them or answered 304
  series: 'VARCHAR[]', // slugs of the series whose figures come from it
  carried: 'BOOLEAN', // not read by this run: an earlier one read it, for series whose rows are carried over
} as const;

/** Bytes that came from upstream. */
export const upstreamFile = z.object({
  url: z.string(),
  sha256: z.string(),
  bytes: z.int(),
  fetched_at: z.string(),
});
export type UpstreamFile = z.infer<typeof upstreamFile>;

/** An upstream file that a run has read. */
export interface ReadFile extends UpstreamFile {
  reference: string;
  confirmed_at: string;
}

/** A row of `sources.parquet`. */
export interface SourceFile extends ReadFile {
  series: readonly string[];
  carried: boolean;
}

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

/** A place that was rejected as unknown, and the country that it seems to be. */
export const lostPlace = z.object({ place: z.string(), iso3, name: z.string() });
export type LostPlace = z.infer<typeof lostPlace>;

const revisionCounts = {
  added: z.int(),
  changed: z.int(),
  removed: z.int(),
  /** Figures that an earlier run had and a later one withdrew. */
  restored: z.int(),
};

export const runRecord = z.object({
  run_id: z.string(),
  provider_id: z.string(),
  status: runStatus,
  /** Read from the starter data. Upstream's first run replaces it and is not compared with it. */
  starter: z.literal(true).optional(),
  started_at: timestamp,
  finished_at: timestamp.nullable(),
  rows_written: z.int(),
  /**
   * Rows in upstream's files. Each was written, rejected, an empty cell or part of a failed series: this is
   * `rows_written` less `rows_carried`, plus `empty_cells` and the rows of `rejects` and of `failed_indicators`.
   */
  rows_read: z.int().optional(),
  /**
   * Cells that wide tables leave empty outside the measured years of a country: no observations, so they were not
   * written. Absent in runs that read no rows, as `rows_read` and `newest_year` are.
   */
  empty_cells: z.int().optional(),
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
  failed_indicators: z.array(z.object({ slug: z.string(), reason: z.string(), rows: z.int() })),
  /** Series that lack the rows which their bounds rejected; these are among the rejects, too. */
  out_of_bounds: z.array(z.object({ slug: z.string(), reason: z.string(), rows: z.int() })).optional(),
  /** Series that lack cells which look like figures, but could not be read, such as `12,5`; among the rejects, too. */
  unreadable: z.array(z.object({ slug: z.string(), reason: z.string(), rows: z.int() })).optional(),
  /** Why the run failed or is held; a sentence for the operator. */
  reason: z.string().nullable(),
  /** Newest observed year of the run. */
  newest_year: z.int().nullable().optional(),
  /** Series that failed in this run and kept the rows of the last good run. */
  carried_indicators: z.array(z.string()).optional(),
  rows_carried: z.int().optional(),
  /**
   * The good run before this one, with which `revisions` compares it; null for the first of a chain. Absent for runs
   * without data.
   */
  base_run: z.string().nullable().optional(),
  /** Figures against `base_run`; absent when there was none. The rows are in `revisions.parquet`. */
  revisions: z
    .object({
      ...revisionCounts,
      indicators: z.array(z.object({ slug: z.string(), ...revisionCounts })),
    })
    .optional(),
  /**
   * The upstream files that the run read, or confirmed to be unchanged between its start and its end. `run_id` names
   * the run whose `sources.parquet` lists them all. The digest covers hashes and names, not times.
   */
  sources: z
    .object({
      run_id: z.string(),
      files: z.int(),
      bytes: z.int(),
      digest: z.string(),
      /** The first by URL; at most 20. */
      first: z.array(upstreamFile),
    })
    .optional(),
  /** Countries without a row whose place upstream writes in a way that the definition does not know. */
  lost_places: z.array(lostPlace).optional(),
  /** Settings and rows of overlay and concepts that fit no series, as sentences. */
  unused_settings: z.array(z.string()).optional(),
  /** The held run that an operator accepted with this one. */
  accepted_run: z.string().optional(),
});
export type RunRecord = z.infer<typeof runRecord>;
