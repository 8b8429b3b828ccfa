/** Series that failed in the last run that read their provider; the others of that run were published. */
import type { StoredRun } from '../../data/schema/jobs.ts';
import { runPath } from '../routes/run-path.ts';
import { type AttentionSource, counted, listNames } from './item.ts';
import { readRuns, sinceWhen } from './run-history.ts';

const failedSlugs = ({ record }: StoredRun): string[] =>
  (record?.failed_indicators ?? []).map(({ slug }) => slug);

export const failedSeries: AttentionSource = {
  finds: 'failed series',
  find: ({ providers }) =>
    providers.flatMap(({ definition, runs }) => {
      const read = readRuns(runs);
      const [last] = read;
      if (!last) return [];
      const slugs = failedSlugs(last);
      if (slugs.length === 0) return [];
      const kept = last.record?.carried_indicators?.length ?? 0;
      const keeping = kept === 0 ? '' : ` ${kept} of them keep earlier values.`;
      return [
        {
          severity: 'warning',
          what: `${counted(slugs.length, 'series', 'series')} of ${definition.name} failed: ${listNames(slugs)}.${keeping}`,
          since_ms: sinceWhen(read, (run) => failedSlugs(run).length > 0),
          path: `${runPath(last.subject, last.run_id)}#failed-series`,
          action: 'See why',
        },
      ];
    }),
};
