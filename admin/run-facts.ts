/** A run as a page shows it. */
import { SNAPSHOT_SUBJECT, type StoredRun } from '../data/schema/jobs.ts';

export interface RunFacts {
  path: string;
  subject: string;
  isBuild: boolean;
  run_id: string;
  status: StoredRun['status'];
  started_at_ms: number;
  duration_ms: number | null;
  rows: number | null;
  rejected: number | null;
  /** Rows left out with series that failed whole. */
  failedRows: number;
  reason: string;
  /** Of a running one; `share` is null while nobody knows how much there is. */
  progress: { text: string; share: number | null } | null;
}

export const runPath = (subject: string, runId: string): string =>
  `/admin/runs/${encodeURIComponent(subject)}/${encodeURIComponent(runId)}`;

const figures = new Intl.NumberFormat('en');

function progressOf({ status, progress }: StoredRun): RunFacts['progress'] {
  if (status !== 'running' || !progress) return null;
  const { step, done, total, unit } = progress;
  const of = total === null ? '' : ` of ${figures.format(total)}`;
  const share = total ? Math.min(1, done / total) : null;
  return { text: `${step}: ${figures.format(done)}${of} ${unit}`, share };
}

export function runFacts(run: StoredRun, now_ms: number): RunFacts {
  const started_at_ms = Date.parse(run.started_at);
  const ended_ms = run.finished_at ? Date.parse(run.finished_at) : null;
  const rejects = run.record && Object.values(run.record.rejects);
  return {
    path: runPath(run.subject, run.run_id),
    subject: run.subject,
    isBuild: run.subject === SNAPSHOT_SUBJECT,
    run_id: run.run_id,
    status: run.status,
    started_at_ms,
    duration_ms:
      ended_ms === null
        ? run.status === 'running'
          ? now_ms - started_at_ms
          : null
        : ended_ms - started_at_ms,
    rows: run.record?.rows_written ?? run.build?.counts?.observations ?? null,
    rejected: rejects?.reduce((sum, { rows }) => sum + rows, 0) ?? null,
    failedRows: run.record?.failed_indicators.reduce((sum, { rows = 0 }) => sum + rows, 0) ?? 0,
    reason: run.reason ?? '',
    progress: progressOf(run),
  };
}
