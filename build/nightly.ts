/**
 * The nightly run: ingest all due providers in parallel, build once, then archive.
 *
 * A failing provider never stops the others: the summary names it, and its last good figures are published again.
 * A provider that another process is ingesting is skipped. Build and archive run even if an earlier step failed.
 */
import type { Logger } from 'pino';
import { LockHeldError } from '../data/runtime/file-lock.ts';
import { inParallel } from '../data/runtime/in-parallel.ts';
import type { ProviderDefinition } from '../data/schema/curated.ts';
import type { LostPlace, RunRecord } from '../data/schema/lake.ts';
import { type ArchiveSummary, archiveWarnings } from './archive/run-archive.ts';
import {
  type BuildDependencies,
  type BuildSummary,
  buildSnapshot,
  NothingToPublish,
  SnapshotStorage,
  scrub,
  WAIT_FOR_BUILD_MS,
} from './editions/editions.ts';
import { type IngestDependencies, ingestProvider } from './ingest/ingest.ts';
import { lastGood, ProviderLake } from './lake/lake.ts';
import { describeError } from './runtime/errors.ts';

const DAY_MS = 86_400_000;

/**
 * Days between two ingestions of a provider, by the first pattern that its cadence matches. An unchanged upstream costs
 * one conditional request, so yearly providers are read weekly, too: their release day is unknown.
 */
const CADENCES: readonly [RegExp, number][] = [
  [/fixed/i, 365],
  [/hour|daily|day/i, 1],
  [/week|month|quarter|year|annual|irregular/i, 7],
];
const DEFAULT_DAYS = 1;
/** Makes a provider due although this run starts a little earlier in the day than the last one. */
const SLACK_MS = 2 * 3_600_000;

/** Minimum time between two good runs. */
export function cadenceMs(cadence: string | null): number {
  const days = CADENCES.find(([words]) => words.test(cadence ?? ''))?.[1] ?? DEFAULT_DAYS;
  return days * DAY_MS;
}

/** Whether a provider is due. One without a good run of its upstream always is. */
export function isDue(definition: ProviderDefinition, records: readonly RunRecord[], now: number): boolean {
  const good = lastGood(records);
  if (!good?.finished_at) return true;
  return now - Date.parse(good.finished_at) >= cadenceMs(definition.cadence) - SLACK_MS;
}

export interface NightlyDependencies
  extends IngestDependencies,
    Omit<BuildDependencies, keyof IngestDependencies> {
  settings: IngestDependencies['settings'] &
    BuildDependencies['settings'] & { INGEST_PARALLEL: number; SNAPSHOT_ORIGIN?: string | undefined };
  /** Absent without Redis. Nothing is then archived, which the summary reports. */
  archive?: (() => Promise<ArchiveSummary>) | undefined;
}

export interface NightlyOptions {
  /** Only these providers, due or not. */
  providers?: readonly string[];
  /** All providers, due or not. */
  all?: boolean;
  /** For a first snapshot, which has no history to archive. */
  withoutArchive?: boolean;
  /** Reads the starter data of the providers instead of their upstreams. */
  starter?: boolean;
}

export interface ProviderResult {
  provider: string;
  /** Status of its run, or `busy` when another process ingests it. */
  outcome: RunRecord['status'] | 'busy' | 'not_due';
  reason: string | null;
  rows: number;
  seconds: number;
  /** Null when no run was begun. */
  run_id: string | null;
  /** Countries that the run lost because it does not know how upstream writes them. */
  lost_places: LostPlace[];
}

export interface NightlySummary {
  started_at: string;
  finished_at: string;
  providers: ProviderResult[];
  /** Null when nothing was published; `build_error` has the reason, and null where an origin is followed. */
  build: BuildSummary | null;
  build_error: string | null;
  archive: ArchiveSummary | null;
  /** Why nothing was archived, or what needs a person's attention. */
  archive_error: string | null;
  /** Whether the archive failed or left entries behind. A missing Redis is no failure. */
  archive_failed: boolean;
  /** Published files of this night's share that are missing or damaged. */
  damaged: string[];
}

/** 0: success. 1: nothing was published. 3: published, but a provider failed, is held or lost countries, the archive failed, or files are damaged. */
export function nightlyExitCode(summary: NightlySummary): 0 | 1 | 3 {
  if (!summary.build && summary.build_error !== null) return 1;
  const hasBadProvider = summary.providers.some(
    ({ outcome, lost_places }) =>
      ['failed', 'suspicious', 'cancelled'].includes(outcome) || lost_places.length > 0,
  );
  return hasBadProvider || summary.archive_failed || summary.damaged.length > 0 ? 3 : 0;
}

/** Splits providers into due and not due. */
async function selectDue(
  { curated, settings, now }: NightlyDependencies,
  { providers: named, all }: NightlyOptions,
): Promise<{ due: string[]; notDue: string[] }> {
  const due: string[] = [];
  const notDue: string[] = [];
  for (const [id, definition] of curated.providers) {
    if (named ? !named.includes(id) : !definition.enabled) continue;
    const records = await new ProviderLake(settings.LAKE_DIR, id).records();
    const isIncluded = named !== undefined || all || isDue(definition, records, now());
    (isIncluded ? due : notDue).push(id);
  }
  return { due, notDue };
}

