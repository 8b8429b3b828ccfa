/** `/compare`: up to five places and two indicators, chosen by the address, with forms that need no script. */
import { z } from 'zod';
import { findSeries, GROUP_MARK, text } from '../../api/operations/operations.ts';
import type { Catalogue, CatalogueItem, Edition } from '../../api/snapshot/snapshot.ts';
import { pageChart } from '../charts/frame.ts';
import { DERIVED, offeredFigures, type ShownFigures, showFigures } from '../derived.ts';
import { columnDecimals } from '../figures.ts';
import { drawnLines } from '../indicator/shown-figures.ts';
import { type Filters, withQuery } from '../lists.ts';
import { definePage } from '../page.ts';
import { axisTitle, type LinesView, scatterPicture } from '../pictures.ts';
import {
  countRanked,
  type DrawnPlace,
  findPlace,
  type History,
  openingFigures,
  type Point,
  type ShownSeries,
} from '../series.ts';
import { findPeers, linesView, noPlace, placeCodes } from '../subjects.ts';

const PLACES_MAX = 5;
const INDICATORS_MAX = 2;
const DEFAULT_COUNTRIES = ['KEN', 'BRA', 'IND'];

const query = z.object({
  countries: text().optional(),
  indicators: text().optional(),
  add_country: text().optional(),
  add_indicator: text().optional(),
  ...linesView(),
  ...DERIVED,
});
type Query = z.output<typeof query>;

/** What the address asks for, and what of it is not there. */
interface Choice {
  places: readonly DrawnPlace[];
  entries: readonly CatalogueItem[];
  shown: ShownFigures;
  /** As sentences. */
  problems: readonly string[];
}

export const compare = definePage<Query>({
  path: '/compare',
  query,
  async show({ edition, query: sent }) {
    const catalogue = await edition.wholeCatalogue();
    const { entries, places, shown, problems } = await readChoice(edition, catalogue, sent);
    const { series } = shown;
    const { from, to, scale } = sent;
    const links = compareLinks(entries, places, shown, { from, to, scale });
    const names = places.map(({ name }) => name).join(', ');
    return {
      template: 'compare.njk',
      title: places.length > 1 ? `Compare ${names}` : 'Compare countries',
      description: `${names || 'Countries'} side by side${series.map(({ record }) => `; ${record.name}`).join('')}.`,
      section: 'compare',
      ...(sent.countries === undefined && sent.indicators === undefined && { canonical: '/compare' }),
      data: {
        places,
        problems,
        shown,
        compared: await Promise.all(series.map((one, at) => compareOn(edition, one, places, at, sent))),
        scatter: await shownScatter(edition, series, places),
        links,
        peers: places.length < PLACES_MAX ? await suggestedPeers(edition, places, links.fields) : [],
        offered: await offeredFigures(edition, entries, shown),
        limits: { places: PLACES_MAX, indicators: INDICATORS_MAX },
      },
    };
  },
});

async function readChoice(edition: Edition, catalogue: Catalogue, sent: Query): Promise<Choice> {
  const problems: string[] = [];
  const take = <Found>(
    list: string[],
    find: (item: string) => Found | undefined,
    [max, many, none]: readonly [number, string, (item: string) => string],
  ): Found[] => {
    const found = [...new Set(list)].flatMap((item) => {
      const match = find(item);
      if (match === undefined && !item.startsWith(GROUP_MARK)) problems.push(none(item));
      return match ?? [];
    });
    if (found.length > max) problems.push(`Only the first ${max} ${many} are shown.`);
    return [...new Set(found)].slice(0, max);
  };
  const asked = [sent.countries ?? DEFAULT_COUNTRIES.join(), sent.add_country ?? ''];
  const codes = asked.flatMap(placeCodes);
  const ids = [
    ...splitList(sent.indicators ?? defaultIndicator(catalogue)),
    ...(await addedIndicators(edition, catalogue, sent.add_indicator)),
  ];
  const entryOf = (id: string) => catalogue.indicators.get(edition.resolve(id).id);
  const noIndicator = (id: string): string => `There is no indicator “${id.slice(0, 60)}”.`;
  const entries = take(ids, entryOf, [INDICATORS_MAX, 'indicators', noIndicator]);
  const shown = await showFigures(edition, entries, sent, codes);
  const placeOf = (code: string) => findPlace(edition, code, shown.groups);
  const found = take(codes, placeOf, [PLACES_MAX, 'places', noPlace]);
  const places = [...new Map(found.map((place) => [place.code, place])).values()];
  return { entries, places, shown, problems };
}

