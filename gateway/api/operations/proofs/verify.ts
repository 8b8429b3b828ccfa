/** GET /verify: whether claimed figures agree with those held, and why not. */
import { z } from 'zod';
import { INDICATOR_ID, type IndicatorRecord, indicatorId, iso3 } from '../../../../data/schema/records.ts';
import { redefinition } from '../../../../data/schema/redefinitions.ts';
import { snapshotId } from '../../../../data/schema/snapshot.ts';
import { creditOf } from '../../encoders/encoders.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { count, credit, envelope } from '../envelope.ts';
import { type Content, defineOperation, document, type Planned, underAlias } from '../operation.ts';
import { claimList } from './claim-parameter.ts';
import { type CheckedClaim, type Claim, checkClaim } from './claims/check-claim.ts';
import { REASONS, VERDICTS } from './claims/judge.ts';

const figure = z.number().nullable();

export const verdictRow = z.object({
  claim: z.string().describe('As sent'),
  indicator: z.string().describe('By its id of today'),
  iso3,
  year: z.int(),
  verdict: z.enum(VERDICTS).describe('The first that holds, in this order'),
  unknown: z.enum(['indicator', 'iso3']).nullable().describe('What is not known, of the verdict `unknown`'),
  value: figure.describe(
    'The figure that is held; null where there is none, or the indicator is display-only',
  ),
  unit: z.string().nullable(),
  projected: z.boolean().nullable().describe('Whether the figure is a projection'),
  edition: snapshotId.describe('The snapshot that the claim was judged against'),
  earlier: z
    .object({
      value: figure,
      unit: z.string().nullable().describe('In that snapshot'),
      edition: snapshotId.describe('The newest snapshot that had it'),
      superseded_by: snapshotId.describe('The snapshot that replaced or withdrew it'),
    })
    .nullable()
    .describe('The newest earlier figure that the claim agrees with, where it agrees with none of today'),
  redefined: z
    .object({
      edition: snapshotId,
      unit: redefinition.shape.unit,
      definition: redefinition.shape.definition,
    })
    .nullable()
    .describe('The newest snapshot that changed the unit or the definition; null of the verdict `unknown`'),
  reasons: z
    .array(
      z.object({
        reason: z.enum(REASONS),
        indicator: indicatorId,
        iso3,
        year: z.int(),
        value: figure,
        factor: z.number().describe('The claim times this agrees with `value`'),
        fit: z.enum(['exact', 'rounded']),
        matches: z.int().describe('How many figures of this reason the claim agrees with'),
      }),
    )
    .describe(
      'Figures that the claim may have been mistaken for, the likeliest first; each reason at most once',
    ),
});
type VerdictRow = z.infer<typeof verdictRow>;

export const verify = defineOperation({
  name: 'verifyClaims',
  path: '/verify',
  tag: 'Data',
  summary: 'Verdicts on claimed figures',
  description:
    'Judges each claim against the figures held today: `unknown` indicator or country, `no_data`, `exact`, `rounded` to ' +
    'the digits sent, `superseded` (right in an earlier snapshot), `redefined` (right in an earlier one, in another unit), `close` (within 1 %), or `mismatch`; and tells which ' +
    'other figures it agrees with. A display-only indicator gets a verdict without figures.',
  needsKey: true,
  priceText: '1 credit per claim',
  isCacheable: false,
  pathParameters: {},
  query: z.object({ claim: claimList() }),
  answer: envelope(z.array(verdictRow), {
    count,
    indicators: z
      .array(
        z.object({
          id: indicatorId,
          name: z.string(),
          unit: z.string().nullable(),
          licence_url: z.string().nullable(),
          ...credit,
        }),
      )
      .describe('The indicators of the rows and of their reasons'),
  }),
  errors: [],
  plan({ snapshot, query: { claim: sent } }): Planned {
    const resolved = sent.map((claim) => ({ claim, ...snapshot.resolve(claim.indicator) }));
    const claims = resolved.map(({ claim, id }) => ({ ...claim, indicator: id }));
    const alias = resolved.find((one) => one.alias !== null)?.alias ?? null;
    const produce = () => verdicts(snapshot, claims);
    // Unknown indicators may be any text, which the ledger is not to repeat.
    const indicators = [...new Set(claims.map(({ indicator }) => indicator))].filter((id) =>
      INDICATOR_ID.test(id),
    );
    const price = claims.length;
    return underAlias({ kind: 'plan', price, rows: price, indicators, produce }, alias);
  },
});

/** One claim after another, so that a call takes one connection to the files at a time. */
async function verdicts(served: Edition, claims: readonly Claim[]): Promise<Content> {
  const named = new Map<string, IndicatorRecord>();
  const data: VerdictRow[] = [];
  for (const claim of claims) {
    const checked = await checkClaim(served, claim);
    if (checked.verdict !== 'unknown') {
      const ids = [claim.indicator, ...checked.reasons.map(({ indicator }) => indicator)];
      for (const id of ids) {
        const entry = await served.indicator(id);
        if (entry) named.set(id, entry.record);
      }
    }
    data.push(toRow(served.id, claim, checked, named));
  }
  const indicators = [...named.values()].map(creditOf);
  const meta = { generated_at: served.generatedAt, count: data.length, indicators };
  return document(JSON.stringify({ data, meta }));
}

const NO_FIGURE = {
  ...{ value: null, unit: null, projected: null },
  ...{ earlier: null, redefined: null, reasons: [] },
};

function toRow(
  edition: string,
  { text, indicator, iso3, year }: Claim,
  checked: CheckedClaim,
  named: ReadonlyMap<string, IndicatorRecord>,
): VerdictRow {
  const claim = { claim: text, indicator, iso3, year };
  if (checked.verdict === 'unknown')
    return { ...claim, verdict: 'unknown', unknown: checked.unknown, ...NO_FIGURE, edition };
  const { verdict, record, value, projected, earlier, redefined, reasons } = checked;
  /** Figures of display-only indicators are not shown. */
  const shown = (id: string, figure: number | null): number | null =>
    named.get(id)?.access_tier === 'open' ? figure : null;
  return {
    ...claim,
    verdict,
    unknown: null,
    value: shown(indicator, value),
    unit: record.unit,
    projected,
    edition,
    earlier: earlier && { ...earlier, value: shown(indicator, earlier.value) },
    redefined: redefined && {
      edition: redefined.entry.edition,
      unit: redefined.redefinition.unit,
      definition: redefined.redefinition.definition,
    },
    reasons: reasons.map((reason) => ({ ...reason, value: shown(reason.indicator, reason.value) })),
  };
}
