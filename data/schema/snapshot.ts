/**
 * The layout of published snapshots, which the build writes and the gateway reads.
 *
 *   <SNAPSHOT_DIR>/objects/<first two digits>/<sha256>   every published file, named by its content; never changes
 *   <SNAPSHOT_DIR>/editions/<id>.json                    the manifest of a snapshot; never changes
 *   <SNAPSHOT_DIR>/log.json                              all snapshots in the order of publication (see `publicationLog`)
 *   <SNAPSHOT_DIR>/keys.json                             public keys of the log (see proofs.ts)
 *   <SNAPSHOT_DIR>/current                               the id of the served snapshot
 *   <SNAPSHOT_DIR>/withheld.json                         series that were deleted, if any, signed (see data/runtime/withheld.ts)
 *
 * A snapshot is published in this order: objects, manifest, log, pointer. Each file is replaced by one atomic rename.
 * A crash leaves objects that nothing names, or an edition in the log that was never served.
 *
 * A manifest gives names to objects. *Kept* files stay for ever and hold neither a time nor a snapshot's id, so what did
 * not change is stored once. The names of a provider's kept files are a list of their own, which is an object, too:
 *
 *   observations/<indicator id>.parquet    sorted by iso3, year (see OBSERVATION_COLUMNS)
 *   latest/<provider>.<part>.parquet       the latest value of each indicator and country, split by indicator
 *   catalogue/<provider>.json              IndexedIndicator[] by id
 *   groups/<indicator id>.json             figures of groups of countries (see groups.ts)
 *   relations/<provider>.json              related indicators by indicator id (see `relationsFile`)
 *   sources/<provider>.json ...            lists by indicator id for `include` (see `ADDITIONS`)
 *   proofs/<provider>.json                 roots and descriptors of the trees by indicator id (see proofs.ts)
 *   terms/<provider>.json                  VanishedIndicator[]: the terms of indicators that earlier snapshots have
 *
 * Kept JSON is compressed with zstd, and latest values are in parts, since rewriting them for each change would cost more
 * than the changed observations.
 *
 * Kept files of no single provider: `countries.json`, `topics.json`, `groups.json` (see groups.ts), `rules.json`, `aliases.json`
 * (IndicatorAlias[]: former ids).
 *
 * *Prerendered* files are kept for the newest SNAPSHOT_KEEP snapshots:
 *
 *   routes/{countries,indicators,topics,freshness,coverage}.json    whole bodies of the free routes
 *   routes/indicators/<indicator id>.json                           ... of GET /v1/indicators/{indicator_id}
 *   routes/countries/<ISO3>.json                                    ... of GET /v1/countries/{iso3}, unfiltered
 *   bundles/<provider>.parquet             the observations of all open indicators of a provider, by indicator
 *   coverage.parquet                       what each indicator has of each country
 *   concepts.json                          series of different providers with one concept (see `conceptLink`)
 *   excerpts/<indicator id>.json           the rows that its page shows first (see `StoredExcerpt`)
 *   sparklines.json                        pictures of featured series by country (`Sparklines`)
 *   statistics.json                        the figures of each series in numbers, for the next build (`statisticsFile`)
 *
 * Every file under routes/ has `.br`, `.zst` and `.gz` beside it. Parquet uses V1 pages and Snappy, which every reader
 * supports.
 */
import { z } from 'zod';
import { editableFacts } from './operator-changes.ts';
import { publicFinding, seriesBreaks } from './quality.ts';
import {
  accessTier,
  indicatorId,
  indicatorRecord,
  indicatorSource,
  indicatorTwin,
  redefinition,
  relatedEntry,
  storedFormat,
  timestamp,
} from './records.ts';
import { seriesTraits } from './traits.ts';

