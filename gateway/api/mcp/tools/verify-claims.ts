/** `verify_claims`: whether figures that somebody states agree with those held. */
import { z } from 'zod';
import { INDICATOR_ID } from '../../../../data/schema/records.ts';
import { CLAIMS_MAX, PLACE_ECHO_MAX, verdictRow, verify } from '../../operations/operations.ts';
import { type Edition, statusKey } from '../../snapshot/snapshot.ts';
import {
  common,
  fitted,
  listed,
  REFUSALS_MAX,
  type Refusal,
  refusal,
  refusedText,
  series,
  seriesOfAll,
} from '../answer.ts';
import { type Asking, documentOf, planInner } from '../calls.ts';
import { cursorArgument, paged, pageMember } from '../pages.ts';
import { findPlace } from '../places.ts';
import { readList } from '../sent.ts';
import { answerPlan, defineTool } from '../tool.ts';

const claim = z.object({
  indicator: z.string().min(1).describe('Id from find_indicators'),
  country: z.string().min(1).describe('By name or code'),
  year: z.int(),
  value: z
    .union([z.string().max(100), z.number()])
    .describe('As it was stated ("33.8 million", "8 %"): as text, its digits tell how far it is rounded'),
});
type Claim = z.infer<typeof claim>;

const verdict = verdictRow.extend({
  status: z.string().nullable().describe('Of the figure held, as its source flags it'),
});
type Verdict = z.infer<typeof verdict>;

export const verifyClaimsTool = defineTool({
  name: 'verify_claims',
  title: 'Verify claims',
  description:
    'Judges up to 50 stated figures, each by itself: exact, rounded, superseded (right in an earlier edition), close (1 %, or one digit ' +
    'more than 10 % off), mismatch, no_data, unknown or unreadable; says the deviation, and which other figure a wrong one agrees with ' +
    '(another year, country, scale or provider).',
  priceText: '1 credit per verdict, none for `unreadable`',
  arguments: z.object({
    claims: z.preprocess(readList, z.array(claim).min(1).max(CLAIMS_MAX)),
    cursor: cursorArgument,
  }),
  answer: z.object({
    ...common,
    verdicts: z.array(verdict),
    series: z.array(series),
    refusals: z.array(refusal),
    page: pageMember,
  }),
  empty: { verdicts: [], series: [], refusals: [] },
  async plan({ snapshot: edition, query: { claims }, publicUrl }, page) {
    // Judged before the charge: only verdicts that the answer has room for are paid.
    const outcomes = await judge(claims.slice(page.skip), { edition, publicUrl });
    const about = await seriesOfAll(outcomes.filter(isVerdict).flatMap(namedBy), edition, publicUrl);
    const answer = fitted(countWithin(outcomes), (shown) => {
      const verdicts = outcomes.slice(0, shown).filter(isVerdict);
      const refusals = outcomes.slice(0, shown).filter((one): one is Refusal => !isVerdict(one));
      const named = new Set(verdicts.flatMap(namedBy));
      const isAnswer = verdicts.length > 0;
      return {
        outcome: isAnswer ? ('answer' as const) : ('refused' as const),
        message: isAnswer ? NO_SUPPORT : refusedText(refusals),
        edition: edition.id,
        verdicts,
        series: about.filter(({ indicator }) => named.has(indicator)),
        ...listed(refusals),
        ...paged(page, shown, claims.length),
      };
    });
    const paid = answer.verdicts.filter((one) => one.verdict !== 'unreadable');
    const indicators = new Set(paid.map(({ indicator }) => indicator).filter((id) => INDICATOR_ID.test(id)));
    return answerPlan(answer, { price: paid.length, rows: paid.length, indicators: [...indicators] });
  },
});

const NO_SUPPORT =
  'A verdict of `mismatch`, `no_data`, `unknown` or `unreadable` is not support for a claim. Claims beyond this `page` are not judged yet.';

type Outcome = Verdict | Refusal;

const isVerdict = (outcome: Outcome): outcome is Verdict => 'verdict' in outcome;

/** How many outcomes from the first on hold no more refusals than an answer lists. */
function countWithin(outcomes: readonly Outcome[]): number {
  const refused = [...outcomes.entries()].filter(([, outcome]) => !isVerdict(outcome));
  return refused[REFUSALS_MAX]?.[0] ?? outcomes.length;
}

/** The outcome of each claim, in their order. */
async function judge(claims: readonly Claim[], asking: Asking): Promise<Outcome[]> {
  const places = claims.map(({ country }) => countryOf(country, asking.edition));
  const texts = claims.flatMap(({ indicator, year, value }, at) => {
    const place = places[at];
    return typeof place === 'string' ? [`${indicator.slice(0, ID_ECHO_MAX)},${place},${year},${value}`] : [];
  });
  const verdicts = await verdictsOn(texts, asking);
  return places.flatMap((place): Outcome[] => (typeof place === 'string' ? verdicts.splice(0, 1) : [place]));
}

/** Longer than any id. */
const ID_ECHO_MAX = 300;

/** The code of a country that is known. */
function countryOf(country: string, edition: Edition): string | Refusal {
  const place = findPlace(country, edition);
  if (place.kind === 'country') return place.country.iso3;
  if (place.kind === 'refused') return place.refusal;
  const echo = country.slice(0, PLACE_ECHO_MAX);
  const message = `“${echo}” is a group: only figures of countries are held and can be verified.`;
  return { reason: 'not_a_country', message, place: echo };
}

async function verdictsOn(texts: readonly string[], asking: Asking): Promise<Verdict[]> {
  if (texts.length === 0) return [];
  const planned = await planInner(asking, { operation: verify, query: { claim: texts } });
  if (planned.kind !== 'plan') throw new Error(`claims are ${planned.kind}`);
  const { data } = await documentOf<{ data: z.infer<typeof verdictRow>[] }>(planned.produce(null));
  const verdicts: Verdict[] = [];
  for (const row of data) verdicts.push({ ...row, status: await statusOf(row, asking.edition) });
  return verdicts;
}

/** The indicators of a verdict and of its reasons. */
const namedBy = ({ indicator, reasons }: Verdict): string[] => [
  indicator,
  ...reasons.map((reason) => reason.indicator),
];

async function statusOf(
  { indicator, iso3, year, value }: z.infer<typeof verdictRow>,
  { observations }: Edition,
): Promise<string | null> {
  if (value === null || iso3 === null || year === null) return null;
  const statuses = await observations.statuses(indicator, { countries: [iso3], from: year, to: year });
  return statuses.get(statusKey(iso3, year)) ?? null;
}
