/**
 * Progress of a build, reported to a terminal, the log and Redis (for operators). Observers never change the outcome.
 */

import type { WriteStream } from 'node:tty';
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
    onQuality: (report) => {
      for (const one of observers) one.onQuality?.(report);
    },
    onProgress: (event) => {
      for (const one of observers) one.onProgress?.(event);
    },
  };
}

const BAR_WIDTH = 24;
const REDRAW_MS = 80;
const CLEAR_LINE = '\u001b[2K';
const CLEAR_BELOW = '\u001b[J';
const up = (lines: number): string => (lines > 0 ? `\u001b[${lines}A` : '');

/** `#####.....  210/478 indicators  1,234,567 rows  34 MB` */
export function progressLine(event: ProgressEvent, width: number): string {
  const { task, step, done, total, unit, rows, bytes } = event;
  const share = total ? Math.min(1, done / total) : 0;
  const filled = Math.round(share * BAR_WIDTH);
  const bar = '#'.repeat(filled) + '.'.repeat(BAR_WIDTH - filled);
  const count = `${done.toLocaleString('en')}${total === null ? '' : `/${total.toLocaleString('en')}`} ${unit}`;
  const more = [
    ...(rows ? [`${rows.toLocaleString('en')} rows`] : []),
    ...(bytes ? [`${Math.round(bytes / 1e6).toLocaleString('en')} MB`] : []),
  ];
  const line = `${task.padEnd(24)} ${step.padEnd(16)} ${bar} ${[count, ...more].join('  ')}`;
  return line.slice(0, Math.max(20, width - 1));
}

/** The parts of a terminal stream that progress uses. */
export interface Terminal {
  write(text: string): unknown;
  columns?: WriteStream['columns'];
}

export interface ProgressDisplay extends BuildObserver {
  onProgress(event: ProgressEvent): void;
  /** Erases what is drawn: the result says how it ended. */
  close(): void;
}

/** Draws one progress line per task on a terminal. */
export function terminalProgress(terminal: Terminal, now: () => number): ProgressDisplay {
  const lines = new Map<string, ProgressEvent>();
  let drawn = 0;
  let drawnAt = 0;
  const draw = (): void => {
    const text = [...lines.values()].map(
      (event) => CLEAR_LINE + progressLine(event, terminal.columns || 100),
    );
    terminal.write(`${up(drawn)}\r${text.join('\n')}\n`);
    drawn = text.length;
    drawnAt = now();
  };
  return {
    onProgress(event) {
      lines.set(event.task, event);
      if (now() - drawnAt >= REDRAW_MS || event.done === event.total) draw();
    },
    close() {
      if (drawn > 0) terminal.write(`${up(drawn)}\r${CLEAR_BELOW}`);
      lines.clear();
      drawn = 0;
    },
  };
}

/** Logs the beginning of every step. */
export function loggedProgress(log: Logger): ProgressDisplay {
  const steps = new Map<string, string>();
  return {
    onProgress({ task, step, total, unit }) {
      if (steps.get(task) === step) return;
      steps.set(task, step);
      log.info({ task, step, total, unit }, 'progress');
    },
    close() {},
  };
}
