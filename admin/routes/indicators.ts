/** Searches, edits, publishes and unpublishes indicators. Every change queues a rebuild. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import { EXCLUSION_REASONS, type ExcludedIndicator } from '../../data/schema/excluded-indicator.ts';
import type { AuditEntry } from '../../gateway/accounts/audit/audit-log.ts';
import { type Cell, sendCsv } from '../../gateway/pages/shared/csv-export.ts';
import {
  createPager,
  formatField,
  integerField,
  type Pager,
  parseFields,
  textField,
  withQuery,
} from '../../gateway/pages/shared/forms.ts';
import { redirectWithFlash } from '../../gateway/pages/shared/protected-area.ts';
import { difference } from '../../gateway/pages/shared/template-filters.ts';
import { type AdminArea, actorOf, auditedChange } from '../context.ts';
import { type AdminIndicator, EDITABLE, type Editable } from '../indicator-admin.ts';

const PATH = '/admin/indicators';
const STATES = [
  'enabled',
  'disabled',
  'edited',
  'unpublished',
  'display only',
  ...EXCLUSION_REASONS,
] as const;
const AUDIT_PAGE = 20;

const query = z.object({
  q: textField(200),
  topic: textField(50),
  provider: textField(100),
  state: textField(50),
  limit: integerField(1, 500, 50),
  offset: integerField(0, 10_000_000, 0),
  format: formatField,
});
type Filters = Pick<z.output<typeof query>, 'q' | 'topic' | 'provider' | 'state'>;

const editForm = z.object({ name: textField(500), description: textField(10_000), unit: textField(200) });
const toggleForm = z.object({ to: textField(20) });

/** A row of the list. An indicator that the build left out has no page, because operators cannot change that. */
type Listed = Pick<AdminIndicator, 'id' | 'name' | 'unit' | 'topic' | 'provider'> & {
  description: string;
  path: string | null;
  enabled: boolean;
  states: string[];
};

interface ListPage extends Filters {
  topics: readonly string[];
  providers: string[];
  states: readonly string[];
  indicators: Listed[];
  pager: Pager;
  csv: string;
}

interface EditPage {
  indicator: AdminIndicator;
  path: string;
  form: Editable & { problem: string };
  /** The operators' edits as `field: old → new`; empty without edits. */
  changed: string;
  audit: AuditEntry[];
  /** Why older entries cannot be shown; null when they can. */
  gap: string | null;
}

const pathOf = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;
const subjectOf = (id: string): string => `indicator ${id}`;
const factsOf = (editable: Editable): Editable => ({
  name: editable.name,
  description: editable.description,
  unit: editable.unit,
});

const listed = (one: AdminIndicator): Listed => ({ ...one, path: pathOf(one.id), states: statesOf(one) });
const listedExcluded = (one: ExcludedIndicator): Listed => ({
  ...one,
  description: '',
  path: null,
  enabled: false,
  states: [one.why],
});

function matches(one: Listed, { q, topic, provider, state }: Filters): boolean {
  if ((topic !== '' && one.topic !== topic) || (provider !== '' && one.provider !== provider)) return false;
  if (state !== '' && !one.states.includes(state)) return false;
  const searched = `${one.name}\n${one.id}\n${one.description}`.toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((token) => searched.includes(token));
}

const statesOf = ({ enabled, edited, published, displayOnly }: AdminIndicator): string[] => [
  enabled ? 'enabled' : 'disabled',
  ...(edited ? ['edited'] : []),
  ...(published ? [] : ['unpublished']),
  ...(displayOnly ? ['display only'] : []),
];

