/**
 * Series that the last build withheld for their licence, and those about whose licence operators decided: the queue, and the
 * page that decides about one. A decision publishes a series under a licence, or confirms that it is withheld.
 *
 * Licences are also decided by collector: all series that one collector's terms withhold, or withheld before they were
 * decided. The page says which series would change and what follows; one confirmed step then decides all of them or none.
 * The same page takes it back: it decides those that are published to be withheld.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { LICENCE_WORDS, type LicenceDecision } from '../../data/schema/operator-changes.ts';
import { counted } from '../../gateway/commerce/people/people.ts';
import { PageError, parseFields, textField, withQuery } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf, auditedStep, idOf, shownChanges } from '../context.ts';
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
  licenceGroupRoutes(scope, area);
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

const GROUP_PATH = `${PATH}/collectors/decide`;

/** Which series are decided. */
const chosen = {
  collector: textField(500),
  provider: textField(100),
  of: z.enum(LICENCE_STATES).default('undecided'),
};
const shownQuery = z.object({
  ...chosen,
  ...DECISION_FIELDS,
  /** Blank before anything is chosen: then nothing is previewed. */
  publish: z.enum(['', ...LICENCE_WORDS]).default(''),
});
type Shown = z.output<typeof shownQuery>;
const decideForm = z.object({ ...chosen, ...DECISION_FIELDS, seen: textField(64) });

const groupPath = (collector: string): string => withQuery(GROUP_PATH, { collector });
const groupSubject = (collector: string): string => `licences of ${collector}`;

function licenceGroupRoutes(scope: FastifyInstance, area: AdminArea): void {
  const listView = area.view('licence-collectors.njk');
  const groupView = area.view('licence-group.njk');

  scope.get('/licences/collectors', async (_request, reply) => {
    const all = await listLicensedSeries(area);
    return listView(reply, 'Licences by collector', { groups: listGroups(all), states: LICENCE_STATES });
  });

  async function group(collector: string): Promise<LicensedSeries[]> {
    const found = (await listLicensedSeries(area)).filter((one) => one.collector === collector);
    if (found.length === 0) throw new PageError(404, `No series is withheld by “${collector}”.`);
    return found;
  }

  scope.get('/licences/collectors/decide', async (request, reply) => {
    const typed = parseFields(shownQuery, request.query);
    const all = await group(typed.collector);
    const series = choose(all, typed);
    const isAsked = typed.publish !== '';
    const problem = isAsked
      ? findGroupProblem({ ...typed, publish: typed.publish || 'withhold' }, series)
      : null;
    return groupView(reply, typed.collector, {
      form: typed,
      path: GROUP_PATH,
      problem: problem ?? '',
      words: LICENCE_WORDS,
      providers: [...new Set(all.map(({ provider }) => provider.id))],
      states: LICENCE_STATES.map((state) => ({
        state,
        count: all.filter((one) => one.state === state).length,
      })),
      preview: isAsked && problem === null ? preview(typed, series) : null,
      ...(await shownChanges(area, groupSubject(typed.collector))),
    });
  });

  scope.post('/licences/collectors/decide', async (request, reply) => {
    const typed = parseFields(decideForm, request.body);
    const series = choose(await group(typed.collector), typed);
    const problem = findGroupProblem(typed, series);
    if (problem !== null) throw new PageError(422, problem);
    if (typed.seen !== digestOf(series))
      throw new PageError(409, 'Somebody else has decided some of them meanwhile. Look at them again.');
    const made = { by: actorOf(request), decided_at_ms: area.now() };
    const decided = allowed(typed.publish, series).map((one) => ({
      series: one,
      next: buildDecision(typed, one, made),
    }));
    await decideAll(request, typed, decided);
    const what = counted(decided.length, 'series is', 'series are');
    const done = `${what} decided as ${typed.publish}`;
    return reply.leadTo(groupPath(typed.collector), await queueRebuild(area, request, done));
  });

  /** One entry of the audit log for the step, and one for each series, which its own page shows. */
  async function decideAll(
    request: FastifyRequest,
    { collector, of, publish, reason }: z.output<typeof decideForm>,
    decided: readonly { series: LicensedSeries; next: LicenceDecision }[],
  ): Promise<void> {
    const change = {
      action: 'licences.decide',
      subject: groupSubject(collector),
      reason,
      before: { publish: of },
      after: { publish, series: decided.length },
    };
    const changes = decided.map(({ series, next }) => ({
      id: series.id,
      seen: versionOf(series.decision),
      next,
    }));
    await auditedStep(area, request, change, {
      work: () => area.decisions.licences.replace(changes),
      each: decided.map(({ series, next }) => licenceChange(series, next)),
    });
  }
}

function listGroups(all: readonly LicensedSeries[]) {
  return [...Map.groupBy(all, ({ collector }) => collector)]
    .map(([collector, series]) => ({
      collector,
      path: groupPath(collector),
      providers: [...new Set(series.map(({ provider }) => provider.name))].sort(),
      counts: LICENCE_STATES.map((state) => series.filter((one) => one.state === state).length),
      isPending: series.some(({ isPending }) => isPending),
    }))
    .sort((a, b) => (b.counts[0] ?? 0) - (a.counts[0] ?? 0) || (a.collector < b.collector ? -1 : 1));
}

const choose = (all: readonly LicensedSeries[], { provider, of }: Pick<Shown, 'provider' | 'of'>) =>
  all.filter((one) => one.state === of && (provider === '' || one.provider.id === provider));

const allowed = (publish: LicenceDecision['publish'], series: readonly LicensedSeries[]) =>
  series.filter((one) => allowedWords(one).includes(publish));

function findGroupProblem(
  typed: z.output<typeof decideForm> | Omit<z.output<typeof decideForm>, 'seen'>,
  series: readonly LicensedSeries[],
) {
  if (series.length === 0) return `No series of this collector is ${typed.of}.`;
  if (allowed(typed.publish, series).length === 0)
    return `The definitions of their providers allow none of these series as ${typed.publish}.`;
  return findTermsProblem(typed);
}

/** Changes with the series and with each decision about one. */
const digestOf = (series: readonly LicensedSeries[]): string =>
  createHash('sha256')
    .update(JSON.stringify(series.map(({ id, decision }) => [id, decision])))
    .digest('hex');

const FOLLOWS = {
  open: 'open. Everybody can read them: in answers, pages, pictures and downloads, under this licence and credit line.',
  display:
    'display only. They are shown on pages and in JSON, with their latest values and rankings; no answer exports them.',
  withhold: 'withheld. They vanish from every page, answer and file.',
} as const satisfies Record<LicenceDecision['publish'], string>;

/** Which series change, and what follows. */
function preview({ publish }: Shown, series: readonly LicensedSeries[]) {
  if (publish === '') return null;
  const changed = allowed(publish, series);
  const left = series.length - changed.length;
  return {
    seen: digestOf(series),
    effects: [
      `${counted(changed.length, 'series becomes', 'series become')} ${FOLLOWS[publish]}`,
      ...(left > 0
        ? [
            `${counted(left, 'series stays', 'series stay')} as before: the definition of the provider allows no wider access.`,
          ]
        : []),
      'The build that follows obeys, and so do all earlier editions. The same page takes it back.',
    ],
    rows: series.map((one) => ({
      id: one.id,
      name: one.name,
      path: licencePath(one.id),
      provider: one.provider.name,
      before: one.state === 'undecided' ? 'withheld' : one.state,
      after: changed.includes(one) ? publish : null,
    })),
  };
}
