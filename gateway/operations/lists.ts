/** The free lists without parameters: topics, freshness, coverage. Each is one prerendered file. */
import { z } from 'zod';
import { ROUTE_FILES } from '../../data/schema/snapshot.ts';
import { coverageAnswer, freshnessAnswer, topicsAnswer } from './answers.ts';
import { defineRoute, freeFile } from './operation.ts';

const free = { key: 'optional', price: 'free', tagged: true, path: {}, refusals: [] } as const;

export const topics = defineRoute({
  ...free,
  template: '/topics',
  operation: 'listTopics',
  tag: 'Catalogue',
  summary: 'Topics',
  description: 'The 13 topics in their curated order, with counts.',
  query: z.object({}),
  answer: topicsAnswer,
  handle: () => freeFile(ROUTE_FILES.topics),
});

export const freshness = defineRoute({
  ...free,
  template: '/meta/freshness',
  operation: 'listFreshness',
  tag: 'Catalogue',
  summary: 'Provider freshness',
  description:
    'One record per provider, by id. `last_ok_finished_at` says when we loaded; `latest_data_year` what was measured.',
  query: z.object({}),
  answer: freshnessAnswer,
  handle: () => freeFile(ROUTE_FILES.freshness),
});

export const coverage = defineRoute({
  ...free,
  template: '/meta/coverage',
  operation: 'listCoverage',
  tag: 'Catalogue',
  summary: 'Country coverage',
  description: 'One record per country, by ISO3 code: how much is held of it.',
  query: z.object({}),
  answer: coverageAnswer,
  handle: () => freeFile(ROUTE_FILES.coverage),
});
