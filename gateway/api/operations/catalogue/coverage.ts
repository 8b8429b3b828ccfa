/** GET /meta/coverage: how much is held for each country. */
import { z } from 'zod';
import { coverageRecord } from '../../../../data/schema/records.ts';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import { count } from '../envelope.ts';
import { free } from '../operation.ts';
import { ofCatalogue } from './described-by.ts';
import { defineList } from './list-formats.ts';

const plan = free(ofCatalogue({ kind: 'file', path: ROUTE_FILES.coverage }));

export const coverage = defineList({
  name: 'listCoverage',
  path: '/meta/coverage',
  tag: 'Catalogue',
  summary: 'Country coverage',
  description: 'One record per country, by ISO3 code: how much data is held.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  pathParameters: {},
  query: z.object({}),
  record: coverageRecord,
  meta: { count },
  fileName: 'almanac-coverage',
  errors: [],
  plan: () => plan,
});
