/** Lists ingestion runs, builds and snapshots. `run-actions.ts` starts, cancels, accepts and rolls back. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { RunStore } from '../../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../data/schema/jobs.ts';
import {
  type Cell,
  createPager,
  formatField,
  integerField,
  PageError,
  parseFields,
  sendCsv,
  TableSort,
  textField,
  withQuery,
} from '../../gateway/web/forms.ts';
import type { AdminArea } from '../context.ts';
import { listProviderFreshness, type ProviderFreshness } from '../provider-freshness.ts';
import { isServable, type ListedSnapshot, listSnapshots } from '../snapshots.ts';
import { listGivenUpJobs } from './given-up-jobs.ts';
import { indicatorPath } from './indicator.ts';
import { RUNS_PATH, runPath } from './run-path.ts';

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
interface ShownSnapshot extends ListedSnapshot {
  isServable: boolean;
}
const SNAPSHOT_SORT = new TableSort<ShownSnapshot>({
  id: ({ id }) => id,
  published: ({ generated_at_ms }) => generated_at_ms,
  observations: ({ observations }) => observations,
  indicators: ({ indicators }) => indicators,
});
/** Newest snapshots that are shown unless all are asked for. */
const SHOWN_SNAPSHOTS = 50;
const listQuery = z.object({
  all: z.enum(['snapshots', '']).catch(''),
  subject: textField(100),
  follow,
  providers: PROVIDER_SORT.field,
  snapshots: SNAPSHOT_SORT.field,
  limit: integerField(1, 500, 50),
  offset: integerField(0, 1_000_000, 0),
  format: formatField,
});

/** A run as a row of the list shows it. */
export interface RunSummary {
  path: string;
  subject: string;
  isBuild: boolean;
  run_id: string;
  status: StoredRun['status'];
  /** The status as pages show it: `succeeded with 12 failed series`. */
  label: string;
  /** Number of series that failed although the run went on. */
  failedSeries: number;
  started_at_ms: number;
  duration_ms: number | null;
  rows: number | null;
  rejected: number | null;
  /** Rows of failed series, which are not written. */
  failedRows: number;
  reason: string;
  /** Of a running one; `share` is null while the total is unknown. */
  progress: { text: string; share: number | null } | null;
}

/** Reloads a page by a `Refresh` header instead of a script; opt-in, because moving pages hinder slow readers. */
interface AutoRefresh {
  isOn: boolean;
  every_s: number;
  /** Link that turns it on; empty when nothing runs. */
  start: string;
  stop: string;
}

/** A series that failed in a run. */
interface FailedSeries {
  slug: string;
  reason: string;
  /** Its rows that were read and not published. */
  rows: number;
  /** Whether the values of the last good run are still published. */
  isCarried: boolean;
  /** Its page; null when it is not published. */
  path: string | null;
}

interface ShownSources {
  files: number;
  bytes: number;
  first: { url: string; sha256: string; bytes: number; fetched_at_ms: number }[];
  /** The run that read the files, when this one only confirmed them. */
  readBy: { run_id: string; path: string } | null;
}

type RunParams = { Params: { subject: string; run: string } };

