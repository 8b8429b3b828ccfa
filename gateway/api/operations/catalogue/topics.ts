/** GET /topics: the curated topics with counts. */
import { z } from 'zod';
import { topicRecord } from '../../../../data/schema/records.ts';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import { count } from '../envelope.ts';
import { free } from '../operation.ts';
import { ofCatalogue } from './described-by.ts';
import { defineList } from './list-formats.ts';

const plan = free(ofCatalogue({ kind: 'file', path: ROUTE_FILES.topics }));

export const topics = defineList({
  name: 'listTopics',
  path: '/topics',
  tag: 'Catalogue',
  summary: 'Topics',
  description: 'The 13 topics in their curated order, with counts.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  pathParameters: {},
  query: z.object({}),
  record: topicRecord,
  meta: { count },
  fileName: 'almanac-topics',
  errors: [],
  plan: () => plan,
});
