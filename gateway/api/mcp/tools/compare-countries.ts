/** `compare_countries`: the same year for all, so that figures can be set side by side. */
import { z } from 'zod';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { Invalid, Refused } from '../../operations/operations.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { type Figure, type Refusal, withFigures } from '../answer.ts';
import type { Asking } from '../calls.ts';
import {
  askFigures,
  exportRefused,
  type FiguresAsked,
  figuresAnswer,
  heldYears,
  missingFigures,
} from '../figures.ts';
import { findIndicators } from '../indicators.ts';
import { type AskedPlaces, findPlaces } from '../places.ts';
import { answerPlan, asOfArgument, defineTool } from '../tool.ts';
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
    countries: z.array(z.string().min(1)).min(1).max(PLACES_MAX).describe(placesDescription),
    year: z.int().optional(),
    as_of: asOfArgument,
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
  async plan({ snapshot, query: { indicators, countries, year, as_of }, publicUrl }) {
    const found = await findIndicators(indicators, snapshot);
    const places = await findPlaces(countries, snapshot);
    const refusals = [...places.refusals, ...found.refusals];
    const about = { edition: snapshot, publicUrl, as_of: as_of?.sent, groups: places.groups };
    const restricted = exportRefused(found.records, publicUrl);
    if (restricted !== null) return restricted;
    const compared: Compared[] = [];
    if (places.countries.length > 0)
      for (const record of found.records) {
        const one = await compare(record, year, places, { edition: snapshot, publicUrl });
        if ('kind' in one) return one;
        compared.push(one);
      }
    const answer = figuresAnswer({
      ...about,
      note: noteOf(compared),
      records: found.records,
      figures: compared.flatMap(({ figures }) => figures),
      refusals: [...refusals, ...compared.flatMap(({ missing }) => missing)],
    });
    const price = compared.reduce((sum, one) => sum + one.price, 0);
    const years = compared.map(({ record, year: common }) => ({ indicator: record.id, year: common }));
    const charge = {
      price,
      rows: answer.figures.length,
      indicators: compared.map(({ record }) => record.id),
    };
    return answerPlan({ ...answer, years }, charge);
  },
});

interface Compared {
  record: IndicatorRecord;
  year: number | null;
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
  const missing = await missingFigures([record], question, figures, edition, places);
  return { record, year, price, figures, missing };
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

function noteOf(compared: readonly Compared[]): string | undefined {
  const apart = compared.filter(({ year, figures }) => year === null && figures.length > 0);
  if (apart.length === 0) return undefined;
  const names = apart.map(({ record }) => `“${record.name}”`).join(', ');
  return `The countries have no year of ${names} in common: the newest of each is given, so compare with care.`;
}
