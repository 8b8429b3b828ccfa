/**
 * The layout of a snapshot, which the build writes and the gateway reads.
 *
 * A snapshot is a directory `<SNAPSHOT_DIR>/<id>/` that never changes once published. `manifest.json` is written
 * last and names every other file with its size and SHA-256; a directory without one is incomplete and ignored.
 * `<SNAPSHOT_DIR>/current` is a text file with the id of the served snapshot; it is replaced by one atomic rename.
 *
 *   manifest.json
 *   catalogue.json                         held in memory by the gateway (see `catalogueIndex`)
 *   observations/<indicator id>.parquet    sorted by iso3, year (see OBSERVATION_COLUMNS)
 *   latest.parquet coverage.parquet catalogue.parquet
 *   concepts.json                          series of different providers with one concept (see `conceptLink`)
 *   sources.json ...                       lists by indicator id for `include` (see `ADDITIONS` in additions.ts)
 *   statistics.json                        the figures of each series in numbers, for the next build (`statisticsFile`)
 *   routes/{countries,indicators,topics,freshness,coverage}.json    whole bodies of the free routes
 *   routes/indicators/<indicator id>.json                           ... of GET /v1/indicators/{indicator_id}
 *   routes/countries/<ISO3>.json                                    ... of GET /v1/countries/{iso3}, unfiltered
 *
 * Every file under routes/ has `.br`, `.zst` and `.gz` beside it. Parquet uses V1 pages and Snappy, which every reader
 * supports.
 */
import { z } from 'zod';
import { editableFacts } from './overrides.ts';
import { countryRecord, indicatorRecord, timestamp, topicRecord } from './records.ts';

export const SNAPSHOT_FORMAT = 1;
export const CURRENT_POINTER = 'current';
export const MANIFEST = 'manifest.json';
export const CATALOGUE = 'catalogue.json';
export const CONCEPTS = 'concepts.json';
export const STATISTICS = 'statistics.json';

/** Two published series that seem to measure one concept, for review; strongest agreement first. */
export const conceptLink = z.object({
  a: z.string(),
  b: z.string(),
  /** Countries with a latest value in both. */
  common: z.int(),
  /** Spearman's rank correlation over them; null below 30. */
  rho: z.number().nullable(),
  /** Median of |a − b| / max(|a|, |b|) over them. */
  median_difference: z.number().nullable(),
});
export type ConceptLink = z.infer<typeof conceptLink>;

/** Content codings in the order of preference at equal quality; the value is the file suffix. */
export const ENCODING_SUFFIX = { br: '.br', zstd: '.zst', gzip: '.gz' } as const;

export const OBSERVATION_COLUMNS = {
  iso3: 'VARCHAR',
  year: 'INTEGER',
  value: 'DOUBLE',
  ci_lo: 'DOUBLE',
  ci_hi: 'DOUBLE',
  rank: 'INTEGER',
  rank_delta_1y: 'INTEGER',
  projected: 'BOOLEAN',
  status: 'VARCHAR', // of observation-status.ts; null in most rows
  rank_lo: 'INTEGER',
  rank_hi: 'INTEGER',
} as const;

/** The five free routes that are one file each. */
export const ROUTE_FILES = {
  countries: 'routes/countries.json',
  indicators: 'routes/indicators.json',
  topics: 'routes/topics.json',
  freshness: 'routes/freshness.json',
  coverage: 'routes/coverage.json',
} as const;

export const observationsFile = (indicatorId: string): string => `observations/${indicatorId}.parquet`;
export const indicatorFile = (indicatorId: string): string => `routes/indicators/${indicatorId}.json`;
export const countryFile = (iso3: string): string => `routes/countries/${iso3}.json`;

/** Snapshot ids sort by time and name their content: `20261120T020000Z-3f2a9c1b`. */
export const SNAPSHOT_ID = /^\d{8}T\d{6}Z-[0-9a-f]{8}$/;

export const manifest = z.object({
  format: z.literal(SNAPSHOT_FORMAT),
  id: z.string().regex(SNAPSHOT_ID),
  generated_at: timestamp,
  counts: z.object({
    providers: z.int(),
    indicators: z.int(),
    countries: z.int(),
    observations: z.int(),
  }),
  /** The lake run of each provider, for tracing figures. */
  runs: z.record(z.string(), z.string()),
  files: z.record(
    z.string(),
    z.object({
      bytes: z.int(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      /** Hash of the file's inputs. A file with unchanged inputs is hard-linked into the next snapshot. */
      inputs: z.string().optional(),
    }),
  ),
});
export type Manifest = z.infer<typeof manifest>;

/** One indicator in the gateway: the public record, and fields for sorting and filtering. */
export const indexedIndicator = z.object({
  record: indicatorRecord,
  /** Curated position within its topic; ties by name. */
  topic_order: z.int(),
  /** True when the series has forecast years beyond its newest observed year. */
  has_projections: z.boolean(),
  /** What operators edited in the record, as it is without their edits. */
  original: editableFacts.optional(),
});
export type IndexedIndicator = z.infer<typeof indexedIndicator>;

/** `catalogue.json`. Countries and indicators come ordered by name (`Intl.Collator("en")`, ties by id). */
export const catalogueIndex = z.object({
  generated_at: timestamp,
  topics: z.array(topicRecord).length(13),
  countries: z.array(countryRecord),
  indicators: z.array(indexedIndicator),
});
export type CatalogueIndex = z.infer<typeof catalogueIndex>;

/** English collation, so that Åland sorts with A; ties by id. */
const collator = new Intl.Collator('en');
export function compareByName(a: { name: string; id: string }, b: { name: string; id: string }): number {
  return collator.compare(a.name, b.name) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
