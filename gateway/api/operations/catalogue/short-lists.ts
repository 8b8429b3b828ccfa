/** GET /countries, /groups, /topics, /meta/freshness and /meta/coverage. */
import { z } from 'zod';
import {
  countryRecord,
  coverageRecord,
  freshnessRecord,
  iso3,
  topicRecord,
} from '../../../../data/schema/records.ts';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import { text } from '../parameters/parameters.ts';
import { GROUPS, servedMembers } from '../parameters/place-names.ts';
import { defineList } from './list.ts';

export const countries = defineList({
  name: 'listCountries',
  path: '/countries',
  summary: 'Countries',
  description: 'All countries served, ordered by name. A filter that matches nothing gives an empty array.',
  query: z.object({
    region: text().optional().describe('Exact region, case-sensitive'),
    income_group: text().optional().describe('Exact income group, case-sensitive'),
  }),
  record: countryRecord,
  meta: {
    region: z.string().optional(),
    income_group: z.string().optional(),
  },
  fileName: 'almanac-countries',
  list({ snapshot, query: { region, income_group } }) {
    if (region === undefined && income_group === undefined) return { file: ROUTE_FILES.countries };
    const found = snapshot.countries.filter(
      ({ record }) =>
        (region === undefined || record.region === region) &&
        (income_group === undefined || record.income_group === income_group),
    );
    const records = found.map(({ json }) => json);
    const meta = { generated_at: snapshot.generatedAt, count: records.length, region, income_group };
    return { records, meta };
  },
});

const groupRecord = z.object({
  id: z.string().describe('`countries=@<id>` asks for its members'),
  name: z.string(),
  members: z.array(iso3).describe('Those that are served'),
  source: z.string().describe('Where the membership is stated'),
  as_of: z.iso.date().describe('The day for which it holds'),
});

export const groups = defineList({
  name: 'listGroups',
  path: '/groups',
  summary: 'Groups of countries',
  description:
    'Groups that `countries` may name, by `@` and id or by name: unions and organisations, regions and income groups.',
  record: groupRecord,
  fileName: 'almanac-groups',
  list({ snapshot }) {
    const records = [...GROUPS.values()].map((group) =>
      JSON.stringify(groupRecord.parse({ ...group, members: servedMembers(group, snapshot) })),
    );
    return { records, meta: { generated_at: snapshot.generatedAt, count: records.length } };
  },
});

export const topics = defineList({
  name: 'listTopics',
  path: '/topics',
  summary: 'Topics',
  description: 'The 13 topics in their curated order, with counts.',
  record: topicRecord,
  fileName: 'almanac-topics',
  isOfCatalogue: true,
  list: () => ({ file: ROUTE_FILES.topics }),
});

export const freshness = defineList({
  name: 'listFreshness',
  path: '/meta/freshness',
  summary: 'Provider freshness',
  description:
    'One record per provider, by id. `last_ok_finished_at` is when we last loaded it; `latest_data_year` is the ' +
    'newest year measured.',
  record: freshnessRecord,
  fileName: 'almanac-freshness',
  isOfCatalogue: true,
  list: () => ({ file: ROUTE_FILES.freshness }),
});

export const coverage = defineList({
  name: 'listCoverage',
  path: '/meta/coverage',
  summary: 'Country coverage',
  description: 'One record per country, by ISO3 code: how much data is held.',
  record: coverageRecord,
  fileName: 'almanac-coverage',
  isOfCatalogue: true,
  list: () => ({ file: ROUTE_FILES.coverage }),
});
