/** Quality: rows that the last read of a provider had to reject although they should have been usable. */
import type { RejectReason } from '../../data/schema/lake.ts';
import { runPath } from '../routes/run-path.ts';
import { type AttentionItem, type AttentionSource, counted, listNames } from './item.ts';
import { readRuns, sinceWhen } from './run-history.ts';

/** Aggregates, historical places, withdrawn values and other dimensions are rejected on purpose. */
const FINDINGS: Partial<Record<RejectReason, string>> = {
  unknown_place: 'with places that no table maps',
  bad_year: 'with years that cannot be read',
  bad_number: 'with values that cannot be read',
  duplicate_key: 'that repeat a place and year with another value',
  out_of_bounds: 'with values outside the bounds of their series',
};

export const rejectedRows: AttentionSource = {
  finds: 'rejected rows',
  find: ({ providers }) =>
    providers.flatMap(({ definition, runs }) => {
      const read = readRuns(runs);
      const [last] = read;
      if (!last?.record) return [];
      const { rejects } = last.record;
      return Object.entries(FINDINGS).flatMap(([key, description]): AttentionItem[] => {
        const reason = key as RejectReason;
        const found = rejects[reason];
        if (!found || found.rows === 0) return [];
        return [
          {
            severity: 'notice',
            what: `${counted(found.rows, 'row', 'rows')} of ${definition.name} ${description}: ${listNames(found.samples)}.`,
            since_ms: sinceWhen(read, ({ record }) => (record?.rejects[reason]?.rows ?? 0) > 0),
            path: `${runPath(last.subject, last.run_id)}#rejected`,
            action: 'See samples',
          },
        ];
      });
    }),
};
