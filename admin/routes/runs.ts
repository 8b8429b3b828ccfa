/** Lists, starts, accepts and cancels ingestion runs and builds. All but a start ask first. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { EnqueueResult } from '../../data/runtime/jobs.ts';
import type { RunStore } from '../../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../data/schema/jobs.ts';
import {
  type Confirmation,
  confirmedAction,
  formatChange,
  formatCount,
  OPTIONAL_REASON,
  REASON,
} from '../../gateway/commerce/people/people.ts';
import {
  createPager,
  formatField,
  integerField,
  PageError,
  parseFields,
  TableSort,
  textField,
  withQuery,
} from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf } from '../context.ts';
import { sendRecords } from '../list.ts';
import { listProviderFreshness, type ProviderFreshness } from '../provider-freshness.ts';
import { listGivenUpJobs } from './given-up-jobs.ts';
import { indicatorPath } from './indicator.ts';

export const RUNS_PATH = '/admin/runs';

export const runPath = (subject: string, runId: string): string =>
  `${RUNS_PATH}/${encodeURIComponent(subject)}/${encodeURIComponent(runId)}`;

/** Runs of one subject. */
export const runsOf = (subject: string): string => `${RUNS_PATH}?subject=${encodeURIComponent(subject)}`;

const MAX_EXPORTED = 2_000;
const REFRESH_S = 3;

const follow = z.enum(['', 'yes']).default('');
const runQuery = z.object({ follow });

const PROVIDER_SORT = new TableSort<ProviderFreshness>({
  name: ({ name }) => name,
  state: ({ state }) => state,
  last: ({ last_ok_ms }) => last_ok_ms,
  rows: ({ rows }) => rows,
  year: ({ newest_year }) => newest_year,
});
const listQuery = z.object({
  subject: textField(100),
  follow,
  providers: PROVIDER_SORT.field,
  limit: integerField(1, 500, 50),
  offset: integerField(0, 1_000_000, 0),
  format: formatField,
});

type RunParams = { Params: { subject: string; run: string } };

const runOf = (request: FastifyRequest) => request.params as { subject: string; run: string };

export function runsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { runs, now } = area;
  const listView = area.view('runs.njk');
  const runView = area.view('run.njk');

  scope.get('/runs', async (request, reply) => {
    const sent = parseFields(listQuery, request.query);
    const { subject, limit, offset, format, follow, providers: order } = sent;
    const filter = subject === '' ? {} : { subject };
    if (format === 'csv') {
      const { runs: all } = await runs.list({ ...filter, limit: MAX_EXPORTED });
      const records = all.map((run) => record(summariseRun(run, now())));
      return sendRecords(reply, 'runs', COLUMNS, records);
    }
    const { total, runs: page } = await runs.list({ ...filter, limit, offset });
    const shown = page.map((run) => summariseRun(run, now()));
    const isRunning = shown.some(({ status }) => status === 'running');
    return listView(reply, 'Runs', {
      subject,
      providers: PROVIDER_SORT.sort(await listProviderFreshness(area), order),
      sorts: PROVIDER_SORT.links(RUNS_PATH, { subject }, order, 'providers'),
      runs: shown,
      refresh: autoRefresh(reply, withQuery(RUNS_PATH, { subject }), follow, isRunning),
      givenUp: await listGivenUpJobs(area),
      pager: createPager(RUNS_PATH, { subject, providers: order }, { total, limit, offset }),
      csv: withQuery(RUNS_PATH, { subject, format: 'csv' }),
    });
  });

  /** Each with its page, null when it is not published; `isCarried`: the values of the last good run still are. */
  function failedSeriesOf({ subject, record }: StoredRun) {
    const carried = new Set(record?.carried_indicators);
    const published = area.snapshots.current()?.catalogue.indicators;
    return (record?.failed_indicators ?? []).map(({ slug, reason, rows = 0 }) => {
      const id = `${subject}.${slug}`;
      const path = published?.has(id) ? indicatorPath(id) : null;
      return { slug, reason, rows, isCarried: carried.has(slug), path };
    });
  }

  scope.get<RunParams>('/runs/:subject/:run', async (request, reply) => {
    const { subject, run: id } = request.params;
    const run = await findRun(runs, subject, id);
    const { follow } = parseFields(runQuery, request.query);
    return runView(reply, `${subject}, run ${id}`, {
      summary: summariseRun(run, now()),
      run,
      refresh: autoRefresh(reply, runPath(subject, id), follow, run.status === 'running'),
      failed: failedSeriesOf(run),
      rejects: Object.entries(run.record?.rejects ?? {}).map(([reason, reject]) => ({ reason, ...reject })),
      sources: shownSources(run),
      log: await runs.log(subject, id),
    });
  });

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

