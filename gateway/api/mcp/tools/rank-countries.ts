/** `rank_countries`: who is first, who is last, and where a country stands. */
import { z } from 'zod';
import type { IndicatorRecord, rankingRow } from '../../../../data/schema/records.ts';
import { type Planned, rankings } from '../../operations/operations.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import {
  addressOf,
  fitted,
  listed,
  NO_ESTIMATE,
  type Refusal,
  refusedText,
  seriesOf,
  withFigures,
} from '../answer.ts';
import { documentOf, pathOf, planInner } from '../calls.ts';
import { type Figure, toTables } from '../figure-tables.ts';
import { heldYears, nearestYears, noData, withStatus } from '../figures.ts';
import { findIndicators } from '../indicators.ts';
import { cursorArgument, type Page, paged } from '../pages.ts';
import { type AskedPlaces, findPlaces } from '../places.ts';
import { answerPlan, asOfArgument, defineTool, listArgument } from '../tool.ts';
import { directionOf } from './describe-indicator.ts';
import { PLACES_MAX, placesDescription } from './get-data.ts';

const ROWS_MAX = 250;
const ROWS = 10;

export const rankCountriesTool = defineTool({
  name: 'rank_countries',
  title: 'Rank countries',
  description:
    'The ranking of all countries on one indicator in one year, from the first or from the last; or where some countries ' +
    'stand in it. Says the year, the direction and how many countries are ranked.',
  priceText: '1 credit a page',
  arguments: z.object({
    indicator: z.string().min(1).describe('Id from find_indicators'),
    year: z.int().optional().describe('Default: the newest measured year of the indicator'),
    order: z.enum(['first', 'last']).optional().describe('From which end; default `first`, from rank 1'),
    limit: z
      .int()
      .min(1)
      .max(ROWS_MAX)
      .optional()
      .describe(`How many countries a page; default ${ROWS}, or all that are named`),
    countries: listArgument(PLACES_MAX).optional().describe(`Only these. ${placesDescription}`),
    as_of: asOfArgument,
    cursor: cursorArgument,
  }),
  answer: z.object({
    ...withFigures,
    year: z.int().nullable().describe('The year that is ranked'),
    ranked: z.int().describe('How many countries have a rank in that year'),
    direction: z.string().describe('Which end is better, and what rank 1 is'),
  }),
  empty: { figures: [], series: [], refusals: [], year: null, ranked: 0, direction: '' },
  asOf: ({ as_of }) => as_of,
  async plan({ snapshot, query, publicUrl }, page) {
    const found = await findIndicators([query.indicator], snapshot);
    const places = query.countries && findPlaces(query.countries, snapshot);
    const [record] = found.records;
    const refusals = [...(places?.refusals ?? []), ...found.refusals];
    if (record === undefined || places?.countries.length === 0) {
      const message = refusedText(refusals);
      const nothing = { figures: [], series: [], year: null, ranked: 0, direction: '' };
      return answerPlan({
        outcome: 'refused',
        message,
        edition: snapshot.id,
        ...nothing,
        ...listed(refusals),
      });
    }
    return planRanking({ ...query, edition: snapshot, record, places, refusals, publicUrl, page });
  },
});

interface Asked {
  edition: Edition;
  record: IndicatorRecord;
  places: AskedPlaces | undefined;
  refusals: Refusal[];
  publicUrl: string;
  year?: number | undefined;
  order?: 'first' | 'last' | undefined;
  limit?: number | undefined;
  as_of?: { sent: string } | undefined;
  page: Page;
}

type Row = z.infer<typeof rankingRow>;
interface Ranking {
  data: Row[];
  meta: { year: number; ranked: number };
}

