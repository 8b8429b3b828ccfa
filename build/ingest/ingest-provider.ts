/**
 * One provider, one run: from upstream to a run directory in the lake.
 *
 * Guarantees: never two runs of a provider at once; every run leaves a record, whatever became of it; only a run that
 * succeeded becomes current, in one atomic step; an unchanged upstream costs no more than asking; a series that could
 * not be read this time keeps its last good rows; a crash leaves nothing that the next run does not put right.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Curated } from '../../data/curated.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import type { Connector } from '../connectors/connector.ts';
import { type EffectiveSource, effectiveSource } from '../connectors/source.ts';
import { Duck } from '../duckdb.ts';
import { writeFlushed } from '../durable-files.ts';
import { takeLock } from '../file-lock.ts';
import type { BuildObserver } from '../progress.ts';
import { fetchedFile, newestModification, type TrackedUpstream } from '../upstream/fetched-files.ts';
import { openUpstream, type UpstreamOptions } from '../upstream/open-upstream.ts';
import { holdReason } from './gates.ts';
import { inputDigest } from './input-digest.ts';
import {
  emptyRecord,
  FETCHES,
  type LakeRun,
  OBSERVATIONS,
  ProviderLake,
  REVISIONS,
  RUN_DATA,
} from './lake.ts';
import { LakeWriter } from './lake-writer.ts';
import { ProviderReader } from './reader.ts';
import { changedSeries, writeRevisions } from './revisions.ts';

const MEMORY_MB = 512;

export interface IngestDependencies {
  settings: Pick<Settings, 'LAKE_DIR' | 'LAKE_KEEP' | 'CURATED_DIR' | 'PROVIDER_MIRROR'>;
  curated: Curated;
  connectorFor: (protocol: string) => Connector;
  now: () => number;
  log: Logger;
  observer?: BuildObserver;
  signal?: AbortSignal;
  upstream?: UpstreamOptions;
}

export interface IngestOptions {
  /** Reads everything again even when nothing has changed. */
  force?: boolean;
}

const fetchesFile = z.object({ inputs: z.string(), files: z.array(fetchedFile) });

/**
 * Ingests one provider.
 * @returns the record of the run: `succeeded`, `unchanged`, `suspicious`, `failed` or `cancelled`.
 * @throws {LockHeld} when the provider is being ingested already; {RangeError} when there is no such provider.
 */
export async function ingestProvider(
  dependencies: IngestDependencies,
  providerId: string,
  options: IngestOptions = {},
): Promise<RunRecord> {
  const definition = dependencies.curated.providers.get(providerId);
  if (!definition) throw new RangeError(`there is no provider "${providerId}"`);
  const lake = new ProviderLake(dependencies.settings.LAKE_DIR, providerId);
  const lock = await takeLock(lake.lockFile, `provider ${providerId}`);
  try {
    for (const broken of await lake.recover(dependencies.now())) dependencies.observer?.onRun?.(broken);
    const record = await new ProviderRun(dependencies, definition, lake).run(options.force ?? false);
    await lake.prune(dependencies.settings.LAKE_KEEP);
    return record;
  } finally {
    await lock.release();
  }
}

/** What a run that went through found out; the record is made of it. */
type Outcome = Partial<RunRecord> & Pick<RunRecord, 'status'>;

class ProviderRun {
  readonly #deps: IngestDependencies;
  readonly #definition: ProviderDefinition;
  readonly #lake: ProviderLake;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  readonly #source: EffectiveSource;
  #directory = '';

  constructor(deps: IngestDependencies, definition: ProviderDefinition, lake: ProviderLake) {
    this.#deps = deps;
    this.#definition = definition;
    this.#lake = lake;
    this.#log = deps.log.child({ provider: definition.id });
    this.#signal = deps.signal ?? new AbortController().signal;
    this.#source = effectiveSource(definition, deps.settings);
  }

