/** Ingests one provider: reads its upstream into a run directory of the lake. The next run recovers from a crash. */
import { createHash, hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Curated } from '../../data/curated/curated.ts';
import { acquireLock } from '../../data/runtime/file-lock.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { RunProgress } from '../../data/schema/jobs.ts';
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
    const source = options.starter
      ? resolveStarter(definition, dependencies.settings.CURATED_DIR)
      : resolveSource(definition, dependencies.settings);
    const signals = [lock.signal, dependencies.signalFor?.(providerId)].filter((one) => one !== undefined);
    const startedAt = dependencies.now();
    const { id, directory } = await lake.begin(startedAt);
    const log = dependencies.log.child({ provider: providerId, run: id });
    const context = { ...dependencies, definition, lake, options, source, id, directory, log };
    const record = await carryOut({ ...context, signal: AbortSignal.any(signals) }, startedAt);
    await lake.prune(dependencies.settings.LAKE_KEEP);
    return record;
  } finally {
    await lock.release();
  }
}

/** One run. */
interface Run extends Omit<IngestDependencies, 'signalFor'> {
  id: string;
  directory: string;
  definition: ProviderDefinition;
  lake: ProviderLake;
  options: IngestOptions;
  source: ResolvedSource;
  signal: AbortSignal;
}

async function carryOut(run: Run, startedAt: number): Promise<RunRecord> {
  const started: RunRecord = {
    ...emptyRecord(run.id, run.definition.id, startedAt),
    ...(run.options.starter ? { starter: true } : {}),
  };
  run.observer?.onRun?.(started);
  run.log.info('ingestion started');
  const outcome = await attempt(run);
  const ended = await endRun(run, started, {
    ...started,
    ...outcome,
    finished_at: formatTimestamp(run.now()),
  });
  const { status, reason, rows_written: rows, indicators } = ended;
  run.log.info({ status, rows, indicators, reason }, 'ingestion ended');
  return ended;
}

/**
 * Records the run. When that fails, records it as failed, without its data. The observer is called even when nothing
 * can be written.
 */
async function endRun(run: Run, started: RunRecord, record: RunRecord): Promise<RunRecord> {
  const { lake, directory, log, observer } = run;
  const isUnchanged = record.status === 'unchanged';
  if (isUnchanged) await lake.dropData(directory, record.sources?.run_id === record.run_id);
  else if (!['succeeded', 'suspicious'].includes(record.status)) await lake.dropData(directory);
  try {
    await lake.finish(directory, record);
    observer?.onRun?.(record);
    return record;
  } catch (error) {
    log.error({ err: error }, 'the run cannot be recorded');
    const { finished_at } = record;
    const failed: RunRecord = { ...started, status: 'failed', reason: describeError(error), finished_at };
    await lake.dropData(directory);
    const isRecorded = await lake.finish(directory, failed).then(
      () => true,
      () => false,
    );
    observer?.onRun?.(failed);
    if (isRecorded) return failed;
    throw error;
  }
}

async function attempt(run: Run): Promise<Outcome> {
  const upstream = openUpstream(run.source, run.lake.directory, run.signal, {
    now: run.now,
    ...run.upstream,
  });
  let isComplete = false;
  try {
    const outcome = await ingest(run, upstream);
    isComplete = true;
    return outcome;
  } catch (error) {
    if (run.signal.aborted) return { status: 'cancelled', reason: 'Cancelled.', bytes: upstream.bytes };
    run.log.error({ err: error }, 'ingestion failed');
    return { status: 'failed', reason: describeError(error), bytes: upstream.bytes };
  } finally {
    await upstream.close(isComplete);
  }
}

