/** GET /indicators/{indicator_id}: one indicator with the related ones. */
import { z } from 'zod';
import { indicatorFile } from '../../data/schema/snapshot.ts';
import { indicatorAnswer } from './answers.ts';
import { defineRoute, freeFile, type Outcome } from './operation.ts';
import { bounded } from './validation.ts';

/** What may not be redistributed is not in the snapshot, and so does not exist: never 403. */
export const indicatorNotFound = (id: string): Outcome => ({
  kind: 'refusal',
  code: 'indicator_not_found',
  message: `No indicator has the id '${bounded(id)}'.`,
});

export const indicator = defineRoute({
  template: '/indicators/{indicator_id}',
  operation: 'getIndicator',
  tag: 'Catalogue',
  summary: 'One indicator',
  description: 'The indicator record with up to 12 related indicators, strongest first.',
  key: 'optional',
  price: 'free',
  tagged: true,
  path: {
    indicator_id: {
      description: 'Indicator id, exact and case-sensitive',
      example: 'gapminder.life_expectancy_years',
    },
  },
  query: z.object({}),
  answer: indicatorAnswer,
  refusals: ['indicator_not_found'],
  handle({ snapshot, path }) {
    const id = path.indicator_id ?? '';
    return snapshot.catalogue.indicators.has(id) ? freeFile(indicatorFile(id)) : indicatorNotFound(id);
  },
});
