/**
 * Series that the last build withheld for their licence, and those about whose licence operators decided: the queue, and the
 * page that decides about one. A decision publishes a series under a licence, or confirms that it is withheld.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { ExcludedIndicator } from '../../data/schema/jobs.ts';
import { LICENCE_WORDS, type LicenceDecision } from '../../data/schema/operator-changes.ts';
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { PageError, parseFields, textField } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf, idOf, shownChanges } from '../context.ts';
import { versionOf } from '../decision-store.ts';
import { containsWords, LIST_FIELDS, listLinks, sendRecords } from '../list.ts';
import { indicatorSubject, queueRebuild } from './indicator.ts';

const PATH = '/admin/licences';
const ANY = 'any';
const STATES = ['undecided', 'open', 'display', 'withhold'] as const;

export const licencePath = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;

const listQuery = z.object({
  q: textField(200),
  provider: textField(100),
  state: z.enum([ANY, ...STATES]).default('undecided'),
  ...LIST_FIELDS,
});

const decisionForm = z.object({
  publish: z.enum(LICENCE_WORDS, { error: `one of ${LICENCE_WORDS.join(', ')}` }),
  licence: textField(200),
  licence_url: textField(500),
  attribution: textField(500),
  reason: textField(500),
  /** The decision that the operator saw. */
  seen: textField(20),
});
type DecisionForm = z.output<typeof decisionForm>;

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
      states: [...STATES, ANY],
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

  async function show(reply: FastifyReply, series: LicensedSeries, form: DecisionForm & { problem: string }) {
    const { id, name } = series;
    return licenceView(reply, name, {
      series,
      path: licencePath(id),
      choices: allowedWords(series),
      form,
      ...(await shownChanges(area, indicatorSubject(id))),
    });
  }

  scope.get('/licences/:id', async (request, reply) => {
    const series = await find(request);
    return show(reply, series, { ...formOf(series), problem: '' });
  });

  scope.post('/licences/:id', async (request, reply) => {
    const series = await find(request);
    const form = parseFields(decisionForm, request.body);
    const problem = findProblem(form, series);
    if (problem !== null) return show(reply.code(422), series, { ...form, problem });
    const { id, name, state } = series;
    const decision = buildDecision(form, actorOf(request), area.now());
    const change = {
      ...{ action: 'licence.decide', subject: indicatorSubject(id), reason: form.reason },
      before: { publish: state },
      after: {
        publish: decision.publish,
        ...(decision.publish !== 'withhold' && { licence: decision.licence }),
      },
    };
    await request.audited(change, () => area.decisions.licences.replace(id, form.seen, decision));
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

/** No series is published wider than its provider allows. */
const allowedWords = ({ widest }: LicensedSeries): LicenceDecision['publish'][] =>
  LICENCE_WORDS.filter((word) => {
    if (word === 'withhold') return true;
    return widest !== null && (word === 'display' || widest === 'open');
  });

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

function findProblem(form: DecisionForm, series: LicensedSeries): string | null {
  const { publish, licence, licence_url, reason } = form;
  if (!allowedWords(series).includes(publish))
    return `${series.provider.name} allows no wider access than ${series.widest ?? 'none'}: see its definition.`;
  if (reason === '') return 'Reason: say why, such as where the permission is kept.';
  if (publish === 'withhold') return null;
  if (licence === '') return 'Licence: name the licence under which it is published.';
  if (licence_url !== '' && !z.url({ protocol: /^https?$/ }).safeParse(licence_url).success)
    return 'Link of the licence: an address such as https://example.org/licence.';
  return null;
}

function buildDecision(form: DecisionForm, by: string, decided_at_ms: number): LicenceDecision {
  const { publish, licence, licence_url, attribution, reason } = form;
  const who = { reason, by, decided_at_ms };
  if (publish === 'withhold') return { publish, ...who };
  return { publish, licence, licence_url: licence_url || null, attribution: attribution || null, ...who };
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

type LicensedSeries = ReturnType<typeof describeSeries>;

/** In the order of ids. */
async function listLicensedSeries(area: AdminArea): Promise<LicensedSeries[]> {
  const [excluded, decided, providers] = await Promise.all([
    area.indicators.excluded(),
    area.decisions.licences.all(),
    area.providers(),
  ]);
  const left = new Map(excluded.map((one) => [one.id, one]));
  const withheld = excluded.filter(({ why }) => why === 'not redistributable').map(({ id }) => id);
  const served = area.snapshots.current()?.catalogue.indicators;
  const ids = [...new Set([...withheld, ...decided.keys()])].sort();
  return ids.flatMap((id) => {
    const provider = providers.get(id.slice(0, id.indexOf('.')));
    const facts = { left: left.get(id), record: served?.get(id)?.record ?? null };
    return provider ? [describeSeries(id, provider, decided.get(id) ?? null, facts)] : [];
  });
}

function describeSeries(
  id: string,
  provider: ProviderDefinition,
  decision: LicenceDecision | null,
  { left, record }: { left: ExcludedIndicator | undefined; record: IndicatorRecord | null },
) {
  return {
    ...{ id, provider, decision },
    name: record?.name ?? left?.name ?? id,
    unit: record?.unit ?? left?.unit ?? '',
    /** Whose terms or which reason withheld it in the last build; empty when that published it. */
    withheldBy: record ? '' : (left?.detail ?? left?.why ?? ''),
    state: decision?.publish ?? ('undecided' as const),
    /** Whether the served snapshot does not show the decision yet. */
    isPending: decision !== null && isPending(decision, record, left),
    /** The widest access that its provider allows; null when that withholds everything. */
    widest: provider.redistributable ? provider.access_tier : null,
  };
}

/** A build that leaves the series out for another reason obeys a decision to publish it, too. */
function isPending(
  decision: LicenceDecision,
  record: IndicatorRecord | null,
  left: ExcludedIndicator | undefined,
): boolean {
  if (decision.publish === 'withhold') return record !== null;
  if (record === null) return left === undefined || left.why === 'not redistributable';
  return record.licence !== decision.licence || record.access_tier !== decision.publish;
}
