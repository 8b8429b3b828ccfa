/**
 * The night: which providers are due, all of them ingested side by side within a limit, then one build, then the archive.
 *
 * One bad provider never holds up the others: its failure is a line in the summary, and its last good figures are
 * published again. A provider that somebody else is ingesting at the moment is left to them. The archive needs nothing
 * of the build and takes nothing from it: each is done whatever became of the other.
 */
import type { Logger } from 'pino';
import { LockHeldError } from '../data/runtime/file-lock.ts';
import type { ProviderDefinition } from '../data/schema/curated.ts';
import type { RunRecord } from '../data/schema/lake.ts';
import { type ArchiveSummary, archiveWarnings } from './archive/run-archive.ts';
import {
  type BuildDependencies,
  type BuildSummary,
  buildSnapshot,
  NothingToPublish,
} from './editions/build-snapshot.ts';
import { type IngestDependencies, ingestProvider } from './ingest/ingest-provider.ts';
import { ProviderLake } from './lake/lake.ts';
import { inParallel } from './runtime/in-parallel.ts';
import { describeError } from './runtime/machine-fault.ts';

const DAY_MS = 86_400_000;

/**
 * Days between two looks at a provider, by words of its cadence, the first that matches. Asking is cheap (an unchanged
 * upstream is a conditional request), so a provider is asked several times within its period: a monthly one weekly, a
 * yearly one weekly too, for nobody knows the day of its release.
 */
const CADENCES: readonly [RegExp, number][] = [
  [/fixed/i, 365],
  [/hour|daily|day/i, 1],
  [/week|month|quarter|year|annual|irregular/i, 7],
];
const DEFAULT_DAYS = 1;
/** A night that starts some minutes earlier than the last one still counts as the next. */
const SLACK_MS = 2 * 3_600_000;

const WAIT_FOR_BUILD_MS = 30 * 60_000;

/** Least time between two good runs. */
export function cadenceMs(cadence: string | null): number {
  const days = CADENCES.find(([words]) => words.test(cadence ?? ''))?.[1] ?? DEFAULT_DAYS;
  return days * DAY_MS;
}

/** Whether a provider's turn has come. One that never had a good run is always due. */
export function isDue(definition: ProviderDefinition, records: readonly RunRecord[], now: number): boolean {
  const good = records.findLast(({ status }) => status === 'succeeded' || status === 'unchanged');
  if (!good?.finished_at) return true;
  return now - Date.parse(good.finished_at) >= cadenceMs(definition.cadence) - SLACK_MS;
}

export interface NightlyDependencies
  extends IngestDependencies,
    Omit<BuildDependencies, keyof IngestDependencies> {
  settings: IngestDependencies['settings'] & BuildDependencies['settings'] & { INGEST_PARALLEL: number };
  /** Absent where there is no Redis: nothing is archived then, and the summary says so. */
  archive?: (() => Promise<ArchiveSummary>) | undefined;
}

export interface NightlyOptions {
  /** Only these, due or not. */
  providers?: readonly string[];
  /** All, due or not. */
  all?: boolean;
  /** No night of a service but a first snapshot: history is no part of it. */
  withoutArchive?: boolean;
}

/** What became of one provider. */
export interface ProviderResult {
  provider: string;
  /** Status of its run; `busy` when another process ingests it, `not_due` when its turn has not come. */
  outcome: RunRecord['status'] | 'busy' | 'not_due';
  reason: string | null;
  rows: number;
  seconds: number;
}

export interface NightlySummary {
  started_at: string;
  finished_at: string;
  providers: ProviderResult[];
  /** Null when nothing was published; `build_error` says why. */
  build: BuildSummary | null;
  build_error: string | null;
  /** Null when nothing was archived. */
  archive: ArchiveSummary | null;
  /** Why nothing was archived, or what a person has to look at. */
  archive_error: string | null;
  /** Whether the archive failed or left something: having no Redis is no failure. */
  archive_failed: boolean;
}

/** 0: all good. 1: nothing was published. 3: published, but some provider failed or is held, or the archive failed. */
export function nightlyExitCode(summary: NightlySummary): 0 | 1 | 3 {
  if (!summary.build) return 1;
  const bad = summary.providers.some(({ outcome }) =>
    ['failed', 'suspicious', 'cancelled'].includes(outcome),
  );
  return bad || summary.archive_failed ? 3 : 0;
}

