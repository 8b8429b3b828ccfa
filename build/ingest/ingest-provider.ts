/** Ingests one provider: reads its upstream into a run directory of the lake. The next run recovers from a crash. */
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Curated } from '../../data/curated/curated.ts';
import { acquireLock } from '../../data/runtime/file-lock.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { ReadFile, RunRecord } from '../../data/schema/lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import type { Connector } from '../connectors/connector.ts';
import {
  emptyRecord,
  knownSources,
  type LakeRun,
  LakeWriter,
  newestYearOf,
  ProviderLake,
  RUN_DATA,
  SOURCES,
  yearOf,
} from '../lake/lake.ts';
import { describeError } from '../runtime/errors.ts';
import type { BuildObserver } from '../runtime/progress.ts';
import {
  openUpstream,
  originUrl,
  type ResolvedSource,
  resolveSource,
  resolveStarter,
  type UpstreamOptions,
} from '../upstream/open-upstream.ts';
import type { FetchedFile, TrackedUpstream } from '../upstream/upstream.ts';
import { finishRun, MEMORY_MB, type Outcome, readFetches, unchanged } from './finish-run.ts';
import { ProviderReader } from './provider-reader.ts';

export interface IngestDependencies {
  settings: Pick<Settings, 'LAKE_DIR' | 'LAKE_KEEP' | 'CURATED_DIR' | 'PROVIDER_MIRROR'>;
  curated: Curated;
  findConnector: (protocol: string) => Connector;
  now: () => number;
  log: Logger;
  observer?: BuildObserver;
  /** Cancels every run. */
  signal?: AbortSignal;
  /** Cancels the run of one provider. */
  signalFor?: (providerId: string) => AbortSignal;
  upstream?: UpstreamOptions;
}

export interface IngestOptions {
  /** Reads everything again, even when upstream has not changed. */
  force?: boolean;
  /** Reads the starter data instead of upstream, and marks the run. */
  starter?: boolean;
}

/**
 * Ingests one provider.
 * @returns the record of the run: `succeeded`, `unchanged`, `suspicious`, `failed` or `cancelled`.
 * @throws {LockHeldError} when the provider is being ingested; {RangeError} for an unknown provider.
 */
export async function ingestProvider(
  dependencies: IngestDependencies,
  providerId: string,
  options: IngestOptions = {},
): Promise<RunRecord> {
  const definition = dependencies.curated.providers.get(providerId);
  if (!definition) throw new RangeError(`there is no provider "${providerId}"`);
  const lake = new ProviderLake(dependencies.settings.LAKE_DIR, providerId);
  const { signal } = dependencies;
  const lock = await acquireLock(lake.lockFile, `provider ${providerId}`, { signal });
  try {
    for (const interrupted of await lake.recover(dependencies.now()))
      dependencies.observer?.onRun?.(interrupted);
    const run = new ProviderRun({ ...dependencies, signal: lock.signal }, definition, lake, options);
    const record = await run.run();
    await lake.prune(dependencies.settings.LAKE_KEEP);
    return record;
  } finally {
    await lock.release();
  }
}

/** The state of one run. */
class ProviderRun {
  readonly #deps: IngestDependencies;
  readonly #definition: ProviderDefinition;
  readonly #lake: ProviderLake;
  #log: Logger;
  readonly #signal: AbortSignal;
  readonly #source: ResolvedSource;
  readonly #options: IngestOptions;
  #runId = '';
  #directory = '';

  constructor(
    deps: IngestDependencies,
    definition: ProviderDefinition,
    lake: ProviderLake,
    options: IngestOptions,
  ) {
    this.#deps = deps;
    this.#definition = definition;
    this.#lake = lake;
    this.#log = deps.log.child({ provider: definition.id });
    const { signal, signalFor } = deps;
    this.#signal = AbortSignal.any([signal, signalFor?.(definition.id)].filter((one) => one !== undefined));
    this.#options = options;
    this.#source = options.starter
      ? resolveStarter(definition, deps.settings.CURATED_DIR)
      : resolveSource(definition, deps.settings);
  }

