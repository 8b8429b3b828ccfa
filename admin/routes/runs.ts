/** What was ingested and published, what is under way, and what an operator can start, stop, accept or take back. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Asked } from '../../data/runtime/jobs.ts';
import type { RunLogLine } from '../../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../data/schema/jobs.ts';
import { SNAPSHOT_ID } from '../../data/schema/snapshot.ts';
import { type Cell, sendCsv } from '../../gateway/pages/shared/csv-export.ts';
import { count, format, readFields, text } from '../../gateway/pages/shared/fields.ts';
import { PageProblem } from '../../gateway/pages/shared/page-problem.ts';
import { link, type Pager, pager } from '../../gateway/pages/shared/paging.ts';
import { type Follow, follow, followField } from '../auto-refresh.ts';
import { type AdminArea, byOf, change, goOn } from '../context.ts';
import { allFreshness, type ProviderFreshness } from '../providers.ts';
import { type RunFacts, runFacts, runPath } from '../run-facts.ts';
import { type ListedSnapshot, listSnapshots } from '../snapshot-list.ts';

const PATH = '/admin/runs';
const EXPORTED_AT_MOST = 2_000;

const query = z.object({
  subject: text(100),
  follow: followField,
  limit: count(1, 500, 50),
  offset: count(0, 1_000_000, 0),
  format,
});

const followQuery = z.object({ follow: followField });

interface RunsPage {
  subject: string;
  providers: ProviderFreshness[];
  runs: RunFacts[];
  follow: Follow;
  snapshots: ListedSnapshot[];
  pager: Pager;
  csv: string;
}

interface RunPage {
  facts: RunFacts;
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
    const { subject, limit, offset, format, follow: asked } = readFields(query, request.query);
    const of = subject === '' ? {} : { subject };
    if (format === 'csv') {
      const { runs: all } = await runs.list({ ...of, limit: EXPORTED_AT_MOST });
      return sendCsv(
        reply,
        'runs',
        COLUMNS,
        all.map((run) => row(runFacts(run, now()))),
      );
    }
    const { total, runs: page } = await runs.list({ ...of, limit, offset });
    const shown = page.map((run) => runFacts(run, now()));
    return listView(reply, 'Runs', {
      subject,
      providers: await allFreshness(await area.providers(), runs, now()),
      runs: shown,
      follow: follow(
        reply,
        link(PATH, { subject }),
        asked,
        shown.some(({ status }) => status === 'running'),
      ),
      snapshots: await listSnapshots(area.snapshotDir),
      pager: pager(PATH, { subject }, { total, limit, offset }),
      csv: link(PATH, { subject, format: 'csv' }),
    });
  });

  async function find(subject: string, id: string): Promise<StoredRun> {
    const run = await runs.get(subject, id);
    if (!run) throw new PageProblem(404, `There is no run ${id} of ${subject}.`);
    return run;
  }

  scope.get<RunParams>('/runs/:subject/:run', async (request, reply) => {
    const { subject, run: id } = request.params;
    const run = await find(subject, id);
    const { follow: asked } = readFields(followQuery, request.query);
    return runView(reply, `${subject}, run ${id}`, {
      facts: runFacts(run, now()),
      run,
      follow: follow(reply, runPath(subject, id), asked, run.status === 'running'),
      rejects: Object.entries(run.record?.rejects ?? {}).map(([reason, reject]) => ({ reason, ...reject })),
      log: await runs.log(subject, id),
    });
  });

  scope.post<{ Params: { id: string } }>('/providers/:id/rerun', async (request, reply) => {
    const { id } = request.params;
    if (!(await area.providers()).has(id)) throw new PageProblem(404, `There is no provider ${id}.`);
    const asked = await change(
      area,
      request,
      { action: 'provider.rerun', subject: `provider ${id}` },
      () => area.jobs.ingest(id, { force: true, by: byOf(request) }),
      ({ state, job }) => (state === 'queued' ? { after: { job } } : null),
    );
    return goOn(area, reply, PATH, answerTo(id, asked));
  });

  scope.post<RunParams>('/runs/:subject/:run/accept', async (request, reply) => {
    const { subject, run: id } = request.params;
    const run = await find(subject, id);
    if (run.status !== 'suspicious') throw new PageProblem(409, `Run ${id} is ${run.status}, not held.`);
    const asked = await change(
      area,
      request,
      { action: 'run.accept', subject: `provider ${subject}`, after: { run: id } },
      () => area.jobs.accept(subject, id, { by: byOf(request) }),
      ({ state }) => (state === 'queued' ? {} : null),
    );
    return goOn(area, reply, PATH, answerTo(subject, asked));
  });

  scope.post<RunParams>('/runs/:subject/:run/cancel', async (request, reply) => {
    const { subject, run: id } = request.params;
    const path = runPath(subject, id);
    const what = subject === SNAPSHOT_SUBJECT ? subject : `provider ${subject}`;
    const isAsked = await change(
      area,
      request,
      { action: 'run.cancel', subject: what, after: { run: id } },
      () => runs.cancel(subject, id, byOf(request)),
      (asked) => (asked ? {} : null),
    );
    const said = isAsked
      ? 'The run is asked to end; it will within seconds.'
      : 'The run had ended before it could be cancelled.';
    return goOn(area, reply, path, said);
  });

  scope.post('/rebuild', async (request, reply) => {
    await change(area, request, { action: 'snapshot.rebuild', subject: SNAPSHOT_SUBJECT }, () =>
      area.jobs.rebuild({ by: byOf(request) }),
    );
    return goOn(area, reply, PATH, 'A rebuild is queued.');
  });

  scope.post<{ Params: { id: string } }>('/snapshots/:id/rollback', (request, reply) =>
    rollBack(request, reply, request.params.id),
  );

  async function rollBack(request: Parameters<typeof byOf>[0], reply: FastifyReply, id: string) {
    const snapshots = SNAPSHOT_ID.test(id) ? await listSnapshots(area.snapshotDir) : [];
    if (!snapshots.some((snapshot) => snapshot.id === id))
      throw new PageProblem(404, `There is no snapshot ${id}.`);
    const before = snapshots.find(({ current }) => current)?.id ?? null;
    await change(
      area,
      request,
      {
        action: 'snapshot.rollback',
        subject: SNAPSHOT_SUBJECT,
        before: { snapshot: before },
        after: { snapshot: id },
      },
      () => area.jobs.rollback(id, { by: byOf(request) }),
    );
    return goOn(area, reply, PATH, `Snapshot ${id} will be served within seconds.`);
  }
}

/** Never two at once for one provider: what was asked for already is not asked for again. */
function answerTo(provider: string, { state }: Asked): string {
  if (state === 'queued') return `${provider} is queued; it will show here when it begins.`;
  if (state === 'waiting') return `${provider} has been asked for already.`;
  return `${provider} is being ingested now; nothing was started.`;
}

const COLUMNS = ['subject', 'run_id', 'status', 'started_at', 'duration_s', 'rows', 'rejected', 'reason'];

const row = (run: RunFacts): Cell[] => [
  ...[run.subject, run.run_id, run.status, new Date(run.started_at_ms).toISOString()],
  run.duration_ms === null ? null : run.duration_ms / 1000,
  ...[run.rows, run.rejected, run.reason],
];
