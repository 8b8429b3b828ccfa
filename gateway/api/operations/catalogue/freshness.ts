/** GET /meta/freshness: how recent each provider's data is. */
import { z } from 'zod';
import { freshnessRecord } from '../../../../data/schema/records.ts';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import { count } from '../envelope.ts';
import { free } from '../operation.ts';
import { ofCatalogue } from './described-by.ts';
import { defineList } from './list-formats.ts';

const plan = free(ofCatalogue({ kind: 'file', path: ROUTE_FILES.freshness }));

export const freshness = defineList({
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
  record: freshnessRecord,
  meta: { count },
  fileName: 'almanac-freshness',
  errors: [],
  plan: () => plan,
});
