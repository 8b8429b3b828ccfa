/** Runs that the quality gates hold back: the figures before them are served until an operator accepts or repairs. */
import { runPath } from '../routes/run-path.ts';
import type { AttentionSource } from './item.ts';
import { endedRuns, sinceWhen } from './run-history.ts';

export const heldRuns: AttentionSource = {
  finds: 'held runs',
  conditions: 'held-run',
  find: ({ providers }) =>
    providers.flatMap(({ definition, runs }) => {
      const ended = endedRuns(runs);
      const [last] = ended;
      if (last?.status !== 'suspicious') return [];
      return [
        {
          severity: 'warning',
          what: `A run of ${definition.name} is held. ${last.reason ?? ''}`.trim(),
          since_ms: sinceWhen(ended, ({ status }) => status === 'suspicious'),
          path: runPath(last.subject, last.run_id),
          action: 'Accept or leave it',
          condition: definition.id,
        },
      ];
    }),
};