/** Which providers are to be ingested, and which are not due. Sample providers only when asked for by name. */
async function plan(
  deps: NightlyDependencies,
  options: NightlyOptions,
): Promise<{ due: string[]; rest: string[] }> {
  const { curated, settings, now } = deps;
  const wanted = options.providers;
  const due: string[] = [];
  const rest: string[] = [];
  for (const [id, definition] of curated.providers) {
    if (wanted ? !wanted.includes(id) : !definition.enabled || definition.sample) continue;
    const records = await new ProviderLake(settings.LAKE_DIR, id).records();
    const turn = wanted !== undefined || options.all || isDue(definition, records, now());
    (turn ? due : rest).push(id);
  }
  return { due, rest };
}

async function ingestOne(deps: NightlyDependencies, provider: string): Promise<ProviderResult> {
  const begun = deps.now();
  const result = (outcome: ProviderResult['outcome'], reason: string | null, rows = 0): ProviderResult => ({
    provider,
    outcome,
    reason,
    rows,
    seconds: Math.round((deps.now() - begun) / 100) / 10,
  });
  try {
    const record = await ingestProvider(deps, provider);
    return result(record.status, record.reason, record.rows_written);
  } catch (error) {
    if (error instanceof LockHeldError) return result('busy', error.message);
    deps.log.error({ err: error, provider }, 'ingestion failed outside its run');
    return result('failed', describeError(error));
  }
}

async function ingestAll(deps: NightlyDependencies, due: readonly string[]): Promise<ProviderResult[]> {
  const results: ProviderResult[] = [];
  await inParallel(due, deps.settings.INGEST_PARALLEL, async (provider) => {
    results.push(await ingestOne(deps, provider));
  });
  return results.sort((a, b) => (a.provider < b.provider ? -1 : 1));
}

/** Runs a night. Never throws for what a provider, the build or the archive did wrong: the summary says it. */
export async function nightly(
  deps: NightlyDependencies,
  options: NightlyOptions = {},
): Promise<NightlySummary> {
  const startedAt = new Date(deps.now()).toISOString();
  const { due, rest } = await plan(deps, options);
  deps.log.info({ due, rest }, 'the night begins');
  const ingested = await ingestAll(deps, due);
  const idle = rest.map(
    (provider): ProviderResult => ({ provider, outcome: 'not_due', reason: null, rows: 0, seconds: 0 }),
  );
  const { build, error } = await buildOnce(deps, deps.log);
  const archived = options.withoutArchive ? NOT_ASKED : await archiveOnce(deps);
  return {
    started_at: startedAt,
    finished_at: new Date(deps.now()).toISOString(),
    providers: [...ingested, ...idle],
    build,
    build_error: error,
    ...archived,
  };
}

type Archived = Pick<NightlySummary, 'archive' | 'archive_error' | 'archive_failed'>;
const NOT_ASKED: Archived = { archive: null, archive_error: null, archive_failed: false };

async function archiveOnce({ archive: run, log, signal }: NightlyDependencies): Promise<Archived> {
  if (!run) return { ...NOT_ASKED, archive_error: 'there is no Redis at hand' };
  try {
    signal?.throwIfAborted();
    const archive = await run();
    const troubles = archiveWarnings(archive);
    return { archive, archive_error: troubles.join('; ') || null, archive_failed: troubles.length > 0 };
  } catch (error) {
    log.error({ err: error }, 'the archive failed');
    const why = error instanceof Error ? error.message : String(error);
    return { archive: null, archive_error: why, archive_failed: true };
  }
}

async function buildOnce(
  deps: BuildDependencies,
  log: Logger,
): Promise<{ build: BuildSummary | null; error: string | null }> {
  try {
    // A rebuild that an operator has just asked for must not cost the night its publication.
    const build = await buildSnapshot({ waitForOther_ms: WAIT_FOR_BUILD_MS, ...deps });
    return { build, error: null };
  } catch (error) {
    if (!(error instanceof NothingToPublish)) log.error({ err: error }, 'the build failed');
    return { build: null, error: describeError(error) };
  }
}
