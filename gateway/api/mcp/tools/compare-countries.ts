/** `compare_countries`: the same year for all, so that figures can be set side by side. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { FoundRows, Invalid, Refused } from '../../operations/operations.ts';
import { type Refusal, withFigures } from '../answer.ts';
import type { Asking } from '../calls.ts';
import { countRows, type Figure } from '../figure-tables.ts';
import {
  askFigures,
  exportRefused,
  type FiguresAsked,
  type FiguresHeld,
  figuresAnswer,
  findRowsOf,
  planData,
  priceOfOne,
  sourceOf,
} from '../figures.ts';
import { findIndicators } from '../indicators.ts';
import { heldYears, missingFigures } from '../missing-figures.ts';
import { cursorArgument } from '../pages.ts';
import { type AskedPlaces, aggregateOf, findPlaces } from '../places.ts';
import { answerPlan, asOfArgument, defineTool, derivedArguments, listArgument } from '../tool.ts';
import { indicatorsArgument, placesDescription } from './get-data.ts';

const INDICATORS_MAX = 5;
const PLACES_MAX = 20;

export const compareCountriesTool = defineTool({
  name: 'compare_countries',
  title: 'Compare countries',
  description:
    'Figures of up to 5 indicators for 2 to 20 countries in one year: the given one, or the newest measured year that all of ' +
    'them have. Where they have none in common, the newest of each, and it says so.',
  priceText: '1 credit per figure, 2 with per_head or per, at least 1 figure for each indicator',
  arguments: z.object({
    indicators: indicatorsArgument(INDICATORS_MAX),
    countries: listArgument(PLACES_MAX).describe(placesDescription),
    year: z.int().optional(),
    ...derivedArguments,
    as_of: asOfArgument,
    cursor: cursorArgument,
  }),
  answer: z.object({
    ...withFigures,
    years: z
      .array(z.object({ indicator: z.string(), year: z.int().nullable() }))
      .describe(
        'The common year of each indicator; null where there is none, and the newest of each country is given',
      ),
  }),
  empty: { figures: [], series: [], refusals: [], years: [] },
  async plan({ snapshot, query: { indicators, countries, year, as_of, ...query }, publicUrl }, page) {
    const found = await findIndicators(indicators, snapshot);
    const places = findPlaces(countries, snapshot, query.groups);
    const refusals = [...places.refusals, ...found.refusals];
    const about = { edition: snapshot, publicUrl, as_of: as_of?.sent, groups: places.groups, page };
    const restricted = exportRefused(found.records, publicUrl);
    if (restricted !== null) return restricted;
    const asking = { edition: snapshot, publicUrl };
    const derived = { transform: query.transform, aggregate: aggregateOf(places, query.groups) };
    const compared: Compared[] = [];
    if (places.countries.length > 0)
      for (const record of found.records) {
        const one = await compare(record, { year, places, derived }, asking);
        if ('kind' in one) return one;
        compared.push(one);
      }
    const years = compared.map(({ record, when }) => ({ indicator: record.id, year: when.from ?? null }));
    const held = await askedTogether(compared, { countries: places.countries, ...derived }, asking);
    if ('kind' in held) return held;
    const answer = figuresAnswer({
      ...about,
      ...sourcesOf(compared),
      note: noteOf(compared),
      figures: compared.flatMap(({ figures }) => figures).slice(page.skip),
      refusals: [...refusals, ...compared.flatMap(({ missing }) => missing)],
      held,
      years,
    });
    const given = countRows(answer.figures);
    const charge = {
      price: given * priceOfEach(compared) + (page.skip === 0 ? priceOfEmpty(compared) : 0),
      rows: given,
      indicators: [...new Set(compared.flatMap(({ indicators: own }) => own))],
    };
    return answerPlan(answer, charge);
  },
});

type Derived = Pick<FiguresAsked, 'transform' | 'aggregate'>;

interface Compared {
  record: IndicatorRecord;
  found: FoundRows;
  /** How its figures are asked for: those of the year, or the newest of each country. */
  when: Pick<FiguresAsked, 'from' | 'to' | 'latest'>;
  /** Of all its figures; of none, too. */
  price: number;
  /** As the ledger names them. */
  indicators: readonly string[];
  figures: Figure[];
  missing: Refusal[];
}

