/**
 * The lake on disk: one directory per run of a provider, and a pointer to the last good run.
 *
 * A run is written to a hidden directory, with its record last, and becomes visible by one rename. The next run of the
 * provider records what a crash left as failed and removes it. The pointer always names the newest run that succeeded.
 * Everything that needs space is written before the rename; a reserve file keeps room to record a failed run.
 *
 * After LAKE_KEEP has removed a run, `history/<run id>/` keeps its record, its revisions and its list of upstream files for
 * ever. Hidden names are unfinished.
 */
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import {
  draftReplacement,
  replaceFile,
  syncDirectory,
  syncFiles,
  whenAbsent,
  writeFlushed,
} from '../../data/runtime/durable-files.ts';
import {
  type CatalogueEntry,
  catalogueEntry,
  LAKE_FORMAT,
  lakeFormat,
  type RunRecord,
  runRecord,
  type UpstreamAggregates,
  upstreamAggregates,
} from '../../data/schema/lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { CommandError } from '../runtime/errors.ts';
import { type SeriesFile, seriesFile } from './series-facts.ts';

export const OBSERVATIONS = 'observations.parquet';
export const REVISIONS = 'revisions.parquet';
export const SOURCES = 'sources.parquet';
export const FETCHES = 'fetches.json';
const CATALOGUE = 'catalogue.json';
const SERIES = 'series.json';
const VANISHED = 'vanished.json';
const AGGREGATES = 'aggregates.json';
const RUN = 'run.json';
/** The files of a run besides its record. */
const RUN_DATA = [OBSERVATIONS, CATALOGUE, SERIES, AGGREGATES, FETCHES, REVISIONS, SOURCES] as const;
/** The files that outlive LAKE_KEEP. */
const KEPT_FILES = [RUN, REVISIONS, SOURCES] as const;
/** Beside the runs: what outlives them. */
const HISTORY = 'history';
export const POINTER = 'current';
const UNFINISHED = '.running-';
/** Occupies space during a run, so that a failure on a full disk can be recorded. */
const RESERVE = '.reserve';
const RESERVE_BYTES = 64 * 1024;
/** Names of what is being written or removed; a crash leaves it. */
const SCRATCH = '.scratch';
/** Runs without data (failed, unchanged) that are kept. */
const RECORDS_KEPT = 100;

/** `20261120T020000Z`, which sorts by time. */
export const compactTime = (instant: number): string =>
  new Date(instant).toISOString().replaceAll(/[-:]|\.\d+/g, '');

export interface LakeRun {
  directory: string;
  /** Absent in the history, except for a run without `base_run`. */
  observations: string;
  record: RunRecord;
}

export class ProviderLake {
  readonly directory: string;
  readonly providerId: string;
  readonly #history: string;

  constructor(lakeDir: string, providerId: string) {
    this.directory = join(lakeDir, providerId);
    this.providerId = providerId;
    this.#history = join(this.directory, HISTORY);
  }

  get lockFile(): string {
    return join(this.directory, '.lock');
  }

