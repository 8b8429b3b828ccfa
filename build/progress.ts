/**
 * What a build tells those who watch: a terminal, a log, later the worker that mirrors it to Redis.
 * Watching never changes the outcome: an observer is told, it is not asked.
 */
import type { RunRecord } from '../data/schema/lake.ts';

export interface ProgressEvent {
  /** `ingest gapminder`, `build`. One bar each. */
  task: string;
  /** What is being done: `reading`, `materialise`, ... */
  step: string;
  done: number;
  /** Null while nobody knows. */
  total: number | null;
  /** What is counted: `indicators`, `files`, `rows`. */
  unit: string;
  rows?: number;
  bytes?: number;
}

export interface BuildObserver {
  /** A run began (status `running`) or ended. */
  onRun?(record: RunRecord): void;
  onProgress?(event: ProgressEvent): void;
}
