/** `search`: series as results to cite, in the shape that hosts for research ask for. `fetch` gives what is said of each. */
import { z } from 'zod';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { findSeries } from '../../operations/operations.ts';
import { answerPlan, defineTool } from '../tool.ts';

const RESULTS_MAX = 10;

/** With what tells a series from those of the same name. */
export const titleOf = ({ name, unit, provider }: IndicatorRecord): string =>
  `${name}${unit === null ? '' : ` (${unit})`}, ${provider.name}`;

const result = z.object({
  id: z.string(),
  title: z.string(),
  url: z.string(),
  match: z.enum(['good', 'weak']),
});

export const searchTool = defineTool({
  name: 'search',
  title: 'Search the catalogue',
  description:
    'Finds series as find_indicators does, as results to cite. `match: weak` is only close to what was asked for.',
  priceText: 'free',
  isBare: true,
  arguments: z.object({ query: z.string().trim().min(1).max(300) }),
  answer: z.object({ results: z.array(result) }),
  empty: { results: [] },
  async plan({ snapshot, query: { query }, publicUrl }) {
    const { hits } = await findSeries(snapshot, query, { limit: RESULTS_MAX });
    const results = hits.map(({ record, match }) => ({
      id: record.id,
      title: titleOf(record),
      url: `${publicUrl}/indicators/${record.id}`,
      match,
    }));
    return answerPlan({ outcome: 'answer', message: '', edition: snapshot.id, results });
  },
});
