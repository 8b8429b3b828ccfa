/** GET /topics: the curated topics with counts. */
import { z } from 'zod';
import { topicRecord } from '../../data/schema/records.ts';
import { ROUTE_FILES } from '../../data/schema/snapshot.ts';
import { count, envelope } from './envelope.ts';
import { defineOperation, freeFile } from './operation.ts';

const plan = freeFile(ROUTE_FILES.topics);

export const topics = defineOperation({
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
  answer: envelope(z.array(topicRecord), { count }),
  errors: [],
  plan: () => plan,
});
