/** Reads the runs of one subject: which one counts now, and since when something has been so. */
import type { StoredRun } from '../../data/schema/jobs.ts';

/** Runs that came to an end that says something; a cancelled one says nothing. */
export const endedRuns = (runs: readonly StoredRun[]): StoredRun[] =>
  runs.filter(({ status }) => status !== 'running' && status !== 'cancelled');

/** An unchanged run that fetched nothing repeats the last good run, its failed series included. */
const wasRead = ({ status, record }: StoredRun): boolean =>
  status === 'succeeded' || (status === 'unchanged' && record?.rows_read !== undefined);

/** Runs that read the provider's files and were published, newest first. */
export const readRuns = (runs: readonly StoredRun[]): StoredRun[] => runs.filter(wasRead);

/** When the newest unbroken sequence of runs that meet the condition began. */
export function sinceWhen(runs: readonly StoredRun[], condition: (run: StoredRun) => boolean): number | null {
  const end = runs.findIndex((run) => !condition(run));
  const first = (end === -1 ? runs : runs.slice(0, end)).at(-1);
  return first ? Date.parse(first.finished_at ?? first.started_at) : null;
}
