/**
 * One edition, as operations see it. It never changes, and a request uses one from start to end, so no answer mixes two.
 *
 * The served one is a `Snapshot`, which has most answers ready. Any other is a `ClosedEdition`, which computes them.
 */
import type { AdditionWord } from '../../data/schema/additions.ts';
import type { CountryRecord } from '../../data/schema/records.ts';
import type { LogEntry } from '../../data/schema/snapshot.ts';
import type { LoadedLists } from './added-lists.ts';
import type { ByteCache } from './byte-cache.ts';
import type { Catalogue, CatalogueEntry, CountryItem } from './catalogue.ts';
import type { CountryItems } from './country-items.ts';
import type { Observations } from './observations.ts';
import type { EarlierFigure } from './revision-index.ts';

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
  /** Undefined for an indicator that the edition does not have or that may not be published today. */
  indicator(id: string): CatalogueEntry | undefined | Promise<CatalogueEntry | undefined>;
  wholeCatalogue(): Catalogue | Promise<Catalogue>;
  /** The JSON body of GET /indicators/{id}. The indicator exists. */
  indicatorBody(id: string): Buffer | Promise<Buffer>;
  /** The JSON body of GET /countries/{iso3}, unfiltered. The country exists. */
  countryBody(iso3: string): Buffer | Promise<Buffer>;
  /** One country's topic items, parsed for filtering. */
  countryItems(iso3: string): CountryItems | Promise<CountryItems>;
  /** What `include` adds to some indicators. */
  additions(words: readonly AdditionWord[], ids: readonly string[]): Promise<LoadedLists>;
}

/** A ranking as a JSON document, and how many rows it serves. */
export interface RankingDocument {
  json: Buffer;
  rows: number;
}

/** What an edition is asked for by: a moment, or its id. */
export type EditionQuery = { moment_ms: number } | { id: string };

export interface Editions {
  /** All in the order in which they were added to the log. */
  readonly all: readonly LogEntry[];
  /** The served one and those before it, oldest first, without rolled-back ones. */
  readonly chain: readonly LogEntry[];
  /** The newest of the chain at a moment, or any by its id. @throws {SnapshotUnreadable} while there is no log. */
  find(query: EditionQuery): LogEntry | undefined;
  /** What the chain's editions had for a figure before it was revised; newest first. @throws {SnapshotUnreadable} */
  earlierFigures(indicator: string, iso3: string, year: number): Promise<readonly EarlierFigure[]>;
  /** @throws {QueueFull} {SnapshotUnreadable} */
  open(entry: Pick<LogEntry, 'edition'>): Edition | Promise<Edition>;
}
