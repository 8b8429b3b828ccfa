/** The quality report: what the last build doubts, what was decided, and how a finding is decided. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type QualityFinding, qualityDecisionWord } from '../../data/schema/quality.ts';
import { QUALITY_KINDS, qualitySeverity } from '../../data/schema/quality-kinds.ts';
import { csvLine, parseFields, textField } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf } from '../context.ts';
import { LIST_FIELDS, listLinks, sendRecords } from '../list.ts';
import { readQuality } from '../quality-report.ts';
import { indicatorPath } from './indicator.ts';

const PATH = '/admin/quality';

/** `open`: no decision holds. `lapsed`: open although it was decided. `changed`: new or worse since the night before. */
const STATES = ['open', 'lapsed', 'changed', ...qualityDecisionWord.options] as const;

const query = z.object({
  severity: textField(20),
  kind: textField(60),
  provider: textField(100),
  state: textField(20),
  ...LIST_FIELDS,
});
type Filters = Pick<z.output<typeof query>, 'severity' | 'kind' | 'provider' | 'state'>;

function statesOf({ decision, lapsed, change }: QualityFinding): string[] {
  return [
    ...(decision === null ? ['open'] : [decision]),
    ...(lapsed === null ? [] : ['lapsed']),
    ...(change === null ? [] : ['changed']),
  ];
}

const matches = (finding: QualityFinding, { severity, kind, provider, state }: Filters): boolean =>
  (severity === '' || finding.severity === severity) &&
  (kind === '' || finding.kind === kind) &&
  (provider === '' || finding.provider === provider) &&
  (state === '' || statesOf(finding).includes(state));

/** Worst first; of one severity the undecided first, of these the new and worse ones. */
const compare = (a: QualityFinding, b: QualityFinding): number =>
  qualitySeverity.options.indexOf(a.severity) - qualitySeverity.options.indexOf(b.severity) ||
  Number(a.decision !== null) - Number(b.decision !== null) ||
  Number(a.change === null) - Number(b.change === null);

/**
 * The row of `data/quality-decisions.csv` that decides a finding, to be completed: the reader of the table refuses a row
 * without decision and reason.
 */
function decisionRow(finding: QualityFinding, by: string, today: string): string {
  const { kind, provider, indicator, other, extent } = finding;
  return csvLine([kind, indicator ?? provider, other, extent, '', by, today, '']).trimEnd();
}

export function qualityRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('quality.njk');

  scope.get('/quality', async (request, reply) => {
    const { limit, offset, format, ...filters } = parseFields(query, request.query);
    const report = await readQuality(area.redis);
    const all = report?.findings ?? [];
    const found = all.filter((one) => matches(one, filters)).sort(compare);
    if (format === 'csv') return sendRecords(reply, 'quality', COLUMNS, found.map(record));
    const published = area.snapshots.current()?.catalogue.indicators;
    const pathOf = (id: string) => (published?.has(id) ? indicatorPath(id) : null);
    const today = new Date(area.now()).toISOString().slice(0, 10);
    const listed = (one: QualityFinding) => ({
      ...one,
      about: QUALITY_KINDS[one.kind].about,
      /** What the extent counts or measures. */
      unit: QUALITY_KINDS[one.kind].extent,
      first_seen_ms: Date.parse(one.first_seen),
      series: [one.indicator, one.other].flatMap((id) => (id === null ? [] : [{ id, path: pathOf(id) }])),
      row: decisionRow(one, actorOf(request), today),
    });
    const openOf = (severity: string): number =>
      all.filter((one) => one.severity === severity && one.decision === null).length;
    return view(reply, 'Quality', {
      ...filters,
      night: report?.night ?? null,
      severities: qualitySeverity.options,
      kinds: [...new Set(all.map(({ kind }) => kind))].sort(),
      providers: [...new Set(all.map(({ provider }) => provider))].sort(),
      states: STATES,
      findings: found.slice(offset, offset + limit).map(listed),
      open: Object.fromEntries(qualitySeverity.options.map((severity) => [severity, openOf(severity)])),
      unused: report?.unused ?? [],
      ...listLinks(PATH, filters, { total: found.length, limit, offset }),
    });
  });
}

const COLUMNS = [
  ...['id', 'kind', 'severity', 'provider', 'indicator', 'other', 'countries', 'first_year', 'last_year'],
  ...['extent', 'message', 'first_seen', 'change', 'decision', 'reason'],
  ...['lapsed_decision', 'lapsed_reason'],
];

const record = (one: QualityFinding) => ({
  ...one,
  countries: one.countries.join(' '),
  first_year: one.years?.[0],
  last_year: one.years?.[1],
  lapsed_decision: one.lapsed?.decision,
  lapsed_reason: one.lapsed?.reason,
});
