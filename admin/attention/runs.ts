/** What runs of providers, builds and jobs of the worker need attention for. */
import type { FailedJob } from '../../data/runtime/jobs.ts';
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../data/schema/jobs.ts';
import type { RejectReason } from '../../data/schema/lake.ts';
import { counted } from '../../gateway/commerce/people/people.ts';
import { RUNS_PATH, runPath, runsOf } from '../routes/runs.ts';
import { type AttentionItem, type AttentionSource, listNames, type Severity, sentence } from './item.ts';

/** Runs that came to an end that says something; a cancelled one says nothing. */
export const endedRuns = (runs: readonly StoredRun[]): StoredRun[] =>
  runs.filter(({ status }) => status !== 'running' && status !== 'cancelled');

/** An unchanged run that fetched nothing repeats the last good run, its failed series included. */
const wasRead = ({ status, record }: StoredRun): boolean =>
  status === 'succeeded' || (status === 'unchanged' && record?.rows_read !== undefined);

/** Runs that read the provider's files and were published, newest first. */
const readRuns = (runs: readonly StoredRun[]): StoredRun[] => runs.filter(wasRead);

/**
 * The last of some runs, with its page, and when the newest unbroken sequence of those that meet the condition began.
 * @returns null where the last one does not meet it
 */
function lastIf(runs: readonly StoredRun[], condition: (run: StoredRun) => boolean) {
  const [last] = runs;
  if (!last || !condition(last)) return null;
  const end = runs.findIndex((run) => !condition(run));
  const first = (end === -1 ? runs : runs.slice(0, end)).at(-1) ?? last;
  const since_ms = Date.parse(first.finished_at ?? first.started_at);
  return { ...last, since_ms, path: runPath(last.subject, last.run_id) };
}

const NO_SNAPSHOT: AttentionItem = {
  severity: 'critical',
  what: 'No snapshot is being served. Every data route returns 503.',
  since_ms: null,
  path: RUNS_PATH,
  action: 'Build one',
  condition: 'no-snapshot',
};

function lastFailure(
  condition: string,
  what: string,
  runs: readonly StoredRun[],
  severity: Severity,
): AttentionItem[] {
  const failed = lastIf(endedRuns(runs), ({ status }) => status === 'failed');
  if (failed === null) return [];
  const { reason, since_ms, path } = failed;
  const why = sentence(`${what}: ${reason ?? 'no reason is known'}`);
  return [{ severity, what: why, since_ms, path, action: 'Read its log', condition }];
}

/** No snapshot to serve, a failed build, and providers whose last run failed. */
export const failedRuns: AttentionSource = {
  finds: 'failed runs and builds',
  conditions: 'failed-run',
  find: ({ area, builds, providers }) => [
    ...(area.snapshots.current() === null ? [NO_SNAPSHOT] : []),
    ...lastFailure(SNAPSHOT_SUBJECT, `The last build of the ${SNAPSHOT_SUBJECT} failed`, builds, 'critical'),
    ...providers.flatMap(({ definition, runs }) =>
      lastFailure(definition.id, `The last run of ${definition.name} failed`, runs, 'warning'),
    ),
  ],
};

/** Runs that the quality gates hold back: the figures before them are served until an operator accepts or repairs. */
export const heldRuns: AttentionSource = {
  finds: 'held runs',
  conditions: 'held-run',
  find: ({ providers }) =>
    providers.flatMap(({ definition, runs }) => {
      const held = lastIf(endedRuns(runs), ({ status }) => status === 'suspicious');
      if (held === null) return [];
      const { reason, since_ms, path } = held;
      const what = `A run of ${definition.name} is held. ${reason ?? ''}`.trim();
      const action = 'Accept or leave it';
      return [{ severity: 'warning', what, since_ms, path, action, condition: definition.id }];
    }),
};

const failedSlugs = ({ record }: StoredRun): string[] =>
  (record?.failed_indicators ?? []).map(({ slug }) => slug);

/** Series that failed in the last run that read their provider; the others of that run were published. */
export const failedSeries: AttentionSource = {
  finds: 'failed series',
  find: ({ providers }) =>
    providers.flatMap(({ definition, runs }) => {
      const last = lastIf(readRuns(runs), (run) => failedSlugs(run).length > 0);
      if (last === null) return [];
      const slugs = failedSlugs(last);
      const kept = last.record?.carried_indicators?.length ?? 0;
      const keeping = kept === 0 ? '' : ` ${kept} of them keep earlier values.`;
      return [
        {
          severity: 'warning',
          what: `${counted(slugs.length, 'series', 'series')} of ${definition.name} failed: ${listNames(slugs)}.${keeping}`,
          since_ms: last.since_ms,
          path: `${last.path}#failed-series`,
          action: 'See why',
        },
      ];
    }),
};

/** Aggregates, historical places, withdrawn values and other dimensions are rejected on purpose. */
const FINDINGS: Partial<Record<RejectReason, string>> = {
  unknown_place: 'with places that no table maps',
  bad_year: 'with years that cannot be read',
  bad_number: 'with values that cannot be read',
  duplicate_key: 'that repeat a place and year with another value',
  out_of_bounds: 'with values outside the bounds of their series',
};

/** Quality: rows that the last read of a provider had to reject although they should have been usable. */
export const rejectedRows: AttentionSource = {
  finds: 'rejected rows',
  find: ({ providers }) =>
    providers.flatMap(({ definition, runs }) =>
      Object.entries(FINDINGS).flatMap(([key, description]): AttentionItem[] => {
        const rejectsOf = ({ record }: StoredRun) => record?.rejects[key as RejectReason];
        const last = lastIf(readRuns(runs), (run) => (rejectsOf(run)?.rows ?? 0) > 0);
        const found = last && rejectsOf(last);
        if (!found) return [];
        return [
          {
            severity: 'notice',
            what: `${counted(found.rows, 'row', 'rows')} of ${definition.name} ${description}: ${listNames(found.samples)}.`,
            since_ms: last.since_ms,
            path: `${last.path}#rejected`,
            action: 'See samples',
          },
        ];
      }),
    ),
};

const describe = ({ name, subject }: FailedJob): string =>
  subject === null ? name : `${name} of ${subject}`;

/** Jobs of the worker that ended with an unexpected error and have not succeeded since. */
export const failedJobs: AttentionSource = {
  finds: 'failed jobs',
  conditions: 'failed-job',
  async find({ area }) {
    const failed = await area.jobs.listFailed();
    return failed.map((job) => ({
      severity: 'warning',
      what: sentence(`The job ${describe(job)} failed: ${job.reason}`),
      since_ms: job.failed_at_ms,
      path: job.subject === null ? RUNS_PATH : runsOf(job.subject),
      action: 'Start it again',
      condition: describe(job),
    }));
  },
};
