/**
 * One edition, as operations see it. It never changes, and a request uses one from start to end, so no answer mixes two.
 *
 * The served one is a `Snapshot`, which has most answers ready. Any other is a `ClosedEdition`, which computes them.
 */

import type { Recipe } from '../../../../data/derived/recompute.ts';
import type { Notice, Receipt } from '../../../../data/proofs/receipt.ts';
import type { WithheldRecord } from '../../../../data/runtime/withheld.ts';
import type { IndicatorAlias } from '../../../../data/schema/curated.ts';
import type { EditionGroups, StoredGroups } from '../../../../data/schema/groups.ts';
import type {
  CountryDetail,
  CountryRecord,
  FreshnessRecord,
  IndicatorRecord,
  Redefinition,
} from '../../../../data/schema/records.ts';
import {
  type AdditionWord,
  type EditionChanges,
  type LogEntry,
  ROUTE_FILES,
  type RollbackRecord,
  type Sparkline,
} from '../../../../data/schema/snapshot.ts';
import type { ByteCache } from '../files/memory.ts';
import type { PublicationLogFile } from '../files/publication-log.ts';
import type { StoredFile } from '../files/whole-files.ts';
import type { Excerpt } from '../rows/excerpt.ts';
import type { Observations } from '../rows/observations.ts';
import type { Catalogue, CatalogueEntry, CountryItem } from './catalogue.ts';
import type { Derivation } from './derivations.ts';
import type { AskedRevisions, RevisionWithUnits } from './revisions.ts';

export interface Edition {
  readonly id: string;
  readonly generatedAt: string;
  /** By name. */
  readonly countries: readonly CountryItem[];
  readonly countriesByCode: ReadonlyMap<string, CountryRecord>;
  readonly observations: Observations;
  /** By indicator and year. */
  readonly rankings: ByteCache<RankingDocument>;
  /** All editions, as the served one governs them. */
  readonly editions: Editions;
  /** The id that an indicator has today, and the alias if another one was asked for. */
  resolve(id: string): ResolvedId;
  /**
   * By the id of today. Undefined for an indicator that the edition does not have or that may not be published today.
   */
  indicator(id: string): CatalogueEntry | undefined | Promise<CatalogueEntry | undefined>;
  wholeCatalogue(): Catalogue | Promise<Catalogue>;
  /** The JSON body of GET /indicators/{id}. The indicator exists. */
  indicatorBody(id: string): Buffer | Promise<Buffer>;
  /** The JSON body of GET /countries/{iso3}, unfiltered. The country exists. */
  countryBody(iso3: string): Buffer | Promise<Buffer>;
  /** The same as an object. */
  countryProfile(iso3: string): CountryProfile | Promise<CountryProfile>;
  /** The proof of a row that it has. @param indicator its id of today */
  receipt(indicator: string, iso3: string, year: number, notice: Notice): Promise<Receipt>;
  /** A derived figure with its proof; null for an edition from before they were proved. @param recipe by the ids of today */
  derivation(recipe: Recipe): Promise<Derivation | null>;
  /** Pictures of featured series by indicator; none for a closed edition. */
  sparklines(iso3: string): Promise<Readonly<Record<string, Sparkline>>>;
  /** What the page of an indicator shows first; null for a closed edition. */
  excerpt(indicator: string): Promise<Excerpt | null>;
  /** Those of a provider that are shown today. */
  indicatorsOf(provider: string): Promise<readonly IndicatorRecord[]>;
  /** All figures of an indicator that it has, by the id of today; null where some of them are not shown today. */
  wholeFile(id: string): Promise<StoredFile | null>;
  /** All open figures of a provider; null where there is no bundle (any more), or it has more than may be exported today. */
  bundle(provider: string): Promise<StoredFile | null>;
  /** The groups of which it has figures, with their members; null for an edition from before. */
  groups(): Promise<EditionGroups | null>;
  /** Figures of groups of countries, by group; null for an indicator that does not aggregate. @param id of today */
  groupFigures(id: string): Promise<StoredGroups | null>;
  /** What `include` adds to some indicators. */
  additions(words: readonly AdditionWord[], ids: readonly string[]): Promise<LoadedLists>;
}

/** What `include` adds, for one answer. */
export interface LoadedLists {
  /** The JSON text of an indicator's list. */
  json(word: AdditionWord, id: string): string;
}

