/** No snapshot to serve, a failed build, and providers whose last run failed. */
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../data/schema/jobs.ts';
import { runPath } from '../routes/run-path.ts';
import { type AttentionItem, type AttentionSource, type Severity, sentence } from './item.ts';
import { endedRuns, sinceWhen } from './run-history.ts';

const NO_SNAPSHOT: AttentionItem = {
  severity: 'critical',
  what: 'No snapshot is being served. Every data route returns 503.',
  since_ms: null,
  path: '/admin/runs',
  action: 'Build one',
  condition: 'no-snapshot',
};

function lastFailure(
  condition: string,
  what: string,
  runs: readonly StoredRun[],
  severity: Severity,
): AttentionItem[] {
  const ended = endedRuns(runs);
  const [last] = ended;
  if (last?.status !== 'failed') return [];
  return [
    {
      severity,
      what: sentence(`${what}: ${last.reason ?? 'no reason is known'}`),
      since_ms: sinceWhen(ended, ({ status }) => status === 'failed'),
      path: runPath(last.subject, last.run_id),
      action: 'Read its log',
      condition,
    },
  ];
}

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
