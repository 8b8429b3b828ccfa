/** Progress of a build, reported to the log and Redis (for operators). Observers never change the outcome. */
import type { Logger } from 'pino';
import type { BuildRun, ExcludedIndicator, RunProgress } from '../../data/schema/jobs.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import type { OperatorReport } from '../../data/schema/quality.ts';

export type ProgressEvent = RunProgress;

export interface BuildObserver {
  /** An ingestion began (status `running`) or ended. */
  onRun?(record: RunRecord): void;
  /** A build began or ended. */
  onBuild?(build: BuildRun): void;
  /** Indicators that the snapshot just published leaves out. */
  onExcluded?(indicators: readonly ExcludedIndicator[]): void;
  /** The quality report of the snapshot just published. */
  onQuality?(report: OperatorReport): void;
  onProgress?(event: ProgressEvent): void;
}

/** Forwards each event to all observers. */
export function combineObservers(...observers: readonly BuildObserver[]): BuildObserver {
  const tell = (event: (one: BuildObserver) => void): void => {
    for (const one of observers) event(one);
  };
  return {
    onRun: (record) => tell((one) => one.onRun?.(record)),
    onBuild: (build) => tell((one) => one.onBuild?.(build)),
    onExcluded: (indicators) => tell((one) => one.onExcluded?.(indicators)),
    onQuality: (report) => tell((one) => one.onQuality?.(report)),
    onProgress: (event) => tell((one) => one.onProgress?.(event)),
  };
}

/** Logs the beginning of every step. */
export function loggedProgress(log: Logger): BuildObserver {
  const steps = new Map<string, string>();
  return {
    onProgress({ task, step, total, unit }) {
      if (steps.get(task) === step) return;
      steps.set(task, step);
      log.info({ task, step, total, unit }, 'progress');
    },
  };
}
