/**
 * Handlers of the build's jobs. Each returns an outcome; only an unexpected error makes a job fail.
 * Jobs of one provider exclude each other by the lake's lock: the second one ends as `busy` and changes nothing.
 */
import { LockHeldError } from '../../data/runtime/file-lock.ts';
import type { JobService } from '../../data/runtime/jobs.ts';
import type { JobName, JobPayload, JobResult } from '../../data/schema/jobs.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import {
  buildSnapshot,
  describeBuild,
  NothingToPublish,
  rollback,
  SnapshotStorage,
  WAIT_FOR_BUILD_MS,
} from '../editions/editions.ts';
import { acceptRun, ingestProvider } from '../ingest/ingest.ts';
import { type NightlyDependencies, nightly, nightlyExitCode } from '../nightly.ts';

/** An operator may accept a run as soon as it is shown as held, shortly before its job ends. */
const WAIT_FOR_RUN_MS = 10_000;

export interface HandlerDependencies {
  /** Made for each job: the curated data may have changed since the last one. */
  createContext: (signal: AbortSignal) => Promise<NightlyDependencies>;
  /** Queues the build that follows an ingestion. */
  jobs: Pick<JobService, 'rebuild'>;
}

export type JobHandlers = {
  [Name in JobName]: (payload: JobPayload<Name>, signal: AbortSignal) => Promise<JobResult>;
};

export function createHandlers({ createContext, jobs }: HandlerDependencies): JobHandlers {
  const rebuildAfter = async (record: RunRecord): Promise<JobResult> => {
    const { status: outcome, reason } = record;
    if (outcome === 'succeeded') await jobs.rebuild();
    return { outcome, reason };
  };
  return {
    ingest: ({ provider, force }, signal) =>
      orBusy(async () =>
        rebuildAfter(await ingestProvider(await createContext(signal), provider, { force })),
      ),
    accept: ({ provider, run }, signal) =>
      orBusy(async () =>
        rebuildAfter(await acceptRun(await createContext(signal), provider, run, WAIT_FOR_RUN_MS)),
      ),
    nightly: async ({ all }, signal) => {
      const summary = await nightly(await createContext(signal), { all });
      const reasons = summary.providers
        .filter(({ outcome }) => ['failed', 'suspicious', 'cancelled'].includes(outcome))
        .map(({ provider, outcome }) => `${provider}: ${outcome}`);
      if (summary.build_error) reasons.push(summary.build_error);
      reasons.push(...summary.damaged);
      if (summary.archive_failed) reasons.push(`archive: ${summary.archive_error}`);
      const outcome = nightlyExitCode(summary) === 1 ? 'failed' : 'succeeded';
      return { outcome, reason: reasons.join('; ') || null };
    },
    rebuild: (_, signal) =>
      orBusy(async () => {
        const context = await createContext(signal);
        const summary = await buildSnapshot({ ...context, waitForOther_ms: WAIT_FOR_BUILD_MS });
        return { outcome: 'succeeded', reason: describeBuild(summary) };
      }),
    rollback: async ({ to, reason }, signal) => {
      const { settings, now } = await createContext(signal);
      const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
      const snapshot = await rollback(storage, { to: to ?? undefined, reason, now_ms: now() });
      return { outcome: 'succeeded', reason: `serving ${snapshot}` };
    },
  };
}

/** Turns a held lock into the outcome `busy`, and nothing to publish into `failed`. */
async function orBusy(work: () => Promise<JobResult>): Promise<JobResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LockHeldError) return { outcome: 'busy', reason: error.message };
    if (error instanceof NothingToPublish) return { outcome: 'failed', reason: error.message };
    throw error;
  }
}
