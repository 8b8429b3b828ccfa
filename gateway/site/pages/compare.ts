/** `/compare`: up to five places and two indicators, chosen by the address, with forms that need no script. */
import { z } from 'zod';
import { GROUP_MARK, text } from '../../api/operations/operations.ts';
import type { Catalogue, CatalogueItem, Edition } from '../../api/snapshot/snapshot.ts';
import { pageChart } from '../charts/frame.ts';
import { DERIVED, offeredFigures, type ShownFigures, showFigures } from '../derived.ts';
import { columnDecimals } from '../figures.ts';
import { drawnLines } from '../indicator/shown-figures.ts';
import { withQuery } from '../lists.ts';
import { definePage } from '../page.ts';
import { axisTitle, scatterPicture } from '../pictures.ts';
import { asPlace, type DrawnPlace, type History, type Point, type ShownSeries } from '../series.ts';
import { findCountry } from '../subjects.ts';

const PLACES_MAX = 5;
const INDICATORS_MAX = 2;
const DEFAULT_COUNTRIES = ['KEN', 'BRA', 'IND'];
const CHOICES_MAX = 60;

const query = z.object({
  countries: text().optional(),
  indicators: text().optional(),
  add_country: text().optional(),
  add_indicator: text().optional(),
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
    const names = places.map(({ name }) => name).join(', ');
    return {
      template: 'compare.njk',
      title: places.length > 1 ? `Compare ${names}` : 'Compare countries',
      description: `${names || 'Countries'} side by side${series.map(({ record }) => `; ${record.name}`).join('')}.`,
      section: 'compare',
      ...(sent.countries === undefined && sent.indicators === undefined && { canonical: '/compare' }),
      data: {
        ...{ places, problems, shown },
        compared: await Promise.all(series.map((one, at) => compareOn(one, places, at))),
        scatter: await shownScatter(edition, series, places),
        links: compareLinks(entries, places, shown),
        offered: await offeredFigures(edition, entries, shown),
        choices: formChoices(edition, catalogue),
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
    [max, one, many]: readonly [number, string, string],
  ): Found[] => {
    const found = [...new Set(list)].flatMap((item) => {
      const match = find(item);
      if (match === undefined && !item.startsWith(GROUP_MARK))
        problems.push(`There is no ${one} “${item.slice(0, 60)}”.`);
      return match ?? [];
    });
    if (found.length > max) problems.push(`Only the first ${max} ${many} are shown.`);
    return [...new Set(found)].slice(0, max);
  };
  const codes = [...splitList(sent.countries ?? DEFAULT_COUNTRIES.join()), ...splitList(sent.add_country)];
  const ids = [
    ...splitList(sent.indicators ?? defaultIndicator(catalogue)),
    ...splitList(sent.add_indicator),
  ];
  const entryOf = (id: string) => catalogue.indicators.get(edition.resolve(id).id);
  const entries = take(ids, entryOf, [INDICATORS_MAX, 'indicator', 'indicators']);
  const shown = await showFigures(edition, entries, sent, codes);
  const placeOf = (code: string) => findCountry(edition, code) ?? shown.groups.get(code);
  const found = take(codes, placeOf, [PLACES_MAX, 'country', 'places']);
  const places = found.map((one) => ('iso3' in one ? asPlace(one) : one));
  return { entries, places, shown, problems };
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
async function compareOn(series: ShownSeries, places: readonly DrawnPlace[], at: number) {
  const { record, credited } = series;
  const { histories, ...lines } = await drawnLines(series, places, `lines-${at}`);
  const rows = histories.map((history) => ({ place: history.place, latest: latestPoint(history) }));
  return {
    ...{ record, credited, lines, rows },
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
    ...{ year, count: pairs.length },
    chart: pageChart(drawing, labels, 'scatter'),
    /** Null where a series may only be shown. */
    table: areOpen ? { columns: [x, y].map(({ record }) => axisTitle(record)), rows: pairs } : null,
  };
}

/** What the address holds, addresses without one of the choices, and the call of the same figures. */
function compareLinks(
  entries: readonly CatalogueItem[],
  places: readonly DrawnPlace[],
  { filters }: ShownFigures,
) {
  const codes = places.map(({ code }) => code);
  const ids = entries.map(({ record }) => record.id);
  const listed = (all: readonly string[], left?: string) => all.filter((one) => one !== left).join();
  // Without any, a list is sent as a blank one: without it, the default is shown.
  const without = (left: string) =>
    `/compare?countries=${listed(codes, left)}&indicators=${listed(ids, left)}${withQuery('', filters).replace('?', '&')}`;
  const fields = { indicators: ids.join(), countries: codes.join(), ...filters };
  return {
    fields,
    without: Object.fromEntries([...codes, ...ids].map((choice) => [choice, without(choice)])),
    call: withQuery('/v1/data', { ...fields, format: 'csv' }),
  };
}

/** What the forms offer: all countries, and featured indicators by topic. */
function formChoices(edition: Edition, catalogue: Catalogue) {
  const featured = catalogue.ordered('topic', 'asc').filter(({ record }) => record.featured);
  return {
    countries: edition.countries.map(({ record }) => record),
    indicators: featured.slice(0, CHOICES_MAX).map(({ record }) => record),
  };
}
