/** A build as those see it who watch: that it began, how it ended, and its id in every line of its log. */
import { type BuildRun, SNAPSHOT_SUBJECT } from '../../data/schema/jobs.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { compactTime } from '../lake/lake.ts';
import { sentenceOf } from '../runtime/local-fault.ts';
import type { BuildDependencies, BuildSummary } from './build-snapshot.ts';

/** Tells those who watch how a build began and ended. */
export async function tellOfBuild(
  deps: BuildDependencies,
  build: (deps: BuildDependencies) => Promise<BuildSummary>,
): Promise<BuildSummary> {
  const startedAt = deps.now();
  const begun: BuildRun = {
    run_id: compactTime(startedAt),
    status: 'running',
    started_at: formatTimestamp(startedAt),
    finished_at: null,
    reason: null,
    snapshot: null,
    counts: null,
    steps_ms: {},
  };
  deps.observer?.onBuild?.(begun);
  const log = deps.log.child({ run: begun.run_id });
  const end = (outcome: Partial<BuildRun>): void => {
    deps.observer?.onBuild?.({ ...begun, ...outcome, finished_at: formatTimestamp(deps.now()) });
  };
  const signals = [deps.signal, deps.signalFor?.(SNAPSHOT_SUBJECT)];
  const signal = AbortSignal.any(signals.filter((one) => one !== undefined));
  try {
    const summary = await build({ ...deps, log, signal });
    const { snapshot, counts, steps_ms } = summary;
    end({ status: 'succeeded', snapshot, counts, steps_ms });
    return summary;
  } catch (error) {
    const reason = sentenceOf(error);
    log.warn({ reason }, 'snapshot not published');
    end({ status: signal.aborted ? 'cancelled' : 'failed', reason });
    throw error;
  }
}
