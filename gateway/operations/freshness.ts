/** GET /meta/freshness: how recent each provider's data is. */
import { z } from 'zod';
import { freshnessRecord } from '../../data/schema/records.ts';
import { ROUTE_FILES } from '../../data/schema/snapshot.ts';
import { count, envelope } from './envelope.ts';
import { defineOperation, freeFile } from './operation.ts';

const plan = freeFile(ROUTE_FILES.freshness);

export const freshness = defineOperation({
  name: 'listFreshness',
  path: '/meta/freshness',
  tag: 'Catalogue',
  summary: 'Provider freshness',
  description:
    'One record per provider, by id. `last_ok_finished_at` is when we last loaded it; `latest_data_year` is the ' +
    'newest year measured.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  pathParameters: {},
  query: z.object({}),
  answer: envelope(z.array(freshnessRecord), { count }),
  errors: [],
  plan: () => plan,
});