  async run(force: boolean): Promise<RunRecord> {
    const startedAt = this.#deps.now();
    const { id, directory } = await this.#lake.begin(startedAt);
    this.#directory = directory;
    const begun = emptyRecord(id, this.#definition.id, startedAt);
    this.#deps.observer?.onRun?.(begun);
    this.#log.info({ run: id }, 'ingestion started');
    const outcome = await this.#attempt(force);
    const record: RunRecord = { ...begun, ...outcome, finished_at: formatTimestamp(this.#deps.now()) };
    if (!['succeeded', 'suspicious'].includes(record.status)) await this.#dropData();
    await this.#lake.finish(directory, record);
    this.#deps.observer?.onRun?.(record);
    const { status, reason, rows_written: rows, indicators } = record;
    this.#log.info({ run: id, status, rows, indicators, reason }, 'ingestion ended');
    return record;
  }

  async #attempt(force: boolean): Promise<Outcome> {
    const upstream = openUpstream(this.#source, this.#lake.directory, this.#signal, this.#deps.upstream);
    try {
      return await this.#ingest(upstream, force);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (this.#signal.aborted) return { status: 'cancelled', reason: 'Cancelled.', bytes: upstream.bytes };
      this.#log.error({ err: error }, 'ingestion failed');
      return { status: 'failed', reason, bytes: upstream.bytes };
    } finally {
      await upstream.close();
    }
  }

  async #ingest(upstream: TrackedUpstream, force: boolean): Promise<Outcome> {
    const { curated, connectorFor, settings } = this.#deps;
    const connector = connectorFor(this.#source.connector);
    const connectorSettings = parseSettings(connector, this.#source.source, this.#definition.id);
    const inputs = await inputDigest(settings.CURATED_DIR, this.#definition.id, this.#source);
    const previous = await this.#lake.current();
    if (previous && !force && (await this.#nothingChanged(previous, upstream, inputs))) {
      return unchanged(previous, upstream.bytes);
    }
    const writer = await LakeWriter.open(join(this.#lake.directory, '.scratch-rows'), MEMORY_MB);
    try {
      const reader = new ProviderReader({
        definition: this.#definition,
        curated,
        writer,
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
      return await this.#conclude(reader, writer, upstream, previous, inputs);
    } finally {
      await writer.close();
    }
  }

  async #nothingChanged(previous: LakeRun, upstream: TrackedUpstream, inputs: string): Promise<boolean> {
    const text = await readFile(join(previous.directory, FETCHES), 'utf8').catch(() => 'null');
    const known = fetchesFile.safeParse(JSON.parse(text));
    if (!known.success || known.data.inputs !== inputs) return false;
    this.#progress('asking upstream', 0, null, 0, 0);
    return upstream.unchanged(known.data.files);
  }

  /** Everything after the last row was read: files, comparison with the last good run, verdict. */
  async #conclude(
    reader: ProviderReader,
    writer: LakeWriter,
    upstream: TrackedUpstream,
    previous: LakeRun | null,
    inputs: string,
  ): Promise<Outcome> {
    if (reader.catalogue.length === 0) {
      const [first] = reader.failed;
      throw new Error(first ? `no series could be read; ${first[0]}: ${first[1]}` : 'upstream has no series');
    }
    this.#progress('writing', reader.catalogue.length, reader.catalogue.length, reader.rows, upstream.bytes);
    const before = previous && (await this.#lake.series(previous));
    const carried = previous && before ? await this.#carry(reader, previous, before) : [];
    const observations = join(this.#directory, OBSERVATIONS);
    await writer.finish(
      observations,
      reader.countries,
      reader.statuses,
      previous && carried.length > 0 ? { file: previous.observations, slugs: carried } : null,
    );
    await this.#lake.describe(this.#directory, reader.catalogue, reader.series);
    const fetches = { inputs, files: upstream.fetched() };
    await writeFlushed(join(this.#directory, FETCHES), JSON.stringify(fetches));
    const facts: Omit<
      RunRecord,
      'status' | 'run_id' | 'provider_id' | 'started_at' | 'finished_at' | 'reason'
    > = {
      rows_written: Object.values(reader.series).reduce((sum, { rows }) => sum + rows, 0),
      indicators: reader.catalogue.length,
      countries: reader.countryCount,
      bytes: upstream.bytes,
      vintage: reader.vintage ?? newestModification(fetches.files),
      rejects: reader.rejects.summary(),
      failed_indicators: [...reader.failed].map(([slug, reason]) => ({ slug, reason })),
      newest_year: reader.newestYear,
      ...(carried.length > 0 ? { carried_indicators: carried } : {}),
    };
    if (!previous || !before) return { ...facts, status: 'succeeded' };
    return this.#compare(facts, reader, previous, before);
  }

  async #compare(
    facts: Omit<Outcome, 'status'> & Pick<RunRecord, 'rows_written' | 'countries'>,
    reader: ProviderReader,
    previous: LakeRun,
    before: Awaited<ReturnType<ProviderLake['series']>>,
  ): Promise<Outcome> {
    const changed = changedSeries(before, reader.series);
    const sameCatalogue =
      JSON.stringify(sorted(await this.#lake.catalogue(previous))) ===
      JSON.stringify(sorted(reader.catalogue));
    if (changed.length === 0 && sameCatalogue) return { ...facts, ...unchanged(previous, facts.bytes ?? 0) };
    const duck = await Duck.open({
      scratch: join(this.#lake.directory, '.scratch-revisions'),
      memoryMb: MEMORY_MB,
    });
    try {
      const revisions = await writeRevisions(
        duck,
        {
          previous: previous.observations,
          current: join(this.#directory, OBSERVATIONS),
          file: join(this.#directory, REVISIONS),
        },
        changed,
      );
      const reason = holdReason(
        this.#definition.gates,
        { record: previous.record, series: before },
        { record: facts, series: reader.series },
      );
      return { ...facts, revisions, reason, status: reason === null ? 'succeeded' : 'suspicious' };
    } finally {
      await duck.close();
    }
  }

  /** Keeps the last good rows of series that failed this time. Returns their slugs. */
  async #carry(
    reader: ProviderReader,
    previous: LakeRun,
    before: Awaited<ReturnType<ProviderLake['series']>>,
  ): Promise<string[]> {
    const entries = new Map((await this.#lake.catalogue(previous)).map((entry) => [entry.slug, entry]));
    const carried: string[] = [];
    for (const slug of [...reader.failed.keys()].sort()) {
      const entry = entries.get(slug);
      const facts = before[slug];
      if (!entry || !facts) continue;
      reader.catalogue.push(entry);
      reader.series[slug] = facts;
      carried.push(slug);
    }
    return carried;
  }

  /** A run without a place in the lake leaves its record alone. */
  async #dropData(): Promise<void> {
    for (const name of RUN_DATA) {
      await rm(join(this.#directory, name), { force: true });
    }
  }

  #progress(step: string, done: number, total: number | null, rows: number, bytes: number): void {
    const task = `ingest ${this.#definition.id}`;
    this.#deps.observer?.onProgress?.({ task, step, done, total, unit: 'indicators', rows, bytes });
  }
}

const sorted = <Item extends { slug: string }>(items: readonly Item[]): Item[] =>
  items.toSorted((a, b) => (a.slug < b.slug ? -1 : 1));

/** An unchanged run stands for the figures of the last good one. */
function unchanged(previous: LakeRun, bytes: number): Outcome {
  const { rows_written, indicators, countries, vintage, newest_year } = previous.record;
  return {
    status: 'unchanged',
    rows_written,
    indicators,
    countries,
    vintage,
    bytes,
    ...(newest_year === undefined ? {} : { newest_year }),
  };
}

function parseSettings(connector: Connector, source: unknown, providerId: string): unknown {
  const parsed = connector.settings.safeParse(source);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `source.${issue.path.join('.')}: ${issue.message}`);
  throw new Error(
    `the definition of ${providerId} does not suit connector ${connector.protocol}: ${lines.join('; ')}`,
  );
}
