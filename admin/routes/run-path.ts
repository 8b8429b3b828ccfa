/** Paths of the pages of runs. */
export const RUNS_PATH = '/admin/runs';

export const runPath = (subject: string, runId: string): string =>
  `${RUNS_PATH}/${encodeURIComponent(subject)}/${encodeURIComponent(runId)}`;

/** Runs of one subject. */
export const runsOf = (subject: string): string => `${RUNS_PATH}?subject=${encodeURIComponent(subject)}`;
