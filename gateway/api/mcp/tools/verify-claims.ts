/** `verify_claims`: whether figures that somebody states agree with those held. */
import { z } from 'zod';
import { CLAIMS_MAX, type Planned, verdictRow, verify } from '../../operations/operations.ts';
import { type Edition, statusKey } from '../../snapshot/snapshot.ts';
import {
  common,
  fitted,
  listed,
  PLACE_ECHO_MAX,
  type Refusal,
  refusal,
  refusedText,
  series,
  seriesOfAll,
} from '../answer.ts';
import { documentOf, planInner } from '../calls.ts';
import { findPlace } from '../places.ts';
import { answerPlan, defineTool } from '../tool.ts';

const claim = z.object({
  indicator: z.string().min(1).describe('Id from find_indicators'),
  country: z.string().min(1).describe('By name or code'),
  year: z.int(),
  value: z
    .union([z.string().min(1).max(100), z.number()])
    .describe('As it was stated: as text, its digits tell how far it is rounded'),
});
type Claim = z.infer<typeof claim>;

const verdict = verdictRow.extend({
  status: z.string().nullable().describe('Of the figure held, as its source flags it'),
});

export const verifyClaimsTool = defineTool({
  name: 'verify_claims',
  title: 'Verify claims',
  description:
    'Judges up to 50 stated figures: exact, rounded, superseded (right in an earlier edition), close (1 %), mismatch, no_data ' +
    'or unknown; and says which other figure a wrong one agrees with (another year, country, scale or provider).',
  priceText: '1 credit per claim',
  arguments: z.object({ claims: z.array(claim).min(1).max(CLAIMS_MAX) }),
  answer: z.object({
    ...common,
    verdicts: z.array(verdict),
    series: z.array(series),
    refusals: z.array(refusal),
    refusals_left_off: z.int().optional(),
    verdicts_left_off: z
      .int()
      .optional()
      .describe('How many of the last ones an answer has no room for, free: ask for them by themselves'),
  }),
  empty: { verdicts: [], series: [], refusals: [] },
  async plan({ snapshot, query: { claims }, publicUrl }) {
    const { texts, refusals } = await claimTexts(claims, snapshot);
    if (texts.length === 0) {
      const message = refusedText(refusals);
      return answerPlan({
        outcome: 'refused',
        message,
        edition: snapshot.id,
        verdicts: [],
        series: [],
        ...listed(refusals),
      });
    }
    return planVerdicts(texts, refusals, snapshot, publicUrl);
  },
});

/** The claims about countries that are known, as the operation reads them. */
async function claimTexts(
  claims: readonly Claim[],
  edition: Edition,
): Promise<{ texts: string[]; refusals: Refusal[] }> {
  const texts: string[] = [];
  const refusals: Refusal[] = [];
  for (const { indicator, country, year, value } of claims) {
    const place = await findPlace(country, edition);
    if (place.kind === 'country') texts.push(`${indicator},${place.country.iso3},${year},${value}`);
    else if (place.kind === 'refused') refusals.push(place.refusal);
    else {
      const message = `“${country.slice(0, PLACE_ECHO_MAX)}” is a group: only figures of countries are held and can be verified.`;
      refusals.push({ reason: 'not_a_country', message, place: country.slice(0, PLACE_ECHO_MAX) });
    }
  }
  return { texts, refusals };
}

/** Judges before the charge: only verdicts that an answer has room for are paid. */
async function planVerdicts(
  texts: readonly string[],
  refusals: Refusal[],
  edition: Edition,
  publicUrl: string,
): Promise<Planned> {
  const planned = await planInner({ edition, publicUrl }, { operation: verify, query: { claim: texts } });
  if (planned.kind !== 'plan') return planned;
  const { data } = await documentOf<{ data: z.infer<typeof verdictRow>[] }>(planned.produce(null));
  const verdicts: z.infer<typeof verdict>[] = [];
  for (const row of data) verdicts.push({ ...row, status: await statusOf(row, edition) });
  const about = await seriesOfAll(verdicts.flatMap(namedBy), edition, publicUrl);
  const answer = fitted(verdicts.length, (shown) => {
    const given = verdicts.slice(0, shown);
    const named = new Set(given.flatMap(namedBy));
    return {
      outcome: 'answer' as const,
      message: 'A verdict of `mismatch`, `no_data` or `unknown` is not support for a claim.',
      edition: edition.id,
      verdicts: given,
      series: about.filter(({ indicator }) => named.has(indicator)),
      ...listed(refusals),
      ...(shown < verdicts.length && { verdicts_left_off: verdicts.length - shown }),
    };
  });
  const given = answer.verdicts.length;
  return answerPlan(answer, { ...planned, price: given, rows: given });
}

/** The indicators of a verdict and of its reasons. */
const namedBy = ({ indicator, reasons }: z.infer<typeof verdictRow>): string[] => [
  indicator,
  ...reasons.map((reason) => reason.indicator),
];

async function statusOf(
  { indicator, iso3, year, value }: z.infer<typeof verdictRow>,
  { observations }: Edition,
): Promise<string | null> {
  if (value === null) return null;
  const statuses = await observations.statuses(indicator, { countries: [iso3], from: year, to: year });
  return statuses.get(statusKey(iso3, year)) ?? null;
}
