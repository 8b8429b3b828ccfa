/** What was ingested and published, what is under way, and what an operator can start, stop, accept or take back. */

import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { EnqueueResult } from '../../data/runtime/jobs.ts';
import type { RunLogLine } from '../../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../data/schema/jobs.ts';
import { SNAPSHOT_ID } from '../../data/schema/snapshot.ts';
import { type Cell, sendCsv } from '../../gateway/pages/shared/csv-export.ts';
import {
  createPager,
  formatField,
  integerField,
  PageError,
  type Pager,
  parseFields,
  textField,
  withQuery,
} from '../../gateway/pages/shared/forms.ts';
import { redirectWithFlash } from '../../gateway/pages/shared/protected-area.ts';
import { type AdminArea, actorOf, auditedChange } from '../context.ts';
import { listProviderFreshness, type ProviderFreshness } from '../provider-freshness.ts';
import { type ListedSnapshot, listSnapshots } from '../snapshots.ts';

const PATH = '/admin/runs';
const EXPORTED_AT_MOST = 2_000;

const EVERY_S = 3;

const followField = z.enum(['', 'yes']).default('');

interface Follow {
  /** The page loads itself again. */
  on: boolean;
  every_s: number;
  /** Link that begins it; empty when nothing is under way. */
  start: string;
  stop: string;
}

/** @param path the page without following; @param asked what its query says. */
function follow(reply: FastifyReply, path: string, asked: '' | 'yes', isUnderWay: boolean): Follow {
  const on = asked === 'yes' && isUnderWay;
  if (on) reply.header('Refresh', EVERY_S);
  const start = isUnderWay ? `${path}${path.includes('?') ? '&' : '?'}follow=yes` : '';
  return { on, every_s: EVERY_S, start, stop: path };
}

const query = z.object({
  subject: textField(100),
  follow: followField,
  limit: integerField(1, 500, 50),
  offset: integerField(0, 1_000_000, 0),
  format: formatField,
});

const followQuery = z.object({ follow: followField });

interface RunsPage {
  subject: string;
  providers: ProviderFreshness[];
  runs: RunSummary[];
  follow: Follow;
  snapshots: ListedSnapshot[];
  pager: Pager;
  csv: string;
}

interface RunPage {
  facts: RunSummary;
  run: StoredRun;
  follow: Follow;
  rejects: { reason: string; rows: number; distinct: number; samples: string[] }[];
  log: RunLogLine[];
}

type RunParams = { Params: { subject: string; run: string } };

