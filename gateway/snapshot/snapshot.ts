/**
 * One open snapshot. It never changes; a request holds on to one from its start to its end, so that no answer mixes
 * two. A retired snapshot frees DuckDB and its caches when the last request that holds it has ended.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CATALOGUE, countryFile, type Manifest, observationsFile } from '../../data/schema/snapshot.ts';
import { ResponseCache } from '../http/response-cache.ts';
import { ByteCache } from './byte-cache.ts';
import { Catalogue } from './catalogue.ts';
import { type CountryItems, parseCountryItems } from './country-items.ts';
import { Observations } from './observations.ts';
import { QueryRunner } from './query-runner.ts';
import { RouteFiles } from './route-files.ts';
import { readManifest, verifyFiles } from './verify.ts';

const ANSWER_BUDGET_BYTES = 12 * 1024 * 1024;
const FREE_BUDGET_BYTES = 12 * 1024 * 1024;
const COUNTRY_BUDGET_BYTES = 8 * 1024 * 1024;
const MEGABYTE = 1024 * 1024;

export interface SnapshotOptions {
  /** Memory for hot indicators, in MB. */
  hotCacheMb: number;
  queryTimeoutMs: number;
  /** How many processes have this memory together, each its equal part. Default 1. */
  processCount?: number;
}

/** The bytes of a body, and how many rows it serves. */
export interface MadeAnswer {
  bytes: Buffer;
  rows: number;
}

interface Parts {
  id: string;
  manifest: Manifest;
  catalogue: Catalogue;
  files: RouteFiles;
  observations: Observations;
  queries: QueryRunner;
  processCount: number;
}

export class Snapshot {
  readonly id: string;
  readonly manifest: Manifest;
  readonly catalogue: Catalogue;
  readonly files: RouteFiles;
  readonly observations: Observations;
  readonly #queries: QueryRunner;
  readonly #countries: ByteCache<CountryItems>;
  /** Answers that the snapshot alone decides, made once and kept while there is room. */
  readonly answers: ByteCache<MadeAnswer>;
  /** Answers of free routes, by URL. */
  readonly free: ResponseCache;
  #holders = 0;
  #retired = false;

  private constructor(parts: Parts) {
    this.id = parts.id;
    this.manifest = parts.manifest;
    this.catalogue = parts.catalogue;
    this.files = parts.files;
    this.observations = parts.observations;
    this.#queries = parts.queries;
    this.#countries = new ByteCache(COUNTRY_BUDGET_BYTES / parts.processCount, ({ bytes }) => bytes);
    this.free = new ResponseCache(FREE_BUDGET_BYTES / parts.processCount);
    this.answers = new ByteCache(ANSWER_BUDGET_BYTES / parts.processCount, ({ bytes }) => bytes.byteLength);
  }

  /** Opens `<root>/<id>` after holding every file against the manifest. @throws {SnapshotDamaged} */
  static async open(root: string, id: string, options: SnapshotOptions): Promise<Snapshot> {
    const { processCount = 1 } = options;
    const directory = join(root, id);
    const manifest = await readManifest(directory, id);
    await verifyFiles(directory, manifest);
    const catalogue = Catalogue.parse(await readFile(join(directory, CATALOGUE), 'utf8'));
    const files = await RouteFiles.open(directory, manifest, processCount);
    const queries = await QueryRunner.open(options.queryTimeoutMs, processCount);
    const observations = new Observations({
      directory,
      queries,
      hotBytesMax: (options.hotCacheMb * MEGABYTE) / processCount,
      fileBytes: (indicator) => manifest.files[observationsFile(indicator)]?.bytes ?? 0,
      indicators: catalogue.indicators.size,
    });
    return new Snapshot({ id, manifest, catalogue, files, observations, queries, processCount });
  }

  /** One country's topic items, taken apart for filtering. */
  countryItems(iso3: string): CountryItems | Promise<CountryItems> {
    return this.#countries.get(iso3, async () => {
      const bytes = await this.files.bytes(countryFile(iso3), 'identity');
      return parseCountryItems(bytes.toString('utf8'));
    });
  }

  /** A request begins to use it; `release` must follow. */
  retain(): void {
    this.#holders += 1;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#retired && this.#holders === 0) this.#close();
  }

  /** No new request gets it: it closes when the last holder releases it. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    if (this.#holders === 0) this.#close();
  }

  #close(): void {
    this.#queries.close();
    this.observations.clear();
    this.files.clear();
    this.#countries.clear();
    this.answers.clear();
    this.free.clear();
  }
}
