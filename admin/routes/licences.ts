/**
 * Series that the last build withheld for their licence, and those about whose licence operators decided: the queue, and the
 * page that decides about one. A decision publishes a series under a licence, or confirms that it is withheld.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PageError, parseFields, textField } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf, idOf, shownChanges } from '../context.ts';
import { versionOf } from '../decision-store.ts';
import {
  allowedWords,
  buildDecision,
  DECISION_FIELDS,
  findTermsProblem,
  LICENCE_STATES,
  type LicensedSeries,
  licenceChange,
  listLicensedSeries,
} from '../licensed-series.ts';
import { containsWords, LIST_FIELDS, listLinks, sendRecords } from '../list.ts';
import { indicatorSubject, queueRebuild } from './indicator.ts';

const PATH = '/admin/licences';
const ANY = 'any';

export const licencePath = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;

const listQuery = z.object({
  q: textField(200),
  provider: textField(100),
  state: z.enum([ANY, ...LICENCE_STATES]).default('undecided'),
  ...LIST_FIELDS,
});

const form = z.object({
  ...DECISION_FIELDS,
  /** The decision that the operator saw. */
  seen: textField(20),
});
type DecisionForm = z.output<typeof form>;

export function licenceRoutes(scope: FastifyInstance, area: AdminArea): void {
  const listView = area.view('licences.njk');
  const licenceView = area.view('licence.njk');

  scope.get('/licences', async (request, reply) => {
    const { format, limit, offset, ...filters } = parseFields(listQuery, request.query);
    const all = await listLicensedSeries(area);
    const found = all.filter((one) => matches(one, filters));
    if (format === 'csv') return sendRecords(reply, 'licences', COLUMNS, found.map(record));
    return listView(reply, 'Licences', {
      ...filters,
      providers: [...new Set(all.map(({ provider }) => provider.id))],
      states: [...LICENCE_STATES, ANY],
      series: found.slice(offset, offset + limit).map((one) => ({ ...one, path: licencePath(one.id) })),
      ...listLinks(PATH, filters, { total: found.length, limit, offset }),
    });
  });

  async function find(request: FastifyRequest): Promise<LicensedSeries> {
    const id = idOf(request);
    const series = (await listLicensedSeries(area)).find((one) => one.id === id);
    if (!series) throw new PageError(404, `${id} is not withheld for its licence.`);
    return series;
  }

  async function show(
    reply: FastifyReply,
    series: LicensedSeries,
    typed: DecisionForm & { problem: string },
  ) {
    const { id, name } = series;
    return licenceView(reply, name, {
      series,
      path: licencePath(id),
      choices: allowedWords(series),
      form: typed,
      ...(await shownChanges(area, indicatorSubject(id))),
    });
  }

  scope.get('/licences/:id', async (request, reply) => {
    const series = await find(request);
    return show(reply, series, { ...formOf(series), problem: '' });
  });

  scope.post('/licences/:id', async (request, reply) => {
    const series = await find(request);
    const typed = parseFields(form, request.body);
    const problem = findProblem(typed, series);
    if (problem !== null) return show(reply.code(422), series, { ...typed, problem });
    const { id, name } = series;
    const decision = buildDecision(typed, series, { by: actorOf(request), decided_at_ms: area.now() });
    await request.audited(licenceChange(series, decision), () =>
      area.decisions.licences.replace([{ id, seen: typed.seen, next: decision }]),
    );
    const done =
      decision.publish === 'withhold' ? `${name} is withheld` : `${name} is published as ${decision.publish}`;
    return reply.leadTo(licencePath(id), await queueRebuild(area, request, done));
  });
}

type Filters = Pick<z.output<typeof listQuery>, 'q' | 'provider' | 'state'>;

function matches(one: LicensedSeries, { q, provider, state }: Filters): boolean {
  if ((provider !== '' && one.provider.id !== provider) || (state !== ANY && one.state !== state))
    return false;
  return containsWords(`${one.name}\n${one.id}\n${one.withheldBy}`, q);
}

function formOf({ decision }: LicensedSeries): DecisionForm {
  const terms = decision !== null && decision.publish !== 'withhold' ? decision : null;
  return {
    publish: decision?.publish ?? 'withhold',
    licence: terms?.licence ?? '',
    licence_url: terms?.licence_url ?? '',
    attribution: terms?.attribution ?? '',
    reason: '',
    seen: versionOf(decision),
  };
}

function findProblem(typed: DecisionForm, series: LicensedSeries): string | null {
  if (!allowedWords(series).includes(typed.publish))
    return `${series.provider.name} allows no wider access than ${series.widest ?? 'none'}: see its definition.`;
  return findTermsProblem(typed);
}

const COLUMNS = [
  ...['id', 'name', 'unit', 'provider', 'withheld_by', 'state', 'pending'],
  ...['licence', 'reason', 'decided_by', 'decided_at'],
];

const record = (series: LicensedSeries) => ({
  ...series.decision,
  ...series,
  provider: series.provider.id,
  withheld_by: series.withheldBy,
  pending: series.isPending,
  decided_by: series.decision?.by,
});