/** One country with its latest values. */
export interface CountryProfile {
  record: Omit<CountryDetail, 'topics'>;
  topics: CountryDetail['topics'];
  /** Items held per topic, and of all topics. */
  topic_counts: Readonly<Record<string, number>>;
  count: number;
  /** About what it takes in memory. */
  bytes: number;
}

/** @param body that the build or `countryBody` wrote. */
export function parseProfile(body: Buffer): CountryProfile {
  const { data, meta } = JSON.parse(body.toString());
  const { topics, ...record } = data as CountryDetail;
  return { record, topics, topic_counts: meta.topic_counts, count: meta.count, bytes: body.length * 2 };
}

/** A ranking as a JSON document, and how many rows it serves. */
export interface RankingDocument {
  json: Buffer;
  rows: number;
}

/** What an edition is asked for by: a moment, or its id. */
export type EditionQuery = { moment_ms: number } | { id: string };

/** What one edition changed of one indicator. */
export interface IndicatorChange {
  entry: LogEntry;
  /** What happened to the indicator as a whole. */
  event: 'added' | 'withdrawn' | 'renamed' | null;
  /** Numbers of figures; null where none changed. */
  revised: Record<'added' | 'changed' | 'withdrawn' | 'restored', number> | null;
  /** How it is described since; null where nothing of it changed. */
  redefined: Redefinition | null;
}

/** The newest changes of one indicator. */
export interface IndicatorChanges {
  changes: readonly IndicatorChange[];
  /** The oldest edition that was looked at; undefined while there is no log. */
  since: LogEntry | undefined;
}

/** What the editions of the chain changed, one after the other. @throws {SnapshotUnreadable} {QueryTimeout} {QueueFull} */
export interface History {
  /** What an edition changed, as far as it may be shown today. */
  shownChanges(entry: LogEntry): Promise<EditionChanges>;
  /** Those of some providers of which anything may be shown today. */
  shownProviders(providers: Iterable<string>): Promise<ReadonlySet<string>>;
  /** The newest record of an indicator, by its id of today; undefined when it may not be shown. */
  newestRecord(id: string): Promise<CatalogueEntry | undefined>;
  /** What the newest editions changed of an indicator, newest first. @param id of today. */
  indicatorChanges(id: string): Promise<IndicatorChanges>;
  /** Every change of a figure, by country, year and edition. @param id of today. */
  revisions(id: string, asked: AskedRevisions): Promise<RevisionWithUnits[]>;
  /** The newest edition that changed the unit or the definition of an indicator. @param id of today. */
  lastRedefinition(id: string): Promise<{ entry: LogEntry; redefinition: Redefinition } | null>;
}

export interface ResolvedId {
  id: string;
  alias: IndicatorAlias | null;
}

export interface Editions {
  /** All in the order in which they were added to the log. */
  readonly all: readonly LogEntry[];
  /** The served one and those before it, oldest first, without rolled-back ones. */
  readonly chain: readonly LogEntry[];
  /** Oldest first. */
  readonly rollbacks: readonly RollbackRecord[];
  /** What was withheld from them. @throws {SnapshotUnreadable} */
  withheld(): Promise<WithheldRecord>;
  /** The newest of the chain at a moment, or any by its id. @throws {SnapshotUnreadable} while there is no log. */
  find(query: EditionQuery): LogEntry | undefined;
  /** What was signed of them. */
  readonly signedLog: Pick<PublicationLogFile, 'head' | 'keys'>;
  /** What they changed. */
  readonly history: History;
  /** A prerendered JSON body of the served one. */
  servedBody(file: string): Buffer | Promise<Buffer>;
  /** How many rows each indicator of the served one has. @throws {SnapshotUnreadable} */
  servedRowCounts(): Promise<ReadonlyMap<string, number>>;
  /** @throws {QueueFull} {SnapshotUnreadable} */
  open(entry: Pick<LogEntry, 'edition'>): Edition | Promise<Edition>;
}

/** How recent the data of each provider is, by its id. @throws {SnapshotUnreadable} */
export async function freshnessOf({ editions }: Edition): Promise<readonly FreshnessRecord[]> {
  const body = await editions.servedBody(ROUTE_FILES.freshness);
  return (JSON.parse(body.toString()) as { data: FreshnessRecord[] }).data;
}
