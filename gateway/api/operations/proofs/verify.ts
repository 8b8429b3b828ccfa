/** GET /verify: whether claimed figures agree with those held, and why not. */
import { z } from 'zod';
import {
  INDICATOR_ID,
  type IndicatorRecord,
  indicatorId,
  iso3,
  redefinition,
} from '../../../../data/schema/records.ts';
import { snapshotId } from '../../../../data/schema/snapshot.ts';
import { creditOf } from '../../encoders/encoders.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { count, envelope, named } from '../envelope.ts';
import { type Content, defineOperation, jsonAnswer, type Planned, underAlias } from '../operation.ts';
import { claimList, PARTS, type UnreadClaim } from './claim-parameter.ts';
import { type CheckedClaim, type Claim, checkClaim } from './claims/check-claim.ts';
import { digitsClaimed } from './claims/claimed-number.ts';
import { deviationOf, REASONS, VERDICTS } from './claims/judge.ts';

const figure = z.number().nullable();

export const verdictRow = z.object({
  claim: z.string().describe('As sent'),
  indicator: z.string().describe('By its id of today'),
  iso3: iso3.nullable().describe('Null where it cannot be read'),
  year: z.int().nullable().describe('Null where it cannot be read'),
  number: figure.describe('How the value was read, in the unit of the indicator'),
  digits: z
    .int()
    .nullable()
    .describe('How many digits it claims at least: zeros at the end of an integer may be rounded'),
  verdict: z.enum(VERDICTS).describe('The first that holds, in this order'),
  unread: z
    .array(z.object({ part: z.enum(PARTS), expected: z.string().describe('What it may be') }))
    .describe('What cannot be read, of the verdict `unreadable`, which is free'),
  unknown: z.enum(['indicator', 'iso3']).nullable().describe('What is not known, of the verdict `unknown`'),
  value: figure.describe(
    'The figure that is held; null where there is none, or the indicator is display-only',
  ),
  deviation_percent: figure.describe(
    'By how much `number` is above `value`, in per cent of the size of `value`; null of a zero, and without `value`',
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
    'Judges each claim by itself against the figures held today: `unreadable`, `unknown` indicator or country, `no_data`, `exact`, `rounded` to ' +
    'the digits sent, `superseded` (right in an earlier snapshot), `redefined` (right in an earlier one, in another unit), `close` (within 1 %, or one digit that is more than 10 % off), or `mismatch`; and tells which ' +
    'other figures it agrees with. A display-only indicator gets a verdict without figures.',
  needsKey: true,
  priceText: '1 credit per claim that can be read',
  query: z.object({ claim: claimList() }),
  answer: envelope(z.array(verdictRow), {
    count,
    indicators: z
      .array(z.object({ id: indicatorId, ...named }))
      .describe('The indicators of the rows and of their reasons'),
  }),
  plan({ snapshot, query: { claim: sent } }): Planned {
    const resolved = sent.map((claim) => ({ claim, ...snapshot.resolve(claim.indicator) }));
    const claims = resolved.map(({ claim, id }) => ({ ...claim, indicator: id }));
    const alias = resolved.find((one) => one.alias !== null)?.alias ?? null;
    const judged = claims.filter(isRead);
    const produce = () => verdicts(snapshot, claims);
    // Unknown indicators may be any text, which the ledger is not to repeat.
    const indicators = [...new Set(judged.map(({ indicator }) => indicator))].filter((id) =>
      INDICATOR_ID.test(id),
    );
    const price = judged.length;
    return underAlias({ kind: 'plan', price, rows: price, indicators, produce }, alias);
  },
});

const isRead = (claim: Claim | UnreadClaim): claim is Claim => 'number' in claim;

/** One claim after another, so that a call takes one connection to the files at a time. */
async function verdicts(served: Edition, claims: readonly (Claim | UnreadClaim)[]): Promise<Content> {
  const records = new Map<string, IndicatorRecord>();
  const data: VerdictRow[] = [];
  for (const claim of claims) {
    if (!isRead(claim)) {
      data.push(unreadRow(served.id, claim));
      continue;
    }
    const checked = await checkClaim(served, claim);
    if (checked.verdict !== 'unknown') {
      const ids = [claim.indicator, ...checked.reasons.map(({ indicator }) => indicator)];
      for (const id of ids) {
        const entry = await served.indicator(id);
        if (entry) records.set(id, entry.record);
      }
    }
    data.push(toRow(served.id, claim, checked, records));
  }
  const indicators = [...records.values()].map(creditOf);
  return jsonAnswer(data, { generated_at: served.generatedAt, count: data.length, indicators });
}

const NO_FIGURE = {
  value: null,
  deviation_percent: null,
  unit: null,
  projected: null,
  earlier: null,
  redefined: null,
  reasons: [],
};

function unreadRow(edition: string, { text, ...parts }: UnreadClaim): VerdictRow {
  const verdict = { verdict: 'unreadable' as const, unknown: null };
  return { claim: text, ...parts, ...verdict, number: null, digits: null, ...NO_FIGURE, edition };
}

function toRow(
  edition: string,
  { text, indicator, iso3, year, number: claimed }: Claim,
  checked: CheckedClaim,
  records: ReadonlyMap<string, IndicatorRecord>,
): VerdictRow {
  const claim = { claim: text, indicator, iso3, year, unread: [], digits: digitsClaimed(claimed) };
  if (checked.verdict === 'unknown') {
    const { verdict, unknown } = checked;
    return { ...claim, number: claimed.double, verdict, unknown, ...NO_FIGURE, edition };
  }
  const { verdict, record, number, value, projected, earlier, redefined, reasons } = checked;
  /** Figures of display-only indicators are not shown. */
  const shown = (id: string, figure: number | null): number | null =>
    records.get(id)?.access_tier === 'open' ? figure : null;
  const held = shown(indicator, value);
  return {
    ...claim,
    number: number.double,
    verdict,
    unknown: null,
    value: held,
    deviation_percent: held === null ? null : deviationOf(number, held),
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
