/** Searches indicators: published, unpublished, edited, left out by the build. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import { EXCLUSION_REASONS, type ExcludedIndicator } from '../../data/schema/jobs.ts';
import { parseFields, TableSort, textField } from '../../gateway/web/forms.ts';
import type { AdminArea } from '../context.ts';
import type { AdminIndicator } from '../indicator-admin.ts';
import { containsWords, LIST_FIELDS, listLinks, sendRecords } from '../list.ts';
import { indicatorPath, INDICATORS_PATH as PATH } from './indicator.ts';
import { licencePath } from './licences.ts';

const STATES = [
  'enabled',
  'disabled',
  'edited',
  'unpublished',
  'featured',
  'display only',
  ...EXCLUSION_REASONS,
] as const;

const SORT = new TableSort<Listed>({
  name: ({ name }) => name,
  id: ({ id }) => id,
  unit: ({ unit }) => unit,
  topic: ({ topic }) => topic,
  provider: ({ provider }) => provider,
});

const query = z.object({
  q: textField(200),
  topic: textField(50),
  provider: textField(100),
  state: textField(50),
  sort: SORT.field,
  ...LIST_FIELDS,
});
type Filters = Pick<z.output<typeof query>, 'q' | 'topic' | 'provider' | 'state'>;

/** A row of the list. An excluded indicator has a page only if it is withheld for its licence. */
type Listed = Pick<AdminIndicator, 'id' | 'name' | 'description' | 'unit' | 'topic' | 'provider'> & {
  path: string | null;
  enabled: boolean;
  states: string[];
  /** Whose terms or which decision withhold it; empty for others. */
  detail: string;
};

const listed = (one: AdminIndicator): Listed => ({
  ...one,
  path: indicatorPath(one.id),
  states: statesOf(one),
  detail: '',
});
const listedExcluded = (one: ExcludedIndicator): Listed => ({
  ...one,
  description: null,
  path: one.why === 'not redistributable' ? licencePath(one.id) : null,
  enabled: false,
  states: [one.why],
  detail: one.detail ?? '',
});

function matches(one: Listed, { q, topic, provider, state }: Filters): boolean {
  if ((topic !== '' && one.topic !== topic) || (provider !== '' && one.provider !== provider)) return false;
  if (state !== '' && !one.states.includes(state)) return false;
  return containsWords(`${one.name}\n${one.id}\n${one.description ?? ''}`, q);
}

const statesOf = ({ enabled, edited, published, featured, displayOnly }: AdminIndicator): string[] => [
  enabled ? 'enabled' : 'disabled',
  ...(edited ? ['edited'] : []),
  ...(published ? [] : ['unpublished']),
  ...(featured ? ['featured'] : []),
  ...(displayOnly ? ['display only'] : []),
];

export function indicatorsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { indicators } = area;
  const listView = area.view('indicators.njk');

  scope.get('/indicators', async (request, reply) => {
    const { limit, offset, format, sort, ...filters } = parseFields(query, request.query);
    const [managed, excluded] = await Promise.all([indicators.list(), indicators.excluded()]);
    const known = new Set(managed.map(({ id }) => id));
    // Until the next build, an indicator may be both left out and still listed.
    const absent = excluded.filter(({ id }) => !known.has(id));
    const all = [...managed.map(listed), ...absent.map(listedExcluded)];
    const found = SORT.sort(
      all.filter((one) => matches(one, filters)),
      sort,
    );
    if (format === 'csv') {
      const records = found.map((one) => ({ ...one, states: one.states.join('; ') }));
      return sendRecords(reply, 'indicators', COLUMNS, records);
    }
    return listView(reply, 'Indicators', {
      ...filters,
      ...listLinks(PATH, filters, { order: SORT, sort, total: found.length, limit, offset }),
      topics: TOPIC_SLUGS,
      providers: [...new Set(all.map(({ provider }) => provider))].sort(),
      states: STATES,
      indicators: found.slice(offset, offset + limit),
    });
  });
}

const COLUMNS = ['id', 'name', 'description', 'unit', 'topic', 'provider', 'states', 'detail'];