  async run(): Promise<RunRecord> {
    const startedAt = this.#deps.now();
    const { id, directory } = await this.#lake.begin(startedAt);
    this.#runId = id;
    this.#directory = directory;
    const started: RunRecord = {
      ...emptyRecord(id, this.#definition.id, startedAt),
      ...(this.#options.starter ? { starter: true } : {}),
    };
    this.#deps.observer?.onRun?.(started);
    this.#log = this.#log.child({ run: id });
    this.#log.info('ingestion started');
    const outcome = await this.#attempt();
    const record: RunRecord = { ...started, ...outcome, finished_at: formatTimestamp(this.#deps.now()) };
    const ended = await this.#end(started, record);
    const { status, reason, rows_written: rows, indicators } = ended;
    this.#log.info({ status, rows, indicators, reason }, 'ingestion ended');
    return ended;
  }

  /**
   * Records the run. When that fails, records it as failed, without its data. The observer is called even when nothing
   * can be written.
   */
  async #end(started: RunRecord, record: RunRecord): Promise<RunRecord> {
    if (record.status === 'unchanged') await this.#dropData(record.sources?.run_id === record.run_id);
    else if (!['succeeded', 'suspicious'].includes(record.status)) await this.#dropData();
    try {
      await this.#lake.finish(this.#directory, record);
      this.#deps.observer?.onRun?.(record);
      return record;
    } catch (error) {
      this.#log.error({ err: error }, 'the run cannot be recorded');
      const { finished_at } = record;
      const failed: RunRecord = { ...started, status: 'failed', reason: describeError(error), finished_at };
      await this.#dropData();
      const isRecorded = await this.#lake.finish(this.#directory, failed).then(
        () => true,
        () => false,
      );
      this.#deps.observer?.onRun?.(failed);
      if (isRecorded) return failed;
      throw error;
    }
  }

  async #attempt(): Promise<Outcome> {
    const upstream = openUpstream(this.#source, this.#lake.directory, this.#signal, {
      now: this.#deps.now,
      ...this.#deps.upstream,
    });
    let isComplete = false;
    try {
      const outcome = await this.#ingest(upstream);
      isComplete = true;
      return outcome;
    } catch (error) {
      const reason = describeError(error);
      if (this.#signal.aborted) return { status: 'cancelled', reason: 'Cancelled.', bytes: upstream.bytes };
      this.#log.error({ err: error }, 'ingestion failed');
      return { status: 'failed', reason, bytes: upstream.bytes };
    } finally {
      await upstream.close(isComplete);
    }
  }

  async #ingest(upstream: TrackedUpstream): Promise<Outcome> {
    const { curated, findConnector, settings } = this.#deps;
    const currentYear = yearOf(this.#deps.now());
    const connector = findConnector(this.#source.connector);
    const connectorSettings = parseSettings(connector, this.#source.source, this.#definition.id);
    const definition = await definitionDigest(settings.CURATED_DIR, this.#definition.id);
    const inputs = inputDigest(definition, this.#source);
    const previous = await this.#lastGood();
    if (previous && !this.#options.force && (await this.#isConfirmed(previous, upstream, inputs))) {
      const sources = await knownSources(this.#lake, previous);
      const newest_year = newestYearOf(await this.#lake.series(previous), currentYear);
      return { ...unchanged(previous, upstream.bytes, sources), newest_year };
    }
    await using writer = await LakeWriter.open(join(this.#lake.directory, '.scratch-rows'), MEMORY_MB);
    const reader = new ProviderReader({
      definition: this.#definition,
      curated,
      writer,
      currentYear,
      log: this.#log,
      onProgress: ({ indicators, planned, rows }) =>
        this.#progress('reading', indicators, planned, rows, upstream.bytes),
    });
    await reader.readAll(
      connector.read({
        definition: this.#definition,
        settings: connectorSettings,
        upstream,
        log: this.#log,
        signal: this.#signal,
      }),
    );
    this.#signal.throwIfAborted();
    if (reader.catalogue.length === 0) throw new Error(emptyReason(reader));
    const { length: done } = reader.catalogue;
    this.#progress('writing', done, done, reader.rows, upstream.bytes);
    return await finishRun({
      runId: this.#runId,
      definition: this.#definition,
      curated,
      isStarter: this.#options.starter === true,
      lake: this.#lake,
      directory: this.#directory,
      reader,
      writer,
      previous,
      bytes: upstream.bytes,
      currentYear,
      fetches: { inputs, definition, files: this.#fetched(upstream) },
      files: await this.#readFiles(upstream),
    });
  }

  /** The files read. Those of the starter data have the date of the checkout, which says nothing about upstream. */
  #fetched(upstream: TrackedUpstream): FetchedFile[] {
    const files = upstream.fetched();
    return this.#options.starter ? files.map((file) => ({ ...file, last_modified: null })) : files;
  }

  /** The last good run; null when it cannot be read, so that this run replaces it. */
  async #lastGood(): Promise<LakeRun | null> {
    try {
      return await this.#lake.current();
    } catch (error) {
      this.#log.warn({ err: error }, 'the last good run cannot be read');
      return null;
    }
  }

  /** Whether neither the files of the last good run nor its inputs have changed. */
  async #isConfirmed(previous: LakeRun, upstream: TrackedUpstream, inputs: string): Promise<boolean> {
    const known = await readFetches(previous);
    if (known?.inputs !== inputs) return false;
    this.#progress('checking upstream', 0, null, 0, 0);
    return upstream.unchanged(known.files);
  }

  async #readFiles(upstream: TrackedUpstream): Promise<ReadFile[]> {
    const { starter, mirror } = this.#definition;
    const layout = this.#options.starter ? starter : mirror;
    const files = await upstream.hashes();
    return files.map(({ reference, sha256, bytes, fetched_ms, confirmed_ms }) => ({
      url: originUrl(this.#definition, layout, this.#source, reference),
      ...{ reference, sha256, bytes },
      fetched_at: formatTimestamp(fetched_ms),
      confirmed_at: formatTimestamp(confirmed_ms),
    }));
  }

  /** Removes the data of a run that is kept only as a record. */
  async #dropData(keepsSources = false): Promise<void> {
    for (const name of RUN_DATA.filter((one) => !(keepsSources && one === SOURCES))) {
      await rm(join(this.#directory, name), { force: true });
    }
  }

  #progress(step: string, done: number, total: number | null, rows: number, bytes: number): void {
    const task = `ingest ${this.#definition.id}`;
    this.#deps.observer?.onProgress?.({ task, step, done, total, unit: 'indicators', rows, bytes });
  }
}

function emptyReason(reader: ProviderReader): string {
  const [first] = reader.failed;
  return first ? `no series could be read; ${first[0]}: ${first[1].reason}` : 'upstream has no series';
}

function parseSettings(connector: Connector, source: unknown, providerId: string): unknown {
  const parsed = connector.settings.safeParse(source);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `source.${issue.path.join('.')}: ${issue.message}`);
  throw new Error(
    `the definition of ${providerId} is not valid for connector ${connector.protocol}: ${lines.join('; ')}`,
  );
}

/** Increment when ingestion accepts or rejects rows differently, or keeps more of what it reads. */
const INGESTION_VERSION = 7;

/**
 * Digest of what a run depends on besides upstream files: the definition, the curated tables and this code's version.
 * When it changes, an unchanged upstream is read again.
 */
const inputDigest = (definition: string, source: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify([INGESTION_VERSION, source, definition]))
    .digest('hex');

/** Digest of what people decide about a provider: its definition and the curated tables. */
async function definitionDigest(curatedDir: string, providerId: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of [
    'countries.csv',
    'places.csv',
    'concepts.csv',
    'concept-series.csv',
    `providers/${providerId}.yaml`,
    `overlay/${providerId}.csv`,
  ]) {
    hash.update(file).update(await readFile(join(curatedDir, file)).catch(() => 'absent'));
  }
  return hash.digest('hex');
}
