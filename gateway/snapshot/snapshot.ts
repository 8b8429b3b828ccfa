/**
 * One open snapshot. It never changes, and a request uses one from start to end, so no answer mixes two. A retired
 * snapshot frees DuckDB and its caches when the last request that uses it has ended.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CATALOGUE, countryFile, type Manifest } from '../../data/schema/snapshot.ts';
import { AddedLists } from './added-lists.ts';
import { ByteCache } from './byte-cache.ts';
import { Catalogue } from './catalogue.ts';
import { type CountryItems, parseCountryItems } from './country-items.ts';
import { Observations } from './observations.ts';
import { QueryRunner } from './query-runner.ts';
import { RouteFiles } from './route-files.ts';
import { SnapshotFiles } from './snapshot-files.ts';
import { readManifest, verifyFiles } from './verify.ts';

const RANKING_BUDGET_BYTES = 12 * 1024 * 1024;
const COUNTRY_BUDGET_BYTES = 8 * 1024 * 1024;
const MEGABYTE = 1024 * 1024;

export interface SnapshotOptions {
  /** Memory for hot indicators, in MB. */
  hotCacheMb: number;
  queryTimeoutMs: number;
  /** Number of processes that share this memory equally. Default 1. */
  processCount?: number;
}

/** A ranking as a JSON document, and how many rows it serves. */
export interface RankingDocument {
  json: Buffer;
  rows: number;
}

interface Parts {
  id: string;
  manifest: Manifest;
  catalogue: Catalogue;
  source: SnapshotFiles;
  files: RouteFiles;
  addedLists: AddedLists;
  observations: Observations;
  queries: QueryRunner;
  processCount: number;
}

export class Snapshot {
  readonly id: string;
  readonly manifest: Manifest;
  readonly catalogue: Catalogue;
  readonly files: RouteFiles;
  readonly addedLists: AddedLists;
  readonly observations: Observations;
  readonly #source: SnapshotFiles;
  readonly #queries: QueryRunner;
  readonly #countries: ByteCache<CountryItems>;
  /** By indicator and year. */
  readonly rankings: ByteCache<RankingDocument>;
  #wasMissing = false;
  #users = 0;
  #retired = false;

  private constructor(parts: Parts) {
    this.id = parts.id;
    this.manifest = parts.manifest;
    this.catalogue = parts.catalogue;
    this.files = parts.files;
    this.addedLists = parts.addedLists;
    this.observations = parts.observations;
    this.#source = parts.source;
    this.#queries = parts.queries;
    this.#countries = new ByteCache(COUNTRY_BUDGET_BYTES / parts.processCount, ({ bytes }) => bytes);
    this.rankings = new ByteCache(RANKING_BUDGET_BYTES / parts.processCount, ({ json }) => json.byteLength);
  }

  /** Opens `<root>/<id>` after verifying every file against the manifest. @throws {SnapshotDamaged} */
  static async open(root: string, id: string, options: SnapshotOptions): Promise<Snapshot> {
    const { processCount = 1 } = options;
    const directory = join(root, id);
    const manifest = await readManifest(directory, id);
    await verifyFiles(directory, manifest);
    const catalogue = Catalogue.parse(await readFile(join(directory, CATALOGUE), 'utf8'));
    const source = new SnapshotFiles(directory, manifest);
    const files = await RouteFiles.open(source, manifest, processCount);
    const addedLists = await AddedLists.open(source);
    const queries = await QueryRunner.open(options.queryTimeoutMs, processCount);
    const observations = new Observations({
      files: source,
      queries,
      hotBytesMax: (options.hotCacheMb * MEGABYTE) / processCount,
      indicators: catalogue.indicators.size,
    });
    return new Snapshot({
      ...{ id, manifest, catalogue, source, files, addedLists },
      ...{ observations, queries, processCount },
    });
  }

  /** One country's topic items, parsed for filtering. */
  countryItems(iso3: string): CountryItems | Promise<CountryItems> {
    return this.#countries.getOrMake(iso3, async () => {
      const bytes = await this.files.bytes(countryFile(iso3), 'identity');
      return parseCountryItems(bytes.toString('utf8'));
    });
  }

  /** Why it cannot answer every call any more, as a sentence; null while it can. Looks for the files. */
  async fault(): Promise<string | null> {
    const isPresent = await this.isPresent();
    this.#wasMissing ||= !isPresent;
    if (!isPresent) return `The files of snapshot ${this.id} are missing.`;
    const { unreadable } = this.#source;
    if (unreadable !== null) return `The file ${unreadable} of snapshot ${this.id} cannot be read.`;
    return this.#wasMissing
      ? `The files of snapshot ${this.id} were missing and are not verified yet.`
      : null;
  }

  /** Whether its directory is there. */
  isPresent(): Promise<boolean> {
    return this.#source.isPresent();
  }

  /** Whether a newer snapshot has taken its place. */
  get isRetired(): boolean {
    return this.#retired;
  }

  /** A request starts to use the snapshot; `release` must follow. */
  retain(): void {
    this.#users += 1;
  }

  release(): void {
    this.#users -= 1;
    if (this.#retired && this.#users === 0) this.#close();
  }

  /** No new request gets it; it closes with the last `release`. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    if (this.#users === 0) this.#close();
  }

  #close(): void {
    this.#queries.close();
    this.observations.clear();
    this.files.clear();
    this.#countries.clear();
    this.rankings.clear();
  }
}
