/**
 * What each job does. A job's end says what became of it; only a fault of our own makes it fail. Jobs of one provider
 * exclude each other by the lake's lock, whoever holds it: a second one ends as `busy` and changes nothing.
 */
import { LockHeldError } from '../../data/runtime/file-lock.ts';
import type { JobService } from '../../data/runtime/jobs.ts';
import type { JobName, JobPayload, JobResult } from '../../data/schema/jobs.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { buildSnapshot, NothingToPublish } from '../editions/build-snapshot.ts';
import { acceptRun } from '../ingest/accept-run.ts';
import { ingestProvider } from '../ingest/ingest-provider.ts';
import { type NightlyDependencies, nightly, nightlyExitCode } from '../nightly.ts';
import { rollback, SnapshotStorage } from '../publish/snapshot-storage.ts';

/** A rebuild waits its turn behind a night's build. */
const WAIT_FOR_BUILD_MS = 30 * 60_000;

/** An operator may accept a run in the moment in which it is told to be held, before its job has ended. */
const WAIT_FOR_RUN_MS = 10_000;

export interface HandlerDependencies {
  /** The tools of one job: the curated data may have changed since the last one. */
  tools: (signal: AbortSignal) => Promise<NightlyDependencies>;
  /** Asks for the build that follows an ingestion. */
  desk: Pick<JobService, 'rebuild'>;
}

export type JobHandlers = {
  [Name in JobName]: (payload: JobPayload<Name>, signal: AbortSignal) => Promise<JobResult>;
};

export function createHandlers({ tools, desk }: HandlerDependencies): JobHandlers {
  const publishAfter = async (record: RunRecord): Promise<JobResult> => {
    const { status: outcome, reason } = record;
    if (outcome === 'succeeded') await desk.rebuild();
    return { outcome, reason };
  };
  return {
    ingest: ({ provider, force }, signal) =>
      unlessBusy(async () => publishAfter(await ingestProvider(await tools(signal), provider, { force }))),
    accept: ({ provider, run }, signal) =>
      unlessBusy(async () =>
        publishAfter(await acceptRun(await tools(signal), provider, run, WAIT_FOR_RUN_MS)),
      ),
    nightly: async ({ all }, signal) => {
      const summary = await nightly(await tools(signal), { all });
      const reason = summary.providers
        .filter(({ outcome }) => ['failed', 'suspicious', 'cancelled'].includes(outcome))
        .map(({ provider, outcome }) => `${provider}: ${outcome}`);
      if (summary.build_error) reason.push(summary.build_error);
      if (summary.archive_failed) reason.push(`archive: ${summary.archive_error}`);
      const outcome = nightlyExitCode(summary) === 1 ? 'failed' : 'succeeded';
      return { outcome, reason: reason.join('; ') || null };
    },
    rebuild: (_, signal) =>
      unlessBusy(async () => {
        const { snapshot } = await buildSnapshot({
          ...(await tools(signal)),
          waitForOther_ms: WAIT_FOR_BUILD_MS,
        });
        return { outcome: 'succeeded', reason: `published ${snapshot}` };
      }),
    rollback: async ({ to }, signal) => {
      const { settings } = await tools(signal);
      const snapshot = await rollback(new SnapshotStorage(settings.SNAPSHOT_DIR), to ?? undefined);
      return { outcome: 'succeeded', reason: `serving ${snapshot}` };
    },
  };
}

async function unlessBusy(work: () => Promise<JobResult>): Promise<JobResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LockHeldError) return { outcome: 'busy', reason: error.message };
    if (error instanceof NothingToPublish) return { outcome: 'failed', reason: error.message };
    throw error;
  }
}