/** By their ids, or the one that is found by words. */
async function addedIndicators(
  edition: Edition,
  { indicators }: Catalogue,
  sent: string | undefined,
): Promise<string[]> {
  const ids = splitList(sent);
  if (sent === undefined || ids.every((id) => indicators.has(edition.resolve(id).id))) return ids;
  const { hits } = await findSeries(edition, sent, { limit: 1 });
  return [hits.find(({ match }) => match === 'good')?.record.id ?? sent];
}

const splitList = (sent: string | undefined): string[] =>
  (sent ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

const defaultIndicator = (catalogue: Catalogue): string =>
  catalogue.ordered('coverage', 'desc').find(({ record }) => record.featured && !record.no_rank)?.record.id ??
  '';

/** One indicator for the chosen places: their histories as a picture, their latest figures as a table. */
async function compareOn(
  edition: Edition,
  series: ShownSeries,
  places: readonly DrawnPlace[],
  at: number,
  view: LinesView,
) {
  const { record, credited } = series;
  const { histories, ...lines } = await drawnLines(series, places, `lines-${at}`, view);
  const opening = await openingFigures(edition, series);
  const rows = histories.map((history) => {
    const latest = latestPoint(history);
    return { place: history.place, latest, isOpening: latest?.year === opening?.year };
  });
  return {
    record,
    credited,
    lines,
    rows,
    ranked: opening && countRanked(opening),
    decimals: columnDecimals(rows.map(({ latest }) => latest?.value ?? null)),
  };
}

/** The newest observed figure; the newest projected one of a series without any. */
const latestPoint = ({ points }: History): Point | null =>
  points.findLast(({ projected }) => !projected) ?? points.at(-1) ?? null;

/** Both indicators over all countries, in the newest year that both have observed; null where they share no country. */
async function shownScatter(edition: Edition, [x, y]: readonly ShownSeries[], places: readonly DrawnPlace[]) {
  if (x === undefined || y === undefined) return null;
  const found = await scatterPicture(edition, [x, y], places);
  if (found === undefined) return null;
  const { year, pairs, drawing, labels } = found;
  const areOpen = [x, y].every(({ record }) => record.access_tier === 'open');
  return {
    year,
    count: pairs.length,
    chart: pageChart(drawing, labels, 'scatter'),
    /** Null where a series may only be shown. */
    table: areOpen ? { columns: [x, y].map(({ record }) => axisTitle(record)), rows: pairs } : null,
  };
}

/** Countries like the first one that are not shown, with the address that adds each. */
async function suggestedPeers(
  edition: Edition,
  [first, ...others]: readonly DrawnPlace[],
  fields: Filters,
): Promise<{ name: string; path: string }[]> {
  const country = edition.countriesByCode.get(first?.code ?? '');
  const peers = country === undefined ? [] : await findPeers(edition, country);
  return peers
    .filter(({ iso3 }) => others.every(({ code }) => code !== iso3))
    .map(({ iso3, name }) => ({ name, path: withQuery('/compare', { ...fields, add_country: iso3 }) }));
}

/** What the address holds, addresses without one of the choices, and the call of the same figures. */
function compareLinks(
  entries: readonly CatalogueItem[],
  places: readonly DrawnPlace[],
  { filters }: ShownFigures,
  { scale, ...years }: LinesView,
) {
  const codes = places.map(({ code }) => code);
  const ids = entries.map(({ record }) => record.id);
  const listed = (items: readonly string[], left?: string) => items.filter((one) => one !== left).join();
  const all = { ...filters, ...years, scale };
  // Without any, a list is sent as a blank one: without it, the default is shown.
  const without = (left: string) =>
    `/compare?countries=${listed(codes, left)}&indicators=${listed(ids, left)}${withQuery('', all).replace('?', '&')}`;
  const chosen = { indicators: ids.join(), countries: codes.join() };
  return {
    fields: { ...chosen, ...all },
    /** Without years and scale. */
    unscaled: { ...chosen, ...filters },
    without: Object.fromEntries([...codes, ...ids].map((choice) => [choice, without(choice)])),
    call: withQuery('/v1/data', { ...chosen, ...filters, ...years, format: 'csv' }),
  };
}
