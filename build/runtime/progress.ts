/** Progress of a build, reported to the log and Redis (for operators). Observers never change the outcome. */
import type { Logger } from 'pino';
import type { BuildRun, ExcludedIndicator, RunProgress } from '../../data/schema/jobs.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import type { OperatorReport } from '../../data/schema/quality.ts';

export interface BuildObserver {
  /** An ingestion began (status `running`) or ended. */
  onRun?(record: RunRecord): void;
  /** A build began or ended. */
  onBuild?(build: BuildRun): void;
  /** Indicators that the snapshot just published leaves out. */
  onExcluded?(indicators: readonly ExcludedIndicator[]): void;
  /** The quality report of the snapshot just published. */
  onQuality?(report: OperatorReport): void;
  onProgress?(event: RunProgress): void;
}

/** Logs the beginning of every step, and forwards each event to `next`. */
export function loggedProgress(log: Logger, next: BuildObserver | null): BuildObserver {
  const steps = new Map<string, string>();
  return {
    onRun: (record) => next?.onRun?.(record),
    onBuild: (build) => next?.onBuild?.(build),
    onExcluded: (indicators) => next?.onExcluded?.(indicators),
    onQuality: (report) => next?.onQuality?.(report),
    onProgress(event) {
      next?.onProgress?.(event);
      const { task, step, total, unit } = event;
      if (steps.get(task) === step) return;
      steps.set(task, step);
      log.info({ task, step, total, unit }, 'progress');
    },
  };
}
