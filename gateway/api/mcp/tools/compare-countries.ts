/** `compare_countries`: the same year for all, so that figures can be set side by side. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { Invalid, Refused } from '../../operations/operations.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { type Refusal, withFigures } from '../answer.ts';
import type { Asking } from '../calls.ts';
import { countRows, type Figure } from '../figure-tables.ts';
import {
  askFigures,
  exportRefused,
  type FiguresAsked,
  type FiguresHeld,
  figuresAnswer,
  heldYears,
  missingFigures,
  planData,
} from '../figures.ts';
import { findIndicators } from '../indicators.ts';
import { cursorArgument } from '../pages.ts';
import { type AskedPlaces, findPlaces } from '../places.ts';
import { answerPlan, asOfArgument, defineTool, listArgument } from '../tool.ts';
import { indicatorsArgument, placesDescription } from './get-data.ts';

const INDICATORS_MAX = 5;
const PLACES_MAX = 20;

export const compareCountriesTool = defineTool({
  name: 'compare_countries',
  title: 'Compare countries',
  description:
    'Figures of up to 5 indicators for 2 to 20 countries in one year: the given one, or the newest measured year that all of ' +
    'them have. Where they have none in common, the newest of each, and it says so.',
  priceText: '1 credit per figure, at least 1 for each indicator',
  arguments: z.object({
    indicators: indicatorsArgument(INDICATORS_MAX),
    countries: listArgument(PLACES_MAX).describe(placesDescription),
    year: z.int().optional(),
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
  asOf: ({ as_of }) => as_of,
  async plan({ snapshot, query: { indicators, countries, year, as_of }, publicUrl }, page) {
    const found = await findIndicators(indicators, snapshot);
    const places = findPlaces(countries, snapshot);
    const refusals = [...places.refusals, ...found.refusals];
    const about = { edition: snapshot, publicUrl, as_of: as_of?.sent, groups: places.groups, page };
    const restricted = exportRefused(found.records, publicUrl);
    if (restricted !== null) return restricted;
    const compared: Compared[] = [];
    if (places.countries.length > 0)
      for (const record of found.records) {
        const one = await compare(record, year, places, { edition: snapshot, publicUrl });
        if ('kind' in one) return one;
        compared.push(one);
      }
    const years = compared.map(({ record, year: common }) => ({ indicator: record.id, year: common }));
    const held = await askedTogether(compared, places.countries, { edition: snapshot, publicUrl });
    if ('kind' in held) return held;
    const answer = figuresAnswer({
      ...about,
      note: noteOf(compared),
      records: found.records,
      figures: compared.flatMap(({ figures }) => figures).slice(page.skip),
      refusals: [...refusals, ...compared.flatMap(({ missing }) => missing)],
      held,
      years,
    });
    const given = countRows(answer.figures);
    const charge = {
      price: given + (page.skip === 0 ? priceOfEmpty(compared) : 0),
      rows: given,
      indicators: compared.map(({ record }) => record.id),
    };
    return answerPlan(answer, charge);
  },
});

interface Compared {
  record: IndicatorRecord;
  year: number | null;
  /** How its figures are asked for: those of the year, or the newest of each country. */
  when: Pick<FiguresAsked, 'from' | 'to' | 'latest'>;
  /** Of all its figures; of none, too. */
  price: number;
  figures: Figure[];
  missing: Refusal[];
}

async function compare(
  record: IndicatorRecord,
  asked: number | undefined,
  places: AskedPlaces,
  asking: Asking,
): Promise<Compared | Refused | Invalid> {
  const { edition } = asking;
  const year = asked ?? (await newestCommonYear(record, places.countries, edition));
  const when = year === null ? { latest: 1 } : { from: year, to: year };
  const question: FiguresAsked = { indicators: [record.id], countries: places.countries, ...when };
  const found = await askFigures(asking, [record], question);
  if (found.kind !== 'figures') return found;
  const { figures, price } = found;
  const missing = await missingFigures([record], question, found.held, edition, places);
  return { record, year, when, price, figures, missing };
}

/** Ignores countries without any measured year. */
async function newestCommonYear(
  { id }: IndicatorRecord,
  countries: readonly string[],
  edition: Edition,
): Promise<number | null> {
  const held = [...(await heldYears(edition, id, countries)).values()]
    .map(({ measured }) => new Set(measured))
    .filter(({ size }) => size > 0);
  const [first, ...others] = held;
  const common = [...(first ?? [])].filter((year) => others.every((years) => years.has(year)));
  return common.length === 0 ? null : Math.max(...common);
}

/** A call that gives all figures at once, which that of several years does among others. */
async function askedTogether(
  compared: readonly Compared[],
  countries: readonly string[],
  asking: Asking,
): Promise<FiguresHeld | Refused | Invalid> {
  const figures = compared.flatMap((one) => one.figures);
  const indicators = compared.map(({ record }) => record.id);
  const [first, ...others] = compared.map(({ when }) => when);
  const rows = figures.length;
  if (first === undefined || others.every((when) => isDeepStrictEqual(when, first)))
    return { rows, price: rows, asked: { indicators, countries, ...first } };
  const years = figures.map(({ year }) => year);
  const asked = { indicators, countries, from: Math.min(...years), to: Math.max(...years) };
  const planned = await planData(asking, asked);
  return planned.kind === 'plan' ? { rows, price: planned.price, asked } : planned;
}

/** An indicator without any figure costs what its empty answer does. */
function priceOfEmpty(compared: readonly Compared[]): number {
  const empty = compared.filter(({ figures }) => figures.length === 0);
  return empty.reduce((sum, { price }) => sum + price, 0);
}

function noteOf(compared: readonly Compared[]): string | undefined {
  const apart = compared.filter(({ year, figures }) => year === null && figures.length > 0);
  if (apart.length === 0) return undefined;
  const names = apart.map(({ record }) => `“${record.name}”`).join(', ');
  return `The countries have no year of ${names} in common: the newest of each is given, so compare with care.`;
}
