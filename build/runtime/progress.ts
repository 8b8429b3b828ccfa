/**
 * What a build tells those who watch: a terminal, a log, and Redis, where operators see it.
 * Watching never changes the outcome: an observer is told, it is not asked.
 */

import type { ExcludedIndicator } from '../../data/schema/excluded-indicator.ts';
import type { BuildRun, RunProgress } from '../../data/schema/jobs.ts';
import type { RunRecord } from '../../data/schema/lake.ts';

export type ProgressEvent = RunProgress;

export interface BuildObserver {
  /** An ingestion began (status `running`) or ended. */
  onRun?(record: RunRecord): void;
  /** A build began or ended. */
  onBuild?(build: BuildRun): void;
  /** What the snapshot that has just been published leaves out. */
  onExcluded?(indicators: readonly ExcludedIndicator[]): void;
  onProgress?(event: ProgressEvent): void;
}

/** Tells several. */
export function combineObservers(...observers: readonly BuildObserver[]): BuildObserver {
  return {
    onRun: (record) => {
      for (const one of observers) one.onRun?.(record);
    },
    onBuild: (build) => {
      for (const one of observers) one.onBuild?.(build);
    },
    onExcluded: (indicators) => {
      for (const one of observers) one.onExcluded?.(indicators);
    },
    onProgress: (event) => {
      for (const one of observers) one.onProgress?.(event);
    },
  };
}