export function indicatorsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { indicators, jobs, audit } = area;
  const listView = area.view<ListPage>('indicators.njk');
  const editView = area.view<EditPage>('indicator.njk');

  scope.get('/indicators', async (request, reply) => {
    const { limit, offset, format, ...filters } = parseFields(query, request.query);
    const [managed, excluded] = await Promise.all([indicators.list(), indicators.excluded()]);
    const known = new Set(managed.map(({ id }) => id));
    // Until the next build, an indicator may be both left out and still listed.
    const absent = excluded.filter(({ id }) => !known.has(id));
    const all = [...managed.map(listed), ...absent.map(listedExcluded)];
    const found = all.filter((one) => matches(one, filters));
    if (format === 'csv') return sendCsv(reply, 'indicators', COLUMNS, found.map(row));
    return listView(reply, 'Indicators', {
      ...filters,
      topics: TOPIC_SLUGS,
      providers: [...new Set(all.map(({ provider }) => provider))].sort(),
      states: STATES,
      indicators: found.slice(offset, offset + limit),
      pager: createPager(PATH, filters, { total: found.length, limit, offset }),
      csv: withQuery(PATH, { ...filters, format: 'csv' }),
    });
  });

  async function editPage(
    reply: FastifyReply,
    id: string,
    sent?: Editable,
    problem = '',
  ): Promise<FastifyReply> {
    const indicator = await indicators.get(id);
    const { entries, gap } = await audit.page({ subject: subjectOf(id), limit: AUDIT_PAGE });
    return editView(reply, indicator.name, {
      indicator,
      path: pathOf(id),
      changed: difference({ ...factsOf(indicator.original) }, { ...factsOf(indicator) }),
      form: { ...factsOf(sent ?? indicator), problem },
      audit: entries,
      gap: gap?.message ?? null,
    });
  }

  scope.get<{ Params: { id: string } }>('/indicators/:id', (request, reply) =>
    editPage(reply, request.params.id),
  );

  scope.post<{ Params: { id: string } }>('/indicators/:id', async (request, reply) => {
    const { id } = request.params;
    const sent = parseFields(editForm, request.body);
    if (sent.name === '') return editPage(reply.code(422), id, sent, 'Enter a name.');
    const before = await indicators.get(id);
    if (EDITABLE.every((field) => before[field] === sent[field]))
      return redirectWithFlash(area, reply, pathOf(id), 'Nothing changed.');
    await auditedChange(
      area,
      request,
      {
        action: 'indicator.edit',
        subject: subjectOf(id),
        before: { ...factsOf(before) },
        after: { ...factsOf(sent) },
      },
      () => indicators.edit(before, sent),
    );
    return queueRebuild(request, reply, pathOf(id), `${id} is changed`);
  });

  /** With `to`, sending the form twice changes once; without it, the route toggles. */
  scope.post<{ Params: { id: string } }>('/indicators/:id/toggle', async (request, reply) => {
    const { id } = request.params;
    const { to } = parseFields(toggleForm, request.body);
    const before = await indicators.get(id);
    const enabled = to === '' ? !before.enabled : to === 'enabled';
    if (enabled === before.enabled)
      return redirectWithFlash(
        area,
        reply,
        pathOf(id),
        `${id} is already ${enabled ? 'published' : 'unpublished'}.`,
      );
    const action = enabled ? 'indicator.enable' : 'indicator.disable';
    await auditedChange(
      area,
      request,
      { action, subject: subjectOf(id), before: { enabled: before.enabled }, after: { enabled } },
      () => indicators.setEnabled(before, enabled),
    );
    return queueRebuild(request, reply, pathOf(id), `${id} is ${enabled ? 'published' : 'unpublished'}`);
  });

  async function queueRebuild(request: FastifyRequest, reply: FastifyReply, path: string, done: string) {
    await jobs.rebuild({ by: actorOf(request) });
    return redirectWithFlash(area, reply, path, `${done}. The catalogue is being rebuilt; see Runs.`);
  }
}

const COLUMNS = ['id', 'name', 'description', 'unit', 'topic', 'provider', 'states'];

const row = (one: Listed): Cell[] => [
  ...[one.id, one.name, one.description, one.unit, one.topic, one.provider],
  one.states.join('; '),
];
