/**
 * The quality report: what the last build doubts and what was decided, one by one or in groups by check, or by series and
 * provider. `quality-decisions.ts` decides.
 */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { qualityDecisionWord } from '../../data/schema/quality.ts';
import { QUALITY_KINDS, qualitySeverity } from '../../data/schema/quality-kinds.ts';
import { parseFields, textField, withQuery } from '../../gateway/web/forms.ts';
import type { AdminArea } from '../context.ts';
import { isOpen, type ListedFinding, readFindings } from '../findings.ts';
import { LIST_FIELDS, listLinks, sendRecords } from '../list.ts';
import { indicatorPath } from './indicator.ts';

export const QUALITY_PATH = '/admin/quality';
const DECIDE_PATH = `${QUALITY_PATH}/decide`;

/**
 * `open`: neither decided nor snoozed. `lapsed`: open although it was decided. `changed`: new or worse since the night before.
 */
const STATES = ['open', 'lapsed', 'changed', 'snoozed', ...qualityDecisionWord.options] as const;

/** What a list of findings is narrowed by. */
export const FINDING_FILTERS = {
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

export const matches = (
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
      ...{ ...filters, by },
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
export const shownFinding = (one: ListedFinding, pathOf: (id: string) => string | null) => ({
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