export function runsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { runs, now } = area;
  const listView = area.view<RunsPage>('runs.njk');
  const runView = area.view<RunPage>('run.njk');

  scope.get('/runs', async (request, reply) => {
    const { subject, limit, offset, format, follow: asked } = parseFields(query, request.query);
    const of = subject === '' ? {} : { subject };
    if (format === 'csv') {
      const { runs: all } = await runs.list({ ...of, limit: EXPORTED_AT_MOST });
      return sendCsv(
        reply,
        'runs',
        COLUMNS,
        all.map((run) => row(summariseRun(run, now()))),
      );
    }
    const { total, runs: page } = await runs.list({ ...of, limit, offset });
    const shown = page.map((run) => summariseRun(run, now()));
    return listView(reply, 'Runs', {
      subject,
      providers: await listProviderFreshness(await area.providers(), runs, now()),
      runs: shown,
      follow: follow(
        reply,
        withQuery(PATH, { subject }),
        asked,
        shown.some(({ status }) => status === 'running'),
      ),
      snapshots: await listSnapshots(area.snapshotDir),
      pager: createPager(PATH, { subject }, { total, limit, offset }),
      csv: withQuery(PATH, { subject, format: 'csv' }),
    });
  });

  async function find(subject: string, id: string): Promise<StoredRun> {
    const run = await runs.get(subject, id);
    if (!run) throw new PageError(404, `There is no run ${id} of ${subject}.`);
    return run;
  }

  scope.get<RunParams>('/runs/:subject/:run', async (request, reply) => {
    const { subject, run: id } = request.params;
    const run = await find(subject, id);
    const { follow: asked } = parseFields(followQuery, request.query);
    return runView(reply, `${subject}, run ${id}`, {
      facts: summariseRun(run, now()),
      run,
      follow: follow(reply, runPath(subject, id), asked, run.status === 'running'),
      rejects: Object.entries(run.record?.rejects ?? {}).map(([reason, reject]) => ({ reason, ...reject })),
      log: await runs.log(subject, id),
    });
  });

  scope.post<{ Params: { id: string } }>('/providers/:id/rerun', async (request, reply) => {
    const { id } = request.params;
    if (!(await area.providers()).has(id)) throw new PageError(404, `There is no provider ${id}.`);
    const asked = await auditedChange(
      area,
      request,
      { action: 'provider.rerun', subject: `provider ${id}` },
      () => area.jobs.ingest(id, { force: true, by: actorOf(request) }),
      ({ state, job }) => (state === 'queued' ? { after: { job } } : null),
    );
    return redirectWithFlash(area, reply, PATH, answerTo(id, asked));
  });

  scope.post<RunParams>('/runs/:subject/:run/accept', async (request, reply) => {
    const { subject, run: id } = request.params;
    const run = await find(subject, id);
    if (run.status !== 'suspicious') throw new PageError(409, `Run ${id} is ${run.status}, not held.`);
    const asked = await auditedChange(
      area,
      request,
      { action: 'run.accept', subject: `provider ${subject}`, after: { run: id } },
      () => area.jobs.accept(subject, id, { by: actorOf(request) }),
      ({ state }) => (state === 'queued' ? {} : null),
    );
    return redirectWithFlash(area, reply, PATH, answerTo(subject, asked));
  });

  scope.post<RunParams>('/runs/:subject/:run/cancel', async (request, reply) => {
    const { subject, run: id } = request.params;
    const path = runPath(subject, id);
    const what = subject === SNAPSHOT_SUBJECT ? subject : `provider ${subject}`;
    const isAsked = await auditedChange(
      area,
      request,
      { action: 'run.cancel', subject: what, after: { run: id } },
      () => runs.cancel(subject, id, actorOf(request)),
      (asked) => (asked ? {} : null),
    );
    const said = isAsked
      ? 'The run is asked to end; it will within seconds.'
      : 'The run had ended before it could be cancelled.';
    return redirectWithFlash(area, reply, path, said);
  });

  scope.post('/rebuild', async (request, reply) => {
    await auditedChange(area, request, { action: 'snapshot.rebuild', subject: SNAPSHOT_SUBJECT }, () =>
      area.jobs.rebuild({ by: actorOf(request) }),
    );
    return redirectWithFlash(area, reply, PATH, 'A rebuild is queued.');
  });

  scope.post<{ Params: { id: string } }>('/snapshots/:id/rollback', (request, reply) =>
    rollBack(request, reply, request.params.id),
  );

  async function rollBack(request: Parameters<typeof actorOf>[0], reply: FastifyReply, id: string) {
    const snapshots = SNAPSHOT_ID.test(id) ? await listSnapshots(area.snapshotDir) : [];
    if (!snapshots.some((snapshot) => snapshot.id === id))
      throw new PageError(404, `There is no snapshot ${id}.`);
    const before = snapshots.find(({ current }) => current)?.id ?? null;
    await auditedChange(
      area,
      request,
      {
        action: 'snapshot.rollback',
        subject: SNAPSHOT_SUBJECT,
        before: { snapshot: before },
        after: { snapshot: id },
      },
      () => area.jobs.rollback(id, { by: actorOf(request) }),
    );
    return redirectWithFlash(area, reply, PATH, `Snapshot ${id} will be served within seconds.`);
  }
}

/** Never two at once for one provider: what was asked for already is not asked for again. */
function answerTo(provider: string, { state }: EnqueueResult): string {
  if (state === 'queued') return `${provider} is queued; it will show here when it begins.`;
  if (state === 'waiting') return `${provider} has been asked for already.`;
  return `${provider} is being ingested now; nothing was started.`;
}

const COLUMNS = ['subject', 'run_id', 'status', 'started_at', 'duration_s', 'rows', 'rejected', 'reason'];

const row = (run: RunSummary): Cell[] => [
  ...[run.subject, run.run_id, run.status, new Date(run.started_at_ms).toISOString()],
  run.duration_ms === null ? null : run.duration_ms / 1000,
  ...[run.rows, run.rejected, run.reason],
];

export interface RunSummary {
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

function progressOf({ status, progress }: StoredRun): RunSummary['progress'] {
  if (status !== 'running' || !progress) return null;
  const { step, done, total, unit } = progress;
  const of = total === null ? '' : ` of ${figures.format(total)}`;
  const share = total ? Math.min(1, done / total) : null;
  return { text: `${step}: ${figures.format(done)}${of} ${unit}`, share };
}

export function summariseRun(run: StoredRun, now_ms: number): RunSummary {
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