export function runsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { runs, now } = area;
  const listView = area.view('runs.njk');
  const runView = area.view('run.njk');

  scope.get('/runs', async (request, reply) => {
    const sent = parseFields(listQuery, request.query);
    const { subject, limit, offset, format, follow, all: wanted } = sent;
    const orders = { providers: sent.providers, snapshots: sent.snapshots };
    const filter = subject === '' ? {} : { subject };
    if (format === 'csv') {
      const { runs: all } = await runs.list({ ...filter, limit: MAX_EXPORTED });
      const rows = all.map((run) => row(summariseRun(run, now())));
      return sendCsv(reply, 'runs', COLUMNS, rows);
    }
    const { total, runs: page } = await runs.list({ ...filter, limit, offset });
    const shown = page.map((run) => summariseRun(run, now()));
    const published = await listSnapshots(area.settings.SNAPSHOT_DIR);
    const newest = wanted === 'snapshots' ? published : published.slice(0, SHOWN_SNAPSHOTS);
    const isRunning = shown.some(({ status }) => status === 'running');
    return listView(reply, 'Runs', {
      subject,
      providers: PROVIDER_SORT.sort(
        await listProviderFreshness(await area.providers(), runs, now()),
        orders.providers,
      ),
      sorts: {
        providers: PROVIDER_SORT.links(RUNS_PATH, { subject, ...orders }, orders.providers, 'providers'),
        snapshots: SNAPSHOT_SORT.links(RUNS_PATH, { subject, ...orders }, orders.snapshots, 'snapshots'),
      },
      runs: shown,
      refresh: autoRefresh(reply, withQuery(RUNS_PATH, { subject }), follow, isRunning),
      snapshots: SNAPSHOT_SORT.sort(await withServability(newest), orders.snapshots),
      hiddenSnapshots: published.length - newest.length,
      allSnapshotsPath: withQuery(RUNS_PATH, { subject, ...orders, all: 'snapshots' }),
      givenUp: await listGivenUpJobs(area),
      pager: createPager(RUNS_PATH, { subject, ...orders }, { total, limit, offset }),
      csv: withQuery(RUNS_PATH, { subject, format: 'csv' }),
    });
  });

  const withServability = (listed: readonly ListedSnapshot[]): Promise<ShownSnapshot[]> =>
    Promise.all(
      listed.map(async (one) => ({
        ...one,
        isServable: await isServable(area.settings.SNAPSHOT_DIR, one.id),
      })),
    );

  function failedSeriesOf({ subject, record }: StoredRun): FailedSeries[] {
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
}

/** @throws {PageError} 404 */
export async function findRun(runs: RunStore, subject: string, id: string): Promise<StoredRun> {
  const run = await runs.get(subject, id);
  if (!run) throw new PageError(404, `There is no run ${id} of ${subject}.`);
  return run;
}

export function summariseRun(run: StoredRun, now_ms: number): RunSummary {
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
    label: labelOf(status, failedSeries),
    failedSeries,
    started_at_ms,
    duration_ms: ended_ms === null ? null : ended_ms - started_at_ms,
    rows: record?.rows_written ?? run.build?.counts?.observations ?? null,
    rejected: record ? Object.values(record.rejects).reduce((sum, { rows }) => sum + rows, 0) : null,
    failedRows: record?.failed_indicators.reduce((sum, { rows = 0 }) => sum + rows, 0) ?? 0,
    reason: run.reason ?? '',
    progress: progressOf(run),
  };
}

function labelOf(status: StoredRun['status'], failedSeries: number): string {
  const word = status === 'suspicious' ? 'held' : status;
  if (failedSeries === 0) return word;
  return `${word} with ${numbers.format(failedSeries)} failed series`;
}

function shownSources({ subject, run_id: id, record }: StoredRun): ShownSources | null {
  if (!record?.sources) return null;
  const { run_id: reader, files, bytes, first } = record.sources;
  return {
    files,
    bytes,
    first: first.map(({ fetched_at, ...file }) => ({ ...file, fetched_at_ms: Date.parse(fetched_at) })),
    readBy: reader === id ? null : { run_id: reader, path: runPath(subject, reader) },
  };
}

const numbers = new Intl.NumberFormat('en');

function progressOf({ status, progress }: StoredRun): RunSummary['progress'] {
  if (status !== 'running' || !progress) return null;
  const { step, done, total, unit } = progress;
  const ofTotal = total === null ? '' : ` of ${numbers.format(total)}`;
  const share = total ? Math.min(1, done / total) : null;
  return { text: `${step}: ${numbers.format(done)}${ofTotal} ${unit}`, share };
}

/** @param path the page without auto-refresh */
function autoRefresh(reply: FastifyReply, path: string, follow: '' | 'yes', isRunning: boolean): AutoRefresh {
  const isOn = follow === 'yes' && isRunning;
  if (isOn) reply.header('Refresh', REFRESH_S);
  const start = isRunning ? `${path}${path.includes('?') ? '&' : '?'}follow=yes` : '';
  return { isOn, every_s: REFRESH_S, start, stop: path };
}

const COLUMNS = [
  'subject',
  'run_id',
  'status',
  'started_at',
  'duration_s',
  'rows',
  'rejected',
  'reason',
  'failed_series',
];

const row = (run: RunSummary): Cell[] => [
  ...[run.subject, run.run_id, run.status, new Date(run.started_at_ms).toISOString()],
  run.duration_ms === null ? null : run.duration_ms / 1000,
  ...[run.rows, run.rejected, run.reason, run.failedSeries],
];
