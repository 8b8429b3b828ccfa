/** Paths of the pages of runs. */
export const RUNS_PATH = '/admin/runs';

export const runPath = (subject: string, runId: string): string =>
  `${RUNS_PATH}/${encodeURIComponent(subject)}/${encodeURIComponent(runId)}`;