async function ingestOne(
  deps: NightlyDependencies,
  provider: string,
  { starter = false }: NightlyOptions,
): Promise<ProviderResult> {
  const startedAt = deps.now();
  const seconds = (): number => Math.round((deps.now() - startedAt) / 100) / 10;
  try {
    const record = await ingestProvider(deps, provider, { starter });
    return providerResult(provider, record.status, record.reason, seconds(), record);
  } catch (error) {
    if (error instanceof LockHeldError) return providerResult(provider, 'busy', error.message, seconds());
    deps.log.error({ err: error, provider }, 'ingestion failed outside its run');
    return providerResult(provider, 'failed', describeError(error), seconds());
  }
}

const providerResult = (
  provider: string,
  outcome: ProviderResult['outcome'],
  reason: string | null,
  seconds = 0,
  record?: RunRecord,
): ProviderResult => ({
  provider,
  outcome,
  reason,
  rows: record?.rows_written ?? 0,
  seconds,
  run_id: record?.run_id ?? null,
  lost_places: record?.lost_places ?? [],
});

async function ingestAll(
  deps: NightlyDependencies,
  due: readonly string[],
  options: NightlyOptions,
): Promise<ProviderResult[]> {
  const results: ProviderResult[] = [];
  await inParallel(due, deps.settings.INGEST_PARALLEL, async (provider) => {
    results.push(await ingestOne(deps, provider, options));
  });
  return results.sort((a, b) => (a.provider < b.provider ? -1 : 1));
}

/**
 * Runs the nightly build. Where an origin is followed it only archives: figures are built where the origin is filled.
 *
 * Errors of a provider, the build or the archive are reported in the summary, not thrown.
 */
export async function nightly(
  deps: NightlyDependencies,
  options: NightlyOptions = {},
): Promise<NightlySummary> {
  const startedAt = new Date(deps.now()).toISOString();
  const isMirror = deps.settings.SNAPSHOT_ORIGIN !== undefined;
  const { due, notDue } = isMirror ? { due: [], notDue: [] } : await selectDue(deps, options);
  deps.log.info({ due, not_due: notDue }, 'nightly run started');
  const ingested = await ingestAll(deps, due, options);
  const skipped = notDue.map((provider) => providerResult(provider, 'not_due', null));
  const { build, error } = isMirror ? NOT_BUILT : await buildOnce(deps, deps.log);
  const archived = options.withoutArchive ? NOT_ARCHIVED : await archiveOnce(deps);
  return {
    started_at: startedAt,
    finished_at: new Date(deps.now()).toISOString(),
    providers: [...ingested, ...skipped],
    build,
    build_error: error,
    ...archived,
    damaged: await scrubShare(deps),
  };
}

/** Reads this night's share of the published files again. */
async function scrubShare({ settings, now, log, signal }: NightlyDependencies): Promise<string[]> {
  if (settings.SNAPSHOT_ORIGIN !== undefined) return [];
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  try {
    const { damaged } = await scrub(storage, { keep: settings.SNAPSHOT_KEEP, night_ms: now(), signal });
    for (const fault of damaged) log.error({ fault }, 'a published file is not what was written');
    return damaged;
  } catch (error) {
    log.error({ err: error }, 'published files cannot be checked');
    return [describeError(error)];
  }
}

type Archived = Pick<NightlySummary, 'archive' | 'archive_error' | 'archive_failed'>;
const NOT_ARCHIVED: Archived = { archive: null, archive_error: null, archive_failed: false };

async function archiveOnce({ archive: run, log, signal }: NightlyDependencies): Promise<Archived> {
  if (!run) return { ...NOT_ARCHIVED, archive_error: 'Redis is not configured' };
  try {
    signal?.throwIfAborted();
    const archive = await run();
    const warnings = archiveWarnings(archive);
    return { archive, archive_error: warnings.join('; ') || null, archive_failed: warnings.length > 0 };
  } catch (error) {
    log.error({ err: error }, 'the archive failed');
    const message = error instanceof Error ? error.message : String(error);
    return { archive: null, archive_error: message, archive_failed: true };
  }
}

type Built = { build: BuildSummary | null; error: string | null };
const NOT_BUILT: Built = { build: null, error: null };

async function buildOnce(deps: BuildDependencies, log: Logger): Promise<Built> {
  try {
    // An operator's rebuild may hold the lock.
    const build = await buildSnapshot({ waitForOther_ms: WAIT_FOR_BUILD_MS, ...deps });
    return { build, error: null };
  } catch (error) {
    if (!(error instanceof NothingToPublish)) log.error({ err: error }, 'the build failed');
    return { build: null, error: describeError(error) };
  }
}