  /** Ids of the finished runs within LAKE_KEEP, oldest first. */
  async runIds(): Promise<string[]> {
    const names = await readdir(this.directory, { withFileTypes: true }).catch(() => []);
    return names
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== HISTORY)
      .map((entry) => entry.name)
      .sort();
  }

  /** Ids of the runs in the history. */
  async #keptIds(): Promise<string[]> {
    const names = await readdir(this.#history).catch(() => []);
    return names.filter((name) => !name.startsWith('.'));
  }

  /** Records of the finished runs within LAKE_KEEP, oldest first. */
  async records(): Promise<RunRecord[]> {
    const ids = await this.runIds();
    const records = await Promise.all(ids.map((id) => this.record(id).catch(() => null)));
    return records.filter((record) => record !== null);
  }

  async record(runId: string): Promise<RunRecord> {
    return (await readRun(join(this.directory, runId))).record;
  }

  /** The last good run, or null. */
  async current(): Promise<LakeRun | null> {
    const id = await readFile(join(this.directory, POINTER), 'utf8').catch(() => null);
    return id === null ? null : this.run(id.trim());
  }

  async run(id: string): Promise<LakeRun> {
    return readRun(join(this.directory, id));
  }

  /** A run, or what the history keeps of it. */
  async keptRun(id: string): Promise<LakeRun> {
    return this.run(id).catch(() => readRun(join(this.#history, id)));
  }

  /** Every run that the lake has had, oldest first; of those that LAKE_KEEP removed, what is kept for ever. */
  async history(): Promise<LakeRun[]> {
    // A run moves from the one to the other: listed in this order, it is in one of them.
    const ids = new Set([...(await this.runIds()), ...(await this.#keptIds())]);
    const runs = await Promise.all([...ids].sort().map((id) => this.keptRun(id).catch(() => null)));
    return runs.filter((run) => run !== null);
  }

  async catalogue(run: LakeRun): Promise<CatalogueEntry[]> {
    return z.array(catalogueEntry).parse(JSON.parse(await readFile(join(run.directory, CATALOGUE), 'utf8')));
  }

  async series(run: LakeRun): Promise<SeriesFile> {
    return seriesFile.parse(JSON.parse(await readFile(join(run.directory, SERIES), 'utf8')));
  }

  /** Where the record of a run lies. */
  recordFile(runId: string): string {
    return join(this.directory, runId, RUN);
  }

  /** Starts a run: returns an unused id and the hidden directory to fill. */
  async begin(now: number): Promise<{ id: string; directory: string }> {
    await mkdir(this.directory, { recursive: true });
    const taken = new Set([...(await this.runIds()), ...(await this.#keptIds())]);
    const first = compactTime(now);
    let id = first;
    for (let number = 2; taken.has(id); number += 1) id = `${first}-${number}`;
    const directory = join(this.directory, UNFINISHED + id);
    try {
      await mkdir(directory);
      await writeFile(join(directory, RESERVE), Buffer.alloc(RESERVE_BYTES, ' '));
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
    return { id, directory };
  }

  /** The facts of all series that a run has, and as they were last of those that earlier good runs had. */
  async knownSeries(run: LakeRun): Promise<SeriesFile> {
    const text = await readFile(join(run.directory, VANISHED), 'utf8').catch(whenAbsent('{}'));
    return { ...seriesFile.parse(JSON.parse(text)), ...(await this.series(run)) };
  }

  /**
   * Remembers the series that the last good run knew and a run no longer has. Starter data are a selection of another day:
   * no later run is held against them.
   */
  async rememberVanished(directory: string, base: LakeRun | null, series: SeriesFile): Promise<void> {
    const known = base && !base.record.starter ? await this.knownSeries(base) : {};
    const vanished = Object.entries(known).filter(([slug]) => series[slug] === undefined);
    await writeFlushed(join(directory, VANISHED), JSON.stringify(Object.fromEntries(vanished)));
  }

  /** Removes the data of a run that is kept only as a record. */
  async dropData(directory: string, keepsSources = false): Promise<void> {
    for (const name of RUN_DATA.filter((one) => !(keepsSources && one === SOURCES)))
      await rm(join(directory, name), { force: true });
  }

  /** Takes the data of a finished run, but its revisions, into the directory of another by hard links. */
  async linkData(run: LakeRun, directory: string): Promise<void> {
    for (const name of await readdir(run.directory))
      if (name !== REVISIONS && RUN_DATA.some((one) => one === name))
        await link(join(run.directory, name), join(directory, name));
  }

  /** Writes the catalogue, the facts of each series and upstream's own figures of groups. */
  async describe(
    directory: string,
    catalogue: readonly CatalogueEntry[],
    series: SeriesFile,
    aggregates: UpstreamAggregates = {},
  ): Promise<void> {
    await writeFlushed(join(directory, CATALOGUE), JSON.stringify(catalogue));
    await writeFlushed(join(directory, SERIES), JSON.stringify(series));
    if (Object.keys(aggregates).length > 0)
      await writeFlushed(join(directory, AGGREGATES), JSON.stringify(aggregates));
  }

  /** Upstream's own figures of groups. */
  async aggregates(run: LakeRun): Promise<UpstreamAggregates> {
    const text = await readFile(join(run.directory, AGGREGATES), 'utf8').catch(whenAbsent('{}'));
    return upstreamAggregates.parse(JSON.parse(text));
  }

  /**
   * Ends a run: writes the record, renames the directory, and moves the pointer when the run succeeded.
   * @throws when the disk is full. The run is then still hidden and can be finished as failed.
   */
  async finish(directory: string, record: RunRecord): Promise<void> {
    await rm(join(directory, RESERVE), { force: true });
    await syncFiles((await readdir(directory)).map((name) => join(directory, name)));
    const isGood = record.status === 'succeeded';
    const pointer = isGood ? await draftReplacement(join(this.directory, POINTER), record.run_id) : null;
    try {
      await writeFlushed(join(directory, RUN), JSON.stringify({ format: LAKE_FORMAT, ...record }, null, 2));
      await syncDirectory(directory);
      await rename(directory, join(this.directory, record.run_id));
      await syncDirectory(this.directory);
    } catch (error) {
      await pointer?.discard();
      throw error;
    }
    await pointer?.commit();
  }

  /**
   * Recovers from a crash: records interrupted runs as failed, moves the pointer to the newest good run, and removes
   * temporary files. The caller holds the lock.
   * @returns the records of interrupted runs.
   */
  async recover(now: number): Promise<RunRecord[]> {
    await this.#pointAtNewest();
    const names = await readdir(this.directory).catch(() => []);
    const interrupted = names.filter((name) => name.startsWith(UNFINISHED)).sort();
    const records: RunRecord[] = [];
    for (const name of interrupted) {
      const record = this.#interruptedRecord(name.slice(UNFINISHED.length), now);
      await rm(join(this.directory, name), { recursive: true, force: true });
      await mkdir(join(this.directory, name));
      await this.finish(join(this.directory, name), record);
      records.push(record);
    }
    for (const name of names.filter(
      (one) => one.endsWith('.tmp') || one.startsWith('.lock.') || one.startsWith(SCRATCH),
    )) {
      await rm(join(this.directory, name), { recursive: true, force: true });
    }
    return records;
  }

  async #pointAtNewest(): Promise<void> {
    const pointer = await readFile(join(this.directory, POINTER), 'utf8').catch(() => '');
    const newest = (await this.records()).findLast(({ status }) => status === 'succeeded');
    const isAhead = newest !== undefined && newest.run_id > pointer.trim();
    if (isAhead) await replaceFile(join(this.directory, POINTER), newest.run_id);
  }

  #interruptedRecord(runId: string, now: number): RunRecord {
    const started = runId.replace(/^(....)(..)(..)T(..)(..)(..)Z.*$/, '$1-$2-$3T$4:$5:$6Z');
    return {
      ...emptyRecord(runId, this.providerId, Date.parse(started)),
      status: 'failed',
      finished_at: formatTimestamp(now),
      reason: 'The process ended before the run finished.',
    };
  }

  /**
   * Removes old runs. Keeps the current one and the newest `keep` with data; what is kept for ever of the others goes to
   * the history first.
   */
  async prune(keep: number): Promise<void> {
    const current = (await this.current())?.record.run_id;
    const records = (await this.records()).toReversed().filter((record) => record.run_id !== current);
    const hasData = (record: RunRecord): boolean => ['succeeded', 'suspicious'].includes(record.status);
    const old = [
      ...records.filter(hasData).slice(Math.max(0, keep - 1)),
      ...records.filter((record) => !hasData(record)).slice(RECORDS_KEPT),
    ];
    for (const record of old) await this.#remove(record);
  }

  async #remove(record: RunRecord): Promise<void> {
    const directory = join(this.directory, record.run_id);
    // Neither a failed nor a cancelled run added to the lake.
    if (['succeeded', 'suspicious', 'unchanged'].includes(record.status))
      await this.#keep(directory, record.run_id, record.base_run === null);
    const removed = join(this.directory, `${SCRATCH}-${record.run_id}`);
    await rename(directory, removed);
    await rm(removed, { recursive: true, force: true });
  }

  /** Takes files of a run into the history by hard links; they become visible together. Repeating it changes nothing. */
  async #keep(directory: string, runId: string, isFirst: boolean): Promise<void> {
    if ((await this.#keptIds()).includes(runId)) return;
    const draft = join(this.#history, `.draft-${runId}`);
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { recursive: true });
    const wanted: string[] = isFirst ? [...KEPT_FILES, OBSERVATIONS] : [...KEPT_FILES];
    for (const name of await readdir(directory))
      if (wanted.includes(name)) await link(join(directory, name), join(draft, name));
    await syncDirectory(draft);
    await rename(draft, join(this.#history, runId));
    await syncDirectory(this.#history);
  }
}

async function readRun(directory: string): Promise<LakeRun> {
  const file = join(directory, RUN);
  const stored: unknown = JSON.parse(await readFile(file, 'utf8'));
  const { error } = lakeFormat.safeParse(stored);
  if (error) throw new CommandError(`${file}: ${error.issues[0]?.message}`);
  return { directory, observations: join(directory, OBSERVATIONS), record: runRecord.parse(stored) };
}

/** The newest run that read its upstream, or found it unchanged; null when there is none. */
export const lastGood = (records: readonly RunRecord[]): RunRecord | null =>
  records.findLast(({ status, starter }) => !starter && (status === 'succeeded' || status === 'unchanged')) ??
  null;

/** The record of a run that has just started. */
export function emptyRecord(runId: string, providerId: string, startedAt: number): RunRecord {
  return {
    run_id: runId,
    provider_id: providerId,
    status: 'running',
    started_at: formatTimestamp(startedAt),
    finished_at: null,
    rows_written: 0,
    indicators: 0,
    countries: 0,
    bytes: 0,
    vintage: null,
    rejects: {},
    failed_indicators: [],
    reason: null,
  };
}
