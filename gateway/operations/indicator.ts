/** GET /indicators/{indicator_id}: one indicator with the related ones. */
import { z } from 'zod';
import { indicatorDetail } from '../../data/schema/records.ts';
import { indicatorFile } from '../../data/schema/snapshot.ts';
import { truncateInput } from '../errors.ts';
import { credit, envelope } from './envelope.ts';
import { defineOperation, freeFile, type Refused, refused } from './operation.ts';

/** Indicators that may not be redistributed are absent from the snapshot, so they are 404 and never 403. */
export const indicatorNotFound = (id: string): Refused =>
  refused('indicator_not_found', `No indicator has the id '${truncateInput(id)}'.`);

export const indicator = defineOperation({
  name: 'getIndicator',
  path: '/indicators/{indicator_id}',
  tag: 'Catalogue',
  summary: 'One indicator',
  description: 'The indicator record with up to 12 related indicators, strongest first.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  pathParameters: {
    indicator_id: {
      description: 'Indicator id, exact and case-sensitive',
    },
  },
  query: z.object({}),
  answer: envelope(indicatorDetail, credit),
  errors: ['indicator_not_found'],
  plan({ snapshot, path }) {
    const id = path.indicator_id ?? '';
    return snapshot.catalogue.indicators.has(id) ? freeFile(indicatorFile(id)) : indicatorNotFound(id);
  },
});
