/**
 * The quality report: what the last build doubts and what was decided, one by one or in groups by check, or by series and
 * provider. Findings are decided one by one, or all open ones of a group: accepted, to be fixed, unranked, withheld, or
 * snoozed until a day. The page lists what is decided; one step stores all decisions or none. Builds read them before the
 * rows of `data/quality-decisions.csv`.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { FindingDecision } from '../../data/schema/operator-changes.ts';
import { qualityDecisionWord } from '../../data/schema/quality.ts';
import { QUALITY_KINDS, qualitySeverity } from '../../data/schema/quality-kinds.ts';
import { counted } from '../../gateway/commerce/people/people.ts';
import { PageError, parseFields, textField, withQuery } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf, auditedStep } from '../context.ts';
import { versionOf } from '../decision-store.ts';
import { isOpen, type ListedFinding, readFindings } from '../findings.ts';
import { LIST_FIELDS, listLinks, sendRecords } from '../list.ts';
import { indicatorPath, indicatorSubject, queueRebuild } from './indicator.ts';

const QUALITY_PATH = '/admin/quality';
const DECIDE_PATH = `${QUALITY_PATH}/decide`;

/**
 * `open`: neither decided nor snoozed. `lapsed`: open although it was decided. `changed`: new or worse since the night before.
 */
const STATES = ['open', 'lapsed', 'changed', 'snoozed', ...qualityDecisionWord.options] as const;

/** What a list of findings is narrowed by. */
const FINDING_FILTERS = {
  severity: textField(20),
  kind: textField(60),
  provider: textField(100),
  /** An indicator id, of a pair either one; a provider id for findings on a whole provider. */
  series: textField(200),
};
const query = z.object({
  ...FINDING_FILTERS,
  state: textField(20),
  by: z.enum(['', 'check', 'series']).default(''),
  ...LIST_FIELDS,
});
type Filters = Pick<z.output<typeof query>, keyof typeof FINDING_FILTERS | 'state'>;

function statesOf(finding: ListedFinding): string[] {
  const { decision, snoozedUntil, lapsed, change } = finding;
  return [
    ...(isOpen(finding) ? ['open'] : []),
    ...(snoozedUntil === null ? [] : ['snoozed']),
    ...(decision === null ? [] : [decision]),
    ...(lapsed === null ? [] : ['lapsed']),
    ...(change === null ? [] : ['changed']),
  ];
}

const matches = (
  finding: ListedFinding,
  { severity, kind, provider, series, state = '' }: Omit<Filters, 'state'> & { state?: string },
): boolean =>
  (severity === '' || finding.severity === severity) &&
  (kind === '' || finding.kind === kind) &&
  (provider === '' || finding.provider === provider) &&
  (series === '' || subjectsOf(finding).includes(series)) &&
  (state === '' || statesOf(finding).includes(state));

/** Worst first; of one severity the open first, of these the new and worse ones. */
const compare = (a: ListedFinding, b: ListedFinding): number =>
  qualitySeverity.options.indexOf(a.severity) - qualitySeverity.options.indexOf(b.severity) ||
  Number(!isOpen(a)) - Number(!isOpen(b)) ||
  Number(a.change === null) - Number(b.change === null);

export function qualityRoutes(scope: FastifyInstance, area: AdminArea): void {
  qualityDecisionRoutes(scope, area);
  const view = area.view('quality.njk');

  scope.get('/quality', async (request, reply) => {
    const { limit, offset, format, by, ...filters } = parseFields(query, request.query);
    const report = await readFindings(area);
    const all = report?.findings ?? [];
    const found = all.filter((one) => matches(one, filters)).sort(compare);
    if (format === 'csv') return sendRecords(reply, 'quality', COLUMNS, found.map(record));
    const published = area.snapshots.current()?.catalogue.indicators;
    const pathOf = (id: string) => (published?.has(id) ? indicatorPath(id) : null);
    const groups = by === '' ? [] : groupFindings(found, by, filters);
    const total = by === '' ? found.length : groups.length;
    const openOf = (severity: string): number =>
      all.filter((one) => one.severity === severity && isOpen(one)).length;
    return view(reply, 'Quality', {
      ...filters,
      by,
      night: report?.night ?? null,
      severities: qualitySeverity.options,
      kinds: [...new Set(all.map(({ kind }) => kind))].sort(),
      providers: [...new Set(all.map(({ provider }) => provider))].sort(),
      states: STATES,
      groups: groups.slice(offset, offset + limit),
      findings: by === '' ? found.slice(offset, offset + limit).map((one) => shownFinding(one, pathOf)) : [],
      open: Object.fromEntries(qualitySeverity.options.map((severity) => [severity, openOf(severity)])),
      snoozed: all.filter(({ snoozedUntil }) => snoozedUntil !== null).length,
      unused: report?.unused ?? [],
      ...listLinks(QUALITY_PATH, { ...filters, by }, { total, limit, offset }),
    });
  });
}