/** @throws {PageError} 404 */
export async function findRun(runs: RunStore, subject: string, id: string): Promise<StoredRun> {
  const run = await runs.get(subject, id);
  if (!run) throw new PageError(404, `There is no run ${id} of ${subject}.`);
  return run;
}

export type RunSummary = ReturnType<typeof summariseRun>;

/** A run as a row of the list shows it. */
export function summariseRun(run: StoredRun, now_ms: number) {
  const { subject, run_id, status, record } = run;
  const failedSeries = record?.failed_indicators.length ?? 0;
  const started_at_ms = Date.parse(run.started_at);
  const ended_ms = run.finished_at ? Date.parse(run.finished_at) : status === 'running' ? now_ms : null;
  return {
    path: runPath(subject, run_id),
    subject,
    isBuild: subject === SNAPSHOT_SUBJECT,
    run_id,
    status,
    /** The status as pages show it: `succeeded with 12 failed series`. */
    label: labelOf(status, failedSeries),
    failedSeries,
    started_at_ms,
    duration_ms: ended_ms === null ? null : ended_ms - started_at_ms,
    rows: record?.rows_written ?? run.build?.counts?.observations ?? null,
    rejected: record ? Object.values(record.rejects).reduce((sum, { rows }) => sum + rows, 0) : null,
    /** Rows of failed series, which are not written. */
    failedRows: record?.failed_indicators.reduce((sum, { rows = 0 }) => sum + rows, 0) ?? 0,
    reason: run.reason ?? '',
    /** Null unless it is running. */
    progress: progressOf(run),
  };
}

function labelOf(status: StoredRun['status'], failedSeries: number): string {
  const word = status === 'suspicious' ? 'held' : status;
  if (failedSeries === 0) return word;
  return `${word} with ${formatCount(failedSeries)} failed series`;
}

/** `readBy`: the run that read the files, when this one only confirmed them. */
function shownSources({ subject, run_id: id, record }: StoredRun) {
  if (!record?.sources) return null;
  const { run_id: reader, files, bytes, first } = record.sources;
  return {
    files,
    bytes,
    first: first.map(({ fetched_at, ...file }) => ({ ...file, fetched_at_ms: Date.parse(fetched_at) })),
    readBy: reader === id ? null : { run_id: reader, path: runPath(subject, reader) },
  };
}

/** `share` is null while the total is unknown. */
function progressOf({ status, progress }: StoredRun) {
  if (status !== 'running' || !progress) return null;
  const { step, done, total, unit } = progress;
  const ofTotal = total === null ? '' : ` of ${formatCount(total)}`;
  const share = total ? Math.min(1, done / total) : null;
  return { text: `${step}: ${formatCount(done)}${ofTotal} ${unit}`, share };
}

/**
 * Reloads a page by a `Refresh` header instead of a script; opt-in, because moving pages hinder slow readers.
 * @param path the page without auto-refresh
 * @returns `start`, the link that turns it on, is empty when nothing runs
 */
function autoRefresh(reply: FastifyReply, path: string, follow: '' | 'yes', isRunning: boolean) {
  const isOn = follow === 'yes' && isRunning;
  if (isOn) reply.header('Refresh', REFRESH_S);
  const start = isRunning ? `${path}${path.includes('?') ? '&' : '?'}follow=yes` : '';
  return { isOn, every_s: REFRESH_S, start, stop: path };
}

const COLUMNS = [
  ...['subject', 'run_id', 'status', 'started_at', 'duration_s', 'rows', 'rejected', 'reason'],
  'failed_series',
];

const record = (run: RunSummary) => ({
  ...run,
  duration_s: run.duration_ms === null ? null : run.duration_ms / 1000,
  failed_series: run.failedSeries,
});

function acceptRoutes(scope: FastifyInstance, area: AdminArea): void {
  async function heldRun(request: FastifyRequest): Promise<StoredRun> {
    const { subject, run: id } = runOf(request);
    const run = await findRun(area.runs, subject, id);
    if (run.status !== 'suspicious') throw new PageError(409, `Run ${id} is ${run.status}, not held.`);
    return run;
  }

  confirmedAction(scope, area, {
    path: '/runs/:subject/:run/accept',
    fields: z.object({}),
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
    fields: z.object({}),
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
