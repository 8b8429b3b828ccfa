/**
 * Series that the last build withheld for their licence, and those about whose licence operators decided: what is known of
 * each, and what a decision about one must say.
 */
import { z } from 'zod';
import type { ProviderDefinition } from '../data/schema/curated.ts';
import type { ExcludedIndicator } from '../data/schema/jobs.ts';
import { LICENCE_WORDS, type LicenceDecision } from '../data/schema/operator-changes.ts';
import type { IndicatorRecord } from '../data/schema/records.ts';
import { textField } from '../gateway/web/forms.ts';
import type { AdminArea } from './context.ts';
import { indicatorSubject } from './routes/indicator.ts';

export const LICENCE_STATES = ['undecided', 'open', 'display', 'withhold'] as const;

/** What an operator types to decide. */
export const DECISION_FIELDS = {
  publish: z.enum(LICENCE_WORDS, { error: `one of ${LICENCE_WORDS.join(', ')}` }),
  licence: textField(200),
  licence_url: textField(500),
  attribution: textField(500),
  reason: textField(500),
};
const typedTerms = z.object(DECISION_FIELDS);
type TypedTerms = z.output<typeof typedTerms>;

/** No series is published wider than its provider allows. */
export const allowedWords = ({ widest }: LicensedSeries): LicenceDecision['publish'][] =>
  LICENCE_WORDS.filter((word) => {
    if (word === 'withhold') return true;
    return widest !== null && (word === 'display' || widest === 'open');
  });

/** What is missing or wrong in a decision, whatever it is about; null when nothing is. */
export function findTermsProblem({ publish, licence, licence_url, reason }: TypedTerms): string | null {
  if (reason === '') return 'Reason: say why, such as where the permission is kept.';
  if (publish === 'withhold') return null;
  if (licence === '') return 'Licence: name the licence under which it is published.';
  if (licence_url !== '' && !z.url({ protocol: /^https?$/ }).safeParse(licence_url).success)
    return 'Link of the licence: an address such as https://example.org/licence.';
  return null;
}

export function buildDecision(
  { publish, licence, licence_url, attribution, reason }: TypedTerms,
  { collector }: LicensedSeries,
  made: Pick<LicenceDecision, 'by' | 'decided_at_ms'>,
): LicenceDecision {
  const facts = { ...made, reason, withheld_by: collector };
  if (publish === 'withhold') return { publish, ...facts };
  return { publish, licence, licence_url: licence_url || null, attribution: attribution || null, ...facts };
}

/** A decision about one series, for the audit log. */
export const licenceChange = ({ id, state }: LicensedSeries, decision: LicenceDecision) => ({
  action: 'licence.decide',
  subject: indicatorSubject(id),
  reason: decision.reason,
  before: { publish: state },
  after: {
    publish: decision.publish,
    ...(decision.publish !== 'withhold' && { licence: decision.licence }),
  },
});

export type LicensedSeries = ReturnType<typeof describeSeries>;

/** In the order of ids. */
export async function listLicensedSeries(area: AdminArea): Promise<LicensedSeries[]> {
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
  /** Whose terms or which reason withheld it in the last build; empty when that published it. */
  const withheldBy = record ? '' : (left?.detail ?? left?.why ?? '');
  return {
    id,
    provider,
    decision,
    withheldBy,
    /** Whose terms withheld it before it was decided: a withholding by decision is reported with its reason instead. */
    collector: decision?.withheld_by || withheldBy,
    name: record?.name ?? left?.name ?? id,
    unit: record?.unit ?? left?.unit ?? '',
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