/** With links to its series, and to the page that decides it. */
const shownFinding = (one: ListedFinding, pathOf: (id: string) => string | null) => ({
  ...one,
  about: QUALITY_KINDS[one.kind].about,
  /** What the extent counts or measures. */
  unit: QUALITY_KINDS[one.kind].extent,
  first_seen_ms: Date.parse(one.first_seen),
  series: [one.indicator, one.other].flatMap((id) => (id === null ? [] : [{ id, path: pathOf(id) }])),
  decide: withQuery(DECIDE_PATH, { id: one.id }),
});

/** The series that it is about, or the whole provider. */
const subjectsOf = ({ indicator, provider, other }: ListedFinding): string[] => [
  indicator ?? provider,
  ...(other === null ? [] : [other]),
];

/** By check and provider, or by what they are about (a pair is in two groups); those with most that is open first. */
function groupFindings(found: readonly ListedFinding[], by: 'check' | 'series', filters: Filters) {
  const groups = new Map<string, { narrowed: Filters; findings: ListedFinding[] }>();
  for (const one of found) {
    const { kind, provider } = one;
    const narrowings = by === 'check' ? [{ kind, provider }] : subjectsOf(one).map((series) => ({ series }));
    for (const narrowing of narrowings) {
      const key = JSON.stringify(narrowing);
      const group = groups.get(key) ?? { narrowed: { ...filters, ...narrowing }, findings: [] };
      groups.set(key, group);
      group.findings.push(one);
    }
  }
  return [...groups.values()].map(shownGroup).sort((a, b) => b.open - a.open || (a.label < b.label ? -1 : 1));

  function shownGroup({ narrowed, findings }: { narrowed: Filters; findings: ListedFinding[] }) {
    const { state: _, ...decided } = narrowed;
    return {
      label: by === 'check' ? narrowed.kind.replaceAll('_', ' ') : narrowed.series,
      providers: [...new Set(findings.map(({ provider }) => provider))],
      severity: qualitySeverity.options.find((word) => findings.some(({ severity }) => severity === word)),
      open: findings.filter(isOpen).length,
      snoozed: findings.filter(({ snoozedUntil }) => snoozedUntil !== null).length,
      decided: findings.filter(({ decision }) => decision !== null).length,
      show: withQuery(QUALITY_PATH, narrowed),
      decide: withQuery(DECIDE_PATH, decided),
    };
  }
}

const COLUMNS = [
  ...['id', 'kind', 'severity', 'provider', 'indicator', 'other', 'countries', 'first_year', 'last_year'],
  ...['extent', 'message', 'first_seen', 'change', 'decision', 'reason', 'snoozed_until'],
  ...['lapsed_decision', 'lapsed_reason'],
];

const record = (one: ListedFinding) => ({
  ...one,
  countries: one.countries.join(' '),
  first_year: one.years?.[0],
  last_year: one.years?.[1],
  snoozed_until: one.snoozedUntil,
  lapsed_decision: one.lapsed?.decision,
  lapsed_reason: one.lapsed?.reason,
});

const WORDS = [
  'accept',
  'snooze',
  'fix',
  'unrank',
  'withhold',
] as const satisfies FindingDecision['decision'][];
/** Findings shown; all that match are decided. */
const SHOWN = 200;

const chosen = { ...FINDING_FILTERS, id: textField(16) };
const chosenQuery = z.object(chosen);
type Chosen = z.output<typeof chosenQuery>;
const decisionForm = z.object({
  ...chosen,
  decision: z.enum([...qualityDecisionWord.options, 'snooze'], { error: `one of ${WORDS.join(', ')}` }),
  until: textField(10),
  reason: textField(500),
  /** The findings that the operator saw. */
  seen: textField(64),
});
type Typed = z.output<typeof decisionForm>;

function qualityDecisionRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('quality-decide.njk');

  /** One by its id, else all open ones that match. @throws {PageError} 404 for none */
  async function choose({ id, ...filters }: Chosen): Promise<ListedFinding[]> {
    const all = (await readFindings(area))?.findings ?? [];
    const found = all.filter((one) => (id === '' ? isOpen(one) && matches(one, filters) : one.id === id));
    if (found.length === 0) throw new PageError(404, 'No such finding is open.');
    return found;
  }

  function show(reply: FastifyReply, found: readonly ListedFinding[], typed: Typed & { problem: string }) {
    const published = area.snapshots.current()?.catalogue.indicators;
    const pathOf = (id: string) => (published?.has(id) ? indicatorPath(id) : null);
    const { id, severity, kind, provider, series } = typed;
    return view(reply, found.length === 1 ? 'Decide a finding' : `Decide ${found.length} findings`, {
      form: { ...typed, seen: digestOf(found) },
      chosen: { id, severity, kind, provider, series },
      path: DECIDE_PATH,
      words: WORDS.filter((word) => found.every((one) => isAllowed(word, one))),
      today: dayOfMs(area.now()),
      total: found.length,
      findings: found.slice(0, SHOWN).map((one) => shownFinding(one, pathOf)),
    });
  }

  scope.get('/quality/decide', async (request, reply) => {
    const asked = parseFields(chosenQuery, request.query);
    const found = await choose(asked);
    return show(reply, found, { ...asked, decision: 'accept', until: '', reason: '', seen: '', problem: '' });
  });

  scope.post('/quality/decide', async (request, reply) => {
    const typed = parseFields(decisionForm, request.body);
    const found = await choose(typed);
    if (typed.seen !== digestOf(found))
      throw new PageError(409, 'The findings have changed meanwhile. Look at them again.');
    const problem = findProblem(typed, found, dayOfMs(area.now()));
    if (problem !== null) return show(reply.code(422), found, { ...typed, problem });
    await decide(request, typed, found);
    const what = counted(found.length, 'finding is', 'findings are');
    if (typed.decision === 'snooze')
      return reply.leadTo(QUALITY_PATH, `${what} snoozed until ${typed.until}.`);
    const done = `${what} decided: ${typed.decision}`;
    const isInFigures = typed.decision === 'withhold' || typed.decision === 'unrank';
    const notice = isInFigures
      ? await queueRebuild(area, request, done)
      : `${done}. The next build tells readers.`;
    return reply.leadTo(QUALITY_PATH, notice);
  });

  function decide(request: FastifyRequest, typed: Typed, found: readonly ListedFinding[]): Promise<void> {
    const made = { by: actorOf(request), decided_at_ms: area.now() };
    const { decision, reason } = typed;
    const until = decision === 'snooze' ? typed.until : null;
    const after = { decision, ...(until !== null && { until }) };
    const changes = found.map((one) => {
      const { id, kind, other, extent } = one;
      const next = { kind, subject: subjectOf(one), other, extent, decision, reason, until, ...made };
      return { id, seen: versionOf(one.own), next };
    });
    const step = {
      action: 'findings.decide',
      subject: 'quality report',
      reason,
      after: { ...after, findings: found.length },
    };
    return auditedStep(area, request, step, {
      work: () => area.decisions.findings.replace(changes),
      each: found.map((one) => ({
        action: 'finding.decide',
        reason,
        after: { kind: one.kind, ...after },
        subject: one.indicator === null ? `provider ${one.provider}` : indicatorSubject(one.indicator),
      })),
    });
  }
}

const dayOfMs = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const subjectOf = ({ indicator, provider }: ListedFinding): string => indicator ?? provider;

/** A finding on a provider has no series to withhold; one on none is decided by mending the check. */
const isAllowed = (word: FindingDecision['decision'], { indicator, kind }: ListedFinding): boolean => {
  if (word === 'snooze') return true;
  return kind !== 'check_failed' && (indicator !== null || word === 'accept' || word === 'fix');
};

function findProblem({ decision, until, reason }: Typed, found: readonly ListedFinding[], today: string) {
  if (!found.every((one) => isAllowed(decision, one)))
    return `Decision: not all of these findings can be decided as ${decision}.`;
  if (reason === '') return 'Reason: say why.';
  if (decision !== 'snooze') return null;
  if (!z.iso.date().safeParse(until).success || until < today)
    return 'Until: a day from today on, such as 2026-12-31.';
  return null;
}

/** Changes with the findings, their extent, and each decision about one. */
const digestOf = (found: readonly ListedFinding[]): string =>
  createHash('sha256')
    .update(JSON.stringify(found.map(({ id, extent, decision, own }) => [id, extent, decision, own])))
    .digest('hex');