interface AskedComparison {
  year: number | undefined;
  places: AskedPlaces;
  derived: Derived;
}

async function compare(
  record: IndicatorRecord,
  { year: asked, places, derived }: AskedComparison,
  asking: Asking,
): Promise<Compared | Refused | Invalid> {
  const whole = { indicators: [record.id], countries: places.countries, ...derived };
  const rows = await findRowsOf(asking, whole);
  if ('kind' in rows) return rows;
  const year = asked ?? (await newestCommonYear(record, places.countries, rows));
  const when = year === null ? { latest: 1 } : { from: year, to: year };
  const question: FiguresAsked = { ...whole, ...when };
  const answered = await askFigures(asking, question);
  if (answered.kind !== 'figures') return answered;
  const { found, figures, price, indicators } = answered;
  const missing = await missingFigures(found, question, answered.held, asking.edition, places);
  return { record, found, when, price, indicators, figures, missing };
}

/** Ignores places without any measured year. */
async function newestCommonYear(
  record: IndicatorRecord,
  places: readonly string[],
  { source }: FoundRows,
): Promise<number | null> {
  const held = [...(await heldYears(source, record, places)).values()]
    .map(({ measured }) => new Set(measured))
    .filter(({ size }) => size > 0);
  const [first, ...others] = held;
  const common = [...(first ?? [])].filter((year) => others.every((years) => years.has(year)));
  return common.length === 0 ? null : Math.max(...common);
}

/** What the answer says of where the figures come from. */
function sourcesOf(compared: readonly Compared[]) {
  const sources = compared.map(({ found }) => sourceOf(found));
  const others = new Map(sources.flatMap((one) => one.others.map((record) => [record.id, record])));
  return {
    ...sources[0],
    records: sources.flatMap(({ records }) => records),
    others: [...others.values()],
  };
}

/** A call that gives all figures at once, which that of several years does among others. */
async function askedTogether(
  compared: readonly Compared[],
  asked: Omit<FiguresAsked, 'indicators'>,
  asking: Asking,
): Promise<FiguresHeld | Refused | Invalid> {
  const figures = compared.flatMap((one) => one.figures);
  const indicators = compared.map(({ record }) => record.id);
  const [first, ...others] = compared.map(({ when }) => when);
  const rows = figures.length;
  const price = rows * priceOfEach(compared);
  if (first === undefined || others.every((when) => isDeepStrictEqual(when, first)))
    return { rows, price, asked: { ...asked, indicators, ...first } };
  const years = figures.map(({ year }) => year);
  const spanning = { ...asked, indicators, from: Math.min(...years), to: Math.max(...years) };
  const planned = await planData(asking, spanning);
  return planned.kind === 'plan' ? { rows, price: planned.price, asked: spanning } : planned;
}

/** Credits that a figure costs, the same for all. */
function priceOfEach([first]: readonly Compared[]): number {
  return first === undefined ? 1 : priceOfOne({ price: first.price, rows: first.figures.length });
}

/** An indicator without any figure costs what its empty answer does. */
function priceOfEmpty(compared: readonly Compared[]): number {
  const empty = compared.filter(({ figures }) => figures.length === 0);
  return empty.reduce((sum, { price }) => sum + price, 0);
}

function noteOf(compared: readonly Compared[]): string | undefined {
  const apart = compared.filter(({ when, figures }) => when.from === undefined && figures.length > 0);
  if (apart.length === 0) return undefined;
  const names = apart.map(({ record }) => `“${record.name}”`).join(', ');
  return `The countries have no year of ${names} in common: the newest of each is given, so compare with care.`;
}
