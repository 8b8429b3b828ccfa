/** GET /groups: groups of countries. */
import { z } from 'zod';
import { iso3 } from '../../../../data/schema/records.ts';
import { count } from '../envelope.ts';
import { free, listDocument } from '../operation.ts';
import { GROUPS, servedMembers } from './country-groups.ts';
import { defineList } from './list-formats.ts';

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
  tag: 'Catalogue',
  summary: 'Groups of countries',
  description: 'Groups that `countries` may name: unions and organisations, regions and income groups.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  pathParameters: {},
  query: z.object({}),
  record: groupRecord,
  meta: { count },
  fileName: 'almanac-groups',
  errors: [],
  plan({ snapshot }) {
    const records = [...GROUPS.values()].map((group): z.infer<typeof groupRecord> => {
      const { id, name, source, as_of } = group;
      return { id, name, members: servedMembers(group, snapshot), source, as_of };
    });
    const meta = { generated_at: snapshot.generatedAt, count: records.length };
    return free(
      listDocument(
        records.map((record) => JSON.stringify(record)),
        meta,
      ),
    );
  },
});
