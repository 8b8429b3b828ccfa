/** Actions on runs. All but a re-run ask first; see `gateway/commerce/people/confirmation.ts`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { EnqueueResult } from '../../data/runtime/jobs.ts';
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../data/schema/jobs.ts';
import {
  type Confirmation,
  confirmedAction,
  formatChange,
  formatCount,
  OPTIONAL_REASON,
  REASON,
} from '../../gateway/commerce/people/people.ts';
import { PageError } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf } from '../context.ts';
import { listProviderFreshness } from '../provider-freshness.ts';
import { RUNS_PATH, runPath } from './run-path.ts';
import { findRun } from './runs.ts';

const NO_FIELDS = z.object({});

const runOf = (request: FastifyRequest) => request.params as { subject: string; run: string };

export function runActionRoutes(scope: FastifyInstance, area: AdminArea): void {
  scope.post<{ Params: { id: string } }>('/providers/:id/rerun', async (request, reply) => {
    const { id } = request.params;
    if (!(await area.providers()).has(id)) throw new PageError(404, `There is no provider ${id}.`);
    const result = await request.audited(
      { action: 'provider.rerun', subject: `provider ${id}` },
      () => area.jobs.ingest(id, { force: true, by: actorOf(request) }),
      ({ state, job }) => (state === 'queued' ? { after: { job } } : null),
    );
    return reply.leadTo(RUNS_PATH, queueNotice(id, result));
  });
  acceptRoutes(scope, area);
  cancelRoutes(scope, area);
}

function acceptRoutes(scope: FastifyInstance, area: AdminArea): void {
  async function heldRun(request: FastifyRequest): Promise<StoredRun> {
    const { subject, run: id } = runOf(request);
    const run = await findRun(area.runs, subject, id);
    if (run.status !== 'suspicious') throw new PageError(409, `Run ${id} is ${run.status}, not held.`);
    return run;
  }

  confirmedAction(scope, area, {
    path: '/runs/:subject/:run/accept',
    fields: NO_FIELDS,
    reason: () => REASON,
    async ask(request) {
      const run = await heldRun(request);
      const providers = await listProviderFreshness(area);
      return acceptance(run, providers.find(({ id }) => id === run.subject)?.rows ?? 0);
    },
    async act(request, _reply, { reason }) {
      const { subject, run_id } = await heldRun(request);
      const result = await request.audited(
        { action: 'run.accept', subject: `provider ${subject}`, after: { run: run_id }, reason },
        () => area.jobs.accept(subject, run_id, { by: actorOf(request) }),
        ({ state }) => (state === 'queued' ? {} : null),
      );
      return { path: RUNS_PATH, notice: queueNotice(subject, result) };
    },
  });
}

function acceptance({ subject, run_id, record, reason }: StoredRun, rowsBefore: number): Confirmation {
  return {
    title: `Accept run ${run_id} of ${subject}`,
    effects: [
      'Publishes the figures of this run, although a quality gate held it.',
      'Every reader gets them when the build that follows is finished.',
    ],
    figures: [
      { label: 'Held because', value: reason ?? '–' },
      { label: 'Rows', value: formatChange(rowsBefore, record?.rows_written ?? 0) },
      { label: 'Indicators', value: formatCount(record?.indicators ?? 0) },
      { label: 'Failed series', value: formatCount(record?.failed_indicators.length ?? 0) },
    ],
    button: 'Accept run and publish',
    back: runPath(subject, run_id),
  };
}

function cancelRoutes(scope: FastifyInstance, area: AdminArea): void {
  confirmedAction(scope, area, {
    path: '/runs/:subject/:run/cancel',
    fields: NO_FIELDS,
    reason: () => OPTIONAL_REASON,
    async ask(request) {
      const { subject, run } = runOf(request);
      const { started_at, progress } = await findRun(area.runs, subject, run);
      return {
        title: `Cancel run ${run} of ${subject}`,
        effects: [
          'Stops the run within seconds. What it has read so far is discarded.',
          'The figures that are served now stay.',
        ],
        figures: [
          { label: 'Started', value: started_at },
          ...(progress ? [{ label: 'Done', value: `${formatCount(progress.done)} ${progress.unit}` }] : []),
        ],
        button: 'Cancel run',
        back: runPath(subject, run),
      };
    },
    async act(request, _reply, { reason }) {
      const { subject, run } = runOf(request);
      const isCancelled = await request.audited(
        {
          action: 'run.cancel',
          subject: subject === SNAPSHOT_SUBJECT ? subject : `provider ${subject}`,
          after: { run },
          reason,
        },
        () => area.runs.cancel(subject, run, actorOf(request)),
      );
      const notice = isCancelled ? 'The run stops within seconds.' : 'The run had already ended.';
      return { path: runPath(subject, run), notice };
    },
  });
}

/** One provider is never ingested twice at once. */
function queueNotice(provider: string, { state }: EnqueueResult): string {
  if (state === 'queued') return `${provider} is queued.`;
  if (state === 'waiting') return `${provider} is already queued.`;
  return `${provider} is already running; nothing was started.`;
}