async function planRanking(asked: Asked): Promise<Planned> {
  const { edition, record, places, order, publicUrl, page } = asked;
  const call = { operation: rankings, path: { indicator: record.id }, query: { year: asked.year } };
  const planned = await planInner(asked, call);
  if (planned.kind !== 'plan') return planned;
  const { data, meta } = await documentOf<Ranking>(planned.produce(null));
  const measured = data.filter(({ value }) => value !== null);
  const chosen = places && new Set(places.countries);
  const wanted = measured.filter(({ iso3 }) => chosen === undefined || chosen.has(iso3));
  const ordered = order === 'last' ? wanted.toReversed() : wanted;
  const limit = asked.limit ?? (places === undefined ? ROWS : ROWS_MAX);
  const figures = await readRanking(ordered.slice(page.skip, page.skip + limit), record, meta.year, edition);
  const refusals = page.skip > 0 ? [] : [...asked.refusals, ...(await notRanked(asked, measured, meta.year))];
  const whole = () => ({ url: addressOf(publicUrl, pathOf(call, edition)), price: planned.price });
  const answer = fitted(figures.length, (rows) => ({
    outcome: rows === 0 ? ('refused' as const) : ('answer' as const),
    message: writeMessage(rows, meta, record, refusals),
    edition: edition.id,
    ...(asked.as_of && { as_of: asked.as_of.sent }),
    year: meta.year,
    ranked: meta.ranked,
    direction: directionOf(record.higher_is_better),
    ...paged(page, rows, ordered.length, whole),
    figures: toTables(figures.slice(0, rows)),
    series: rows === 0 ? [] : [seriesOf(record, publicUrl)],
    ...listed(refusals),
    ...(places && places.groups.length > 0 && page.skip === 0 && { groups: places.groups }),
  }));
  return answerPlan(answer, planned);
}

function writeMessage(
  rows: number,
  { year, ranked }: Ranking['meta'],
  { name, higher_is_better }: IndicatorRecord,
  refusals: readonly Refusal[],
): string {
  if (rows === 0)
    return refusals.length === 0 ? `No country has a figure. ${NO_ESTIMATE}` : refusedText(refusals);
  return `“${name}” in ${year}: ${rows} of ${ranked} ranked countries; ${directionOf(higher_is_better)}. Name the year.`;
}

/** With the status that the source gives them. */
async function readRanking(
  rows: readonly Row[],
  { id }: IndicatorRecord,
  year: number,
  edition: Edition,
): Promise<Figure[]> {
  const figures = rows.map(({ iso3, name, value, rank, projected, ci_lo, ci_hi }) => ({
    ...{ indicator: id, iso3, country: name, year, value: value ?? 0 },
    status: null,
    projected,
    ...(ci_lo === null ? {} : { ci_lo }),
    ...(ci_hi === null ? {} : { ci_hi }),
    rank,
  }));
  return withStatus(figures, edition);
}

/** Countries that were named and have no figure in that year; without names, a year without any figure. */
async function notRanked(
  { record, places, edition }: Asked,
  measured: readonly Row[],
  year: number,
): Promise<Refusal[]> {
  const asked = { from: year, to: year };
  if (measured.length === 0 && places === undefined) {
    const held = await heldYears(
      edition,
      record.id,
      edition.countries.map(({ record: { iso3 } }) => iso3),
    );
    const years = [...held.values()].flatMap(({ measured: own, projected }) => [...own, ...projected]);
    const nearest_years = nearestYears(years, asked);
    const message = `Almanac holds no figure of “${record.name}” for ${year}; the nearest years held are ${nearest_years.join(' and ')}. ${NO_ESTIMATE}`;
    return [{ reason: 'no_data', message, indicator: record.id, nearest_years }];
  }
  const held = new Set(measured.map(({ iso3 }) => iso3));
  const missing = (places?.named ?? []).filter((iso3) => !held.has(iso3));
  if (missing.length === 0) return [];
  const years = await heldYears(edition, record.id, missing);
  return missing.map((iso3) => {
    const name = edition.countriesByCode.get(iso3)?.name ?? iso3;
    return noData(record, { iso3, name }, years.get(iso3) ?? { measured: [], projected: [] }, asked);
  });
}
