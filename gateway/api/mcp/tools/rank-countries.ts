/** `rank_countries`: who is first, who is last, and where a country stands. */
import { z } from 'zod';
import type { IndicatorRecord, rankingRow } from '../../../../data/schema/records.ts';
import {
  type FoundRows,
  GROUP_MARK,
  type Invalid,
  type Planned,
  publishedRows,
  type Refused,
  type RowSource,
  rankings,
} from '../../operations/operations.ts';
import { type Edition, statusKey } from '../../snapshot/snapshot.ts';
import {
  fitted,
  listed,
  NO_ESTIMATE,
  type Refusal,
  refusedAnswer,
  refusedText,
  seriesOf,
  withFigures,
} from '../answer.ts';
import { documentOf, pathOf, planInner } from '../calls.ts';
import { type Figure, toTables } from '../figure-tables.ts';
import { askFigures, findRowsOf, sourceOf } from '../figures.ts';
import { findIndicators } from '../indicators.ts';
import { heldYears, missingFigures, missingIn, nearestYears } from '../missing-figures.ts';
import { cursorArgument, type Page, paged } from '../pages.ts';
import { type AskedPlaces, findPlaces } from '../places.ts';
import { answerPlan, asOfArgument, defineTool, derivedArguments, listArgument } from '../tool.ts';
import { directionOf } from './describe-indicator.ts';
import { PLACES_MAX, placesDescription } from './get-data.ts';

const ROWS_MAX = 250;
const ROWS = 10;

const question = z.object({
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
  ...derivedArguments,
  as_of: asOfArgument,
  cursor: cursorArgument,
});

export const rankCountriesTool = defineTool({
  name: 'rank_countries',
  title: 'Rank countries',
  description:
    'The ranking of all countries on one indicator in one year, from the first or from the last; or where some countries ' +
    'stand in it. Says the year, the direction and how many countries are ranked.',
  priceText: '1 credit a page, 2 with per_head or per, and 1 per figure of a group',
  arguments: question,
  answer: z.object({
    ...withFigures,
    year: z.int().nullable().describe('The year that is ranked'),
    ranked: z.int().describe('How many countries have a rank in that year'),
    direction: z.string().describe('Which end is better, and what rank 1 is'),
  }),
  empty: { figures: [], series: [], refusals: [], year: null, ranked: 0, direction: '' },
  async plan({ snapshot, query, publicUrl }, page) {
    const found = await findIndicators([query.indicator], snapshot);
    const places = query.countries && findPlaces(query.countries, snapshot, query.groups);
    const [record] = found.records;
    const refusals = [...(places?.refusals ?? []), ...found.refusals];
    if (record === undefined || places?.countries.length === 0) {
      const nothing = { figures: [], series: [], year: null, ranked: 0, direction: '' };
      return answerPlan(refusedAnswer(snapshot, refusals, nothing));
    }
    return planRanking({ ...query, edition: snapshot, record, places, refusals, publicUrl, page });
  },
});

interface Asked extends z.infer<typeof question> {
  edition: Edition;
  record: IndicatorRecord;
  places: AskedPlaces | undefined;
  refusals: Refusal[];
  publicUrl: string;
  page: Page;
}

type Row = z.infer<typeof rankingRow>;
interface Ranking {
  data: Row[];
  meta: { year: number; ranked: number };
}

async function planRanking(asked: Asked): Promise<Planned> {
  const { edition, places, order, transform, publicUrl, page } = asked;
  const path = { indicator: asked.record.id };
  const call = { operation: rankings, path, query: { year: asked.year, transform } };
  const planned = await planInner(asked, call);
  if (planned.kind !== 'plan') return planned;
  const { data, meta } = await documentOf<Ranking>(planned.produce(null));
  const ranking = await findRanked(asked);
  if ('kind' in ranking) return ranking;
  const groups = await askGroups(asked, meta.year);
  if (groups.kind !== 'figures') return groups;
  const measured = data.filter(({ value }) => value !== null);
  const chosen = places && new Set(places.countries);
  const wanted = measured.filter(({ iso3 }) => chosen === undefined || chosen.has(iso3));
  const ordered = order === 'last' ? wanted.toReversed() : wanted;
  const limit = asked.limit ?? (places === undefined ? ROWS : ROWS_MAX);
  const ranked = await readRanking(ordered.slice(page.skip, page.skip + limit), ranking, meta.year, edition);
  const figures = [...groups.figures, ...ranked];
  const missing = page.skip > 0 ? [] : await notRanked(asked, ranking, measured, meta.year);
  const refusals = page.skip > 0 ? [] : [...asked.refusals, ...groups.missing, ...missing];
  const whole = () => ({ url: publicUrl + pathOf(call, edition), price: planned.price });
  const { record, others, derived } = ranking;
  const answer = fitted(figures.length, (rows) => ({
    outcome: rows === 0 ? ('refused' as const) : ('answer' as const),
    message: writeMessage(rows, Math.max(0, rows - groups.figures.length), meta, record, refusals),
    edition: edition.id,
    ...(asked.as_of && { as_of: asked.as_of.sent }),
    ...(derived && { transform: derived.words, formula: derived.formula }),
    year: meta.year,
    ranked: meta.ranked,
    direction: directionOf(record.higher_is_better),
    ...paged(page, Math.max(0, rows - groups.figures.length), ordered.length, whole),
    figures: toTables(figures.slice(0, rows)),
    series: rows === 0 ? [] : [record, ...others, ...groups.others].map((one) => seriesOf(one, publicUrl)),
    ...listed(refusals),
    ...(places && places.groups.length > 0 && page.skip === 0 && { groups: groups.places ?? places.groups }),
  }));
  return answerPlan(answer, {
    price: planned.price + groups.price,
    rows: (planned.rows ?? 0) + groups.rows,
    indicators: [...new Set([...(planned.indicators ?? []), ...groups.indicators])],
  });
}