export const SNAPSHOT_FORMAT = 2;
export const LOG_FORMAT = 1;
export const CURRENT_POINTER = 'current';
export const PUBLICATION_LOG = 'log.json';
/** Marks a directory that follows an origin: nothing is built or removed there by hand. */
export const ORIGIN_MARKER = '.origin';
export const EDITIONS = 'editions';
export const OBJECTS = 'objects';
export const CONCEPTS = 'concepts.json';
export const STATISTICS = 'statistics.json';
export const SPARKLINES = 'sparklines.json';
export const COUNTRIES = 'countries.json';
export const TOPICS = 'topics.json';
export const ALIASES = 'aliases.json';

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

/** The observed values of one country in one series, as heights from 0 to 99. */
export interface Sparkline {
  /** Year of the first height. */
  from: number;
  /** One a year; null where there is no value. */
  heights: (number | null)[];
}

/** By ISO3, then by indicator id. */
export type Sparklines = Record<string, Record<string, Sparkline>>;

/** Content codings in the order of preference at equal quality; the value is the file suffix. */
export const ENCODING_SUFFIX = { br: '.br', zstd: '.zst', gzip: '.gz' } as const;

export const OBSERVATION_COLUMNS = {
  indicator: 'VARCHAR', // the same in every row
  iso3: 'VARCHAR',
  year: 'INTEGER',
  value: 'DOUBLE',
  ci_lo: 'DOUBLE',
  ci_hi: 'DOUBLE',
  rank: 'INTEGER',
  rank_delta_1y: 'INTEGER',
  projected: 'BOOLEAN',
  status: 'VARCHAR', // in the words of `describeStatus`; null in most rows
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
/** The indicators whose observations are among some files. */
export const observedIndicators = (files: FileList): string[] =>
  Object.keys(files).flatMap((name) => /^observations\/(.*)\.parquet$/.exec(name)?.[1] ?? []);
export const bundleFile = (provider: string): string => `bundles/${provider}.parquet`;
export const LATEST_FOLDER = 'latest/';
export const latestFile = (provider: string, part: number): string =>
  `${LATEST_FOLDER}${provider}.${part}.parquet`;
export const catalogueFile = (provider: string): string => `catalogue/${provider}.json`;
export const relationsFile = (provider: string): string => `relations/${provider}.json`;
export const termsFile = (provider: string): string => `terms/${provider}.json`;
export const indicatorFile = (indicatorId: string): string => `routes/indicators/${indicatorId}.json`;
export const countryFile = (iso3: string): string => `routes/countries/${iso3}.json`;

/** The provider of an indicator: the part of its id before the dot. */
export const providerOf = (indicatorId: string): string => indicatorId.slice(0, indicatorId.indexOf('.'));

/** The provider whose list names a kept file; null for files of no single provider. */
export function providerOfFile(name: string): string | null {
  return /^[a-z]+\/([^./]+)\./.exec(name)?.[1] ?? null;
}

/** Snapshot ids sort by time and name their content: `20261120T020000Z-3f2a9c1b`. */
export const SNAPSHOT_ID = /^\d{8}T\d{6}Z-[0-9a-f]{8}$/;
export const snapshotId = z.string().regex(SNAPSHOT_ID);

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** The place of an object below the snapshot directory. */
export const objectPath = (sha256: string): string => `${OBJECTS}/${sha256.slice(0, 2)}/${sha256}`;
export const manifestPath = (id: string): string => `${EDITIONS}/${id}.json`;

export const fileRef = z.object({
  bytes: z.int(),
  sha256,
  /** Hash of the file's inputs. A file with unchanged inputs is taken over into the next snapshot. */
  inputs: z.string().optional(),
});
export type FileRef = z.infer<typeof fileRef>;

/** Files by name. */
export const fileList = z.record(z.string(), fileRef);
export type FileList = z.infer<typeof fileList>;

export const snapshotCounts = z.object({
  providers: z.int(),
  indicators: z.int(),
  countries: z.int(),
  observations: z.int(),
});

/** What changed in an edition, by provider. */
export const editionCounts = z.object({
  /** Indicators. */
  added: z.int(),
  withdrawn: z.int(),
  renamed: z.int(),
  revised: z.int(),
  /** With another name, unit or definition. */
  redefined: z.int(),
});

/** How an edition follows from the others. */
export const editionLineage = z.object({
  /** The edition that was served before, with which `changes` compares it; null for the first. */
  base: snapshotId.nullable(),
  /** What changed, as an object: `editionChanges`. Null for an edition without a base. */
  changes: fileRef.nullable(),
  /** By provider, only those with a change. */
  changed: z.record(z.string(), editionCounts),
  /** Made from the lake afterwards, of a time before the first publication. */
  backfilled: z.literal(true).optional(),
});
export type EditionLineage = z.infer<typeof editionLineage>;

export const manifest = z.object({
  format: storedFormat(SNAPSHOT_FORMAT),
  id: snapshotId,
  /** When its files were made, seconds before it was published. */
  generated_at: timestamp,
  counts: snapshotCounts,
  /** The lake run of each provider, for tracing figures. */
  runs: z.record(z.string(), z.string()),
  /** Hash of everything that is published but times. A build that finds its own hash served publishes nothing. */
  content: sha256,
  /** The list of each provider's kept files, as an object: a `fileList`. */
  providers: z.record(z.string(), fileRef),
  /** Kept files of no single provider. */
  kept: fileList,
  /** The list of prerendered files, as an object: a `fileList`. */
  prerendered: fileRef,
  lineage: editionLineage,
  /** The head of the tree of what series measure, groups and territories. Editions from before derived figures have none. */
  rules: z.object({ leaves: z.int(), root: sha256 }).optional(),
  /** In the last backfilled edition: the first publication, which follows from it since it was made. */
  successor: editionLineage.pick({ changes: true, changed: true }).extend({ edition: snapshotId }).optional(),
});
export type Manifest = z.infer<typeof manifest>;

/**
 * One published snapshot, as the log lists it. The first five members are its leaf in the tree of the log; the others
 * are copies of what manifests say (see `contradictedEntry`).
 */
export const logEntry = z.object({
  edition: snapshotId,
  /** Right before it was served. */
  published_at: timestamp,
  indicators: z.int(),
  /** Root of the tree over its indicators. */
  root: sha256,
  /** SHA-256 of its manifest. */
  manifest: sha256,
  counts: snapshotCounts,
  ...editionLineage.shape,
});
export type LogEntry = z.infer<typeof logEntry>;

/** The pointer moved back: the editions that led to `from` and not to `to` were taken back. */
export const rollbackRecord = z.object({
  from: snapshotId,
  to: snapshotId,
  at: timestamp,
  /** Public. Null where none was given. */
  reason: z.string().nullable(),
});
export type RollbackRecord = z.infer<typeof rollbackRecord>;

/** `log.json`. An edition stands when it is served or an ancestor (by `base`) of the served one. */
export const publicationLog = z.object({
  format: storedFormat(LOG_FORMAT).optional(),
  /** In the order in which they were added to the log. */
  editions: z.array(logEntry),
  /** The signed head of the log, a C2SP checkpoint. */
  checkpoint: z.string(),
  /** Oldest first; no more signed than the pointer is. */
  rollbacks: z.array(rollbackRecord).default([]),
});
export type PublicationLog = z.infer<typeof publicationLog>;

/** Figures that changed in one indicator, and their rows as an object (Parquet, REVISION columns of an edition). */
export const indicatorRevisions = z.object({
  added: z.int(),
  changed: z.int(),
  withdrawn: z.int(),
  restored: z.int(),
  file: fileRef,
});

/** What changed in an edition, by indicator. */
export const editionChanges = z.object({
  added: z.array(indicatorId),
  withdrawn: z.array(indicatorId),
  renamed: z.array(z.object({ from: indicatorId, to: indicatorId })),
  revised: z.record(z.string(), indicatorRevisions),
  redefined: z.array(redefinition),
});
export type EditionChanges = z.infer<typeof editionChanges>;

/** What pages of a series show first. */
export const seriesOpening = z.object({
  /** The newest with figures of at least 70 % as many countries as the year that has most. */
  year: z.int(),
  /** How many countries are ranked in it. */
  ranked: z.int(),
  /** Whether at least 90 % of the countries that are ranked in it or in the year before are ranked in both. */
  is_comparable: z.boolean(),
});
export type SeriesOpening = z.infer<typeof seriesOpening>;

/** One indicator in the gateway: the public record, and fields for sorting and filtering. */
export const indexedIndicator = z.object({
  record: indicatorRecord,
  /** Curated position within its topic; ties by name. */
  topic_order: z.int(),
  /** True when the series has forecast years beyond its newest observed year. */
  has_projections: z.boolean(),
  /** What operators edited in the record, as it is without their edits. */
  original: editableFacts.optional(),
  /** Snapshots of builds that did not read them have none. */
  traits: seriesTraits.optional(),
  /** Absent for a series without figures. */
  opening: seriesOpening.optional(),
});
export type IndexedIndicator = z.infer<typeof indexedIndicator>;

/** `catalogue/<provider>.json`, by id. */
export const providerCatalogue = z.array(indexedIndicator);

/** `relations/<provider>.json`: strongest first. */
export const relations = z.record(z.string(), z.array(relatedEntry));

/** An indicator that earlier snapshots have and this one no longer has, and the terms that govern it today. */
export const vanishedIndicator = z.object({
  id: indicatorId,
  access_tier: accessTier,
  licence: z.string(),
  licence_url: z.string().nullable(),
  attribution: z.string(),
});
export type VanishedIndicator = z.infer<typeof vanishedIndicator>;

/** English collation, so that Åland sorts with A; ties by id. Lists of countries and indicators come so. */
const collator = new Intl.Collator('en');
export function compareByName(a: { name: string; id: string }, b: { name: string; id: string }): number {
  return collator.compare(a.name, b.name) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/**
 * What `include` adds to an indicator record, by word: the name of a property, and of a folder of objects with a list by
 * indicator id. An indicator without an entry has an empty list.
 */
export const ADDITIONS = {
  sources: z.array(indicatorSource).describe('Who collected the figures, and the terms that follow from it'),
  quality: z
    .array(publicFinding)
    .describe('What the nightly build doubts in the figures or labels, and what was decided'),
  twins: z
    .array(indicatorTwin)
    .describe('Other series of the same statistic, the preferred one first, with the largest difference'),
  breaks: seriesBreaks,
} as const;
export type AdditionWord = keyof typeof ADDITIONS;
export const ADDITION_WORDS = Object.keys(ADDITIONS) as [AdditionWord, ...AdditionWord[]];

export const additionFile = (word: AdditionWord, provider: string): string => `${word}/${provider}.json`;

/** The lists by word, then by indicator id. */
export type Additions = {
  readonly [Word in AdditionWord]: ReadonlyMap<string, z.infer<(typeof ADDITIONS)[Word]>>;
};

export const excerptFile = (indicatorId: string): string => `excerpts/${indicatorId}.json`;

/**
 * `excerpts/<indicator id>.json`: the rows that the page of an indicator shows unless more is asked for, by country, then
 * year. They are those of its Parquet file, which takes several times as long to read. Compressed with zstd.
 */
export interface StoredExcerpt {
  /** The year of which it has the rows of all countries: the latest one. Null for a series without figures. */
  year: number | null;
  /** The countries of which it has all rows, by ISO3. */
  countries: string[];
  /** Each country with its number of rows, in row order. */
  runs: [iso3: string, rows: number][];
  /** Named as in Parquet. */
  columns: ExcerptColumns;
  /** By ISO3, what the source says of the figure of the latest year, where it says something. */
  statuses: Record<string, string>;
}

export interface ExcerptColumns {
  year: number[];
  value: (number | null)[];
  /** Null where no row has bounds. */
  ci_lo: (number | null)[] | null;
  ci_hi: (number | null)[] | null;
  rank: (number | null)[];
  rank_delta_1y: (number | null)[];
  projected: boolean[];
}

/** Drawn first, because readers know where to look for them. */
export const WELL_KNOWN: readonly string[] = ['KEN', 'BRA', 'IND'];
/** Countries whose histories are drawn unless others are chosen. */
export const DRAWN_COUNTRIES = 3;