async function ingest(run: Run, upstream: TrackedUpstream): Promise<Outcome> {
  const { definition, lake, source, log, signal } = run;
  const currentYear = yearOf(run.now());
  const connector = run.findConnector(source.connector);
  const settings = parseSettings(connector, source.source, definition.id);
  const decisions = await definitionDigest(run.settings.CURATED_DIR, definition.id);
  const inputs = inputDigest(decisions, source);
  const previous = await lastGood(run);
  if (previous && !run.options.force && (await isConfirmed(run, previous, upstream, inputs))) {
    const sources = await knownSources(lake, previous);
    const newest_year = newestYearOf(await lake.series(previous), currentYear);
    return { ...unchanged(previous, upstream.bytes, sources), newest_year };
  }
  await using writer = await LakeWriter.open(join(lake.directory, '.scratch-rows'), MEMORY_MB);
  const reader = new ProviderReader({
    definition,
    curated: run.curated,
    writer,
    currentYear,
    log,
    onProgress: (progress) => report(run, { step: 'reading', ...progress, bytes: upstream.bytes }),
  });
  await reader.readAll(connector.read({ definition, settings, upstream, log, signal }));
  signal.throwIfAborted();
  if (reader.catalogue.length === 0) throw new Error(emptyReason(reader));
  const { length: done } = reader.catalogue;
  report(run, { step: 'writing', done, total: done, rows: reader.rows, bytes: upstream.bytes });
  return await finishRun({
    run,
    reader,
    writer,
    previous,
    bytes: upstream.bytes,
    currentYear,
    isStarter: run.options.starter === true,
    fetches: { inputs, definition: decisions, files: fetchedFiles(run, upstream) },
    files: await readFiles(run, upstream),
  });
}

/** The files read. Those of the starter data have the date of the checkout, which says nothing about upstream. */
function fetchedFiles({ options }: Run, upstream: TrackedUpstream): FetchedFile[] {
  const files = upstream.fetched();
  return options.starter ? files.map((file) => ({ ...file, last_modified: null })) : files;
}

/** The last good run; null when it cannot be read, so that this run replaces it. */
async function lastGood({ lake, log }: Run): Promise<LakeRun | null> {
  try {
    return await lake.current();
  } catch (error) {
    log.warn({ err: error }, 'the last good run cannot be read');
    return null;
  }
}

/** Whether neither the files of the last good run nor its inputs have changed. */
async function isConfirmed(
  run: Run,
  previous: LakeRun,
  upstream: TrackedUpstream,
  inputs: string,
): Promise<boolean> {
  const known = await readFetches(previous);
  if (known?.inputs !== inputs) return false;
  report(run, { step: 'checking upstream', done: 0, total: null, rows: 0, bytes: 0 });
  return upstream.unchanged(known.files);
}

async function readFiles(
  { definition, options, source }: Run,
  upstream: TrackedUpstream,
): Promise<ReadFile[]> {
  const layout = options.starter ? definition.starter : definition.mirror;
  const files = await upstream.hashes();
  return files.map(({ reference, sha256, bytes, fetched_ms, confirmed_ms }) => ({
    url: originUrl(definition, layout, source, reference),
    reference,
    sha256,
    bytes,
    fetched_at: formatTimestamp(fetched_ms),
    confirmed_at: formatTimestamp(confirmed_ms),
  }));
}

const report = ({ definition, observer }: Run, progress: Omit<RunProgress, 'task' | 'unit'>): void =>
  observer?.onProgress?.({ task: `ingest ${definition.id}`, unit: 'indicators', ...progress });

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
  hash('sha256', JSON.stringify([INGESTION_VERSION, source, definition]));

/** Digest of what people decide about a provider: its definition and the curated tables. */
async function definitionDigest(curatedDir: string, providerId: string): Promise<string> {
  const digest = createHash('sha256');
  for (const file of [
    'countries.csv',
    'places.csv',
    'concepts.csv',
    'concept-series.csv',
    `providers/${providerId}.yaml`,
    `overlay/${providerId}.csv`,
  ]) {
    digest.update(file).update(await readFile(join(curatedDir, file)).catch(() => 'absent'));
  }
  return digest.digest('hex');
}