interface Ranked {
  /** With the unit and the direction of what is ranked. */
  record: IndicatorRecord;
  others: readonly IndicatorRecord[];
  derived: FoundRows['derived'];
  source: RowSource;
}

/** What is ranked: the series as published, or what is derived of it. */
async function findRanked(asked: Asked): Promise<Ranked | Refused | Invalid> {
  const { edition, record, transform } = asked;
  if (transform === undefined)
    return { record, others: [], derived: undefined, source: publishedRows(edition) };
  const found = await findRowsOf(asked, { indicators: [record.id], transform });
  if ('kind' in found) return found;
  const { records, others, derived } = sourceOf(found);
  return { record: records[0] ?? record, others, derived, source: found.source };
}

const NO_GROUPS = {
  kind: 'figures' as const,
  figures: [],
  missing: [],
  others: [],
  indicators: [],
  places: undefined,
  price: 0,
  rows: 0,
};

/** Figures of groups in the year, which stand beside the ranking, on its first page. */
async function askGroups({ places, groups, page, record, transform, ...asking }: Asked, year: number) {
  const countries = places?.countries.filter((code) => code.startsWith(GROUP_MARK)) ?? [];
  if (groups !== 'figure' || countries.length === 0 || page.skip > 0) return NO_GROUPS;
  const asked = { indicators: [record.id], countries, from: year, to: year, transform } as const;
  const question = { ...asked, aggregate: 'declared' as const };
  const answered = await askFigures(asking, question);
  if (answered.kind !== 'figures') return answered;
  const { found, held, figures, price, rows, indicators } = answered;
  const missing = await missingFigures(found, question, held, asking.edition, { named: countries });
  const { others, groups: members } = sourceOf(found);
  return { kind: 'figures' as const, figures, missing, others, indicators, places: members, price, rows };
}

function writeMessage(
  rows: number,
  countries: number,
  { year, ranked }: Ranking['meta'],
  { name, higher_is_better }: IndicatorRecord,
  refusals: readonly Refusal[],
): string {
  if (rows === 0)
    return refusals.length === 0 ? `No country has a figure. ${NO_ESTIMATE}` : refusedText(refusals);
  return `“${name}” in ${year}: ${countries} of ${ranked} ranked countries; ${directionOf(higher_is_better)}. Name the year.`;
}

/** With the status that the source gives them, or that of what they are derived from. */
async function readRanking(
  rows: readonly Row[],
  { record, source, derived }: Ranked,
  year: number,
  edition: Edition,
): Promise<Figure[]> {
  const filter = { countries: rows.map(({ iso3 }) => iso3).sort(), from: year, to: year };
  const statuses = derived
    ? statusesOf(await source.details(record, await source.select(record, filter, {}), filter))
    : await edition.observations.statuses(record.id, filter);
  return rows.map(({ iso3, name, value, rank, projected, ci_lo, ci_hi }) => ({
    indicator: record.id,
    iso3,
    country: name,
    year,
    value: value ?? 0,
    status: statuses.get(statusKey(iso3, year)) ?? null,
    projected,
    ...(ci_lo === null ? {} : { ci_lo }),
    ...(ci_hi === null ? {} : { ci_hi }),
    rank,
  }));
}

const statusesOf = (details: Awaited<ReturnType<RowSource['details']>>) =>
  new Map(details.map(({ iso3, year, status }) => [statusKey(iso3, year), status]));

/** Countries that were named and have no figure in that year; without names, a year without any figure. */
async function notRanked(
  { places, edition }: Asked,
  { record, source }: Ranked,
  measured: readonly Row[],
  year: number,
): Promise<Refusal[]> {
  const asked = { from: year, to: year };
  if (measured.length === 0 && places === undefined) {
    const countries = edition.countries.map(({ record: { iso3 } }) => iso3);
    const held = await heldYears(source, record, countries);
    const years = [...held.values()].flatMap(({ measured: own, projected }) => [...own, ...projected]);
    const nearest_years = nearestYears(years, asked);
    const message = `Almanac holds no figure of “${record.name}” for ${year}; the nearest years held are ${nearest_years.join(' and ')}. ${NO_ESTIMATE}`;
    return [{ reason: 'no_data', message, indicator: record.id, nearest_years }];
  }
  const held = new Set(measured.map(({ iso3 }) => iso3));
  const named = (places?.named ?? []).filter((code) => !code.startsWith(GROUP_MARK) && !held.has(code));
  return missingIn(source, record, asked, named, edition);
}
