/** `/compare`: up to five countries and two indicators, chosen by the address, with forms that need no script. */
import { z } from 'zod';
import type { CountryRecord, IndicatorRecord } from '../../../data/schema/records.ts';
import { text } from '../../api/operations/operations.ts';
import type { Catalogue, Edition } from '../../api/snapshot/snapshot.ts';
import { pageChart, pictureLabels } from '../charts/frame.ts';
import { lineChart } from '../charts/lines.ts';
import { columnDecimals } from '../figures.ts';
import { definePage } from '../page.ts';
import { scatterPicture } from '../pictures.ts';
import { type History, histories, type Point } from '../series.ts';
import { findCountry } from '../subjects.ts';

const COUNTRIES_MAX = 5;
const INDICATORS_MAX = 2;
const DEFAULT_COUNTRIES = ['KEN', 'BRA', 'IND'];
const CHOICES_MAX = 60;

const query = z.object({
  countries: text().optional(),
  indicators: text().optional(),
  add_country: text().optional(),
  add_indicator: text().optional(),
});
type Query = z.output<typeof query>;

/** What the address asks for, and what of it is not there. */
interface Asked {
  countries: CountryRecord[];
  indicators: IndicatorRecord[];
  /** As sentences. */
  problems: string[];
}

export const compare = definePage<Query>({
  path: '/compare',
  query,
  async show({ edition, query: sent }) {
    const catalogue = await edition.wholeCatalogue();
    const asked = readChoice(edition, catalogue, sent);
    const compared = await Promise.all(
      asked.indicators.map((record, at) => compareOn(edition, record, asked.countries, at)),
    );
    const names = asked.countries.map(({ name }) => name).join(', ');
    return {
      template: 'compare.njk',
      title: asked.countries.length > 1 ? `Compare ${names}` : 'Compare countries',
      description: `${names || 'Countries'} side by side${asked.indicators.map(({ name }) => `; ${name}`).join('')}.`,
      section: 'compare',
      ...(sent.countries === undefined && sent.indicators === undefined && { canonical: '/compare' }),
      data: {
        ...asked,
        compared,
        scatter: await shownScatter(edition, asked),
        links: compareLinks(asked),
        choices: formChoices(edition, catalogue),
        limits: { countries: COUNTRIES_MAX, indicators: INDICATORS_MAX },
      },
    };
  },
});

function readChoice(edition: Edition, catalogue: Catalogue, sent: Query): Asked {
  const problems: string[] = [];
  const take = <Found>(
    list: string[],
    find: (item: string) => Found | undefined,
    [max, one, many]: readonly [number, string, string],
  ): Found[] => {
    const found = [...new Set(list)].flatMap((item) => {
      const match = find(item);
      if (match === undefined) problems.push(`There is no ${one} “${item.slice(0, 60)}”.`);
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
  const indicatorOf = (id: string) => catalogue.indicators.get(edition.resolve(id).id)?.record;
  return {
    countries: take(codes, (code) => findCountry(edition, code), [COUNTRIES_MAX, 'country', 'countries']),
    indicators: take(ids, indicatorOf, [INDICATORS_MAX, 'indicator', 'indicators']),
    problems,
  };
}

const splitList = (sent: string | undefined): string[] =>
  (sent ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

const defaultIndicator = (catalogue: Catalogue): string =>
  catalogue.ordered('coverage', 'desc').find(({ record }) => record.featured && !record.no_rank)?.record.id ??
  '';

/** One indicator for the chosen countries: their histories as a picture, their latest figures as a table. */
async function compareOn(
  edition: Edition,
  record: IndicatorRecord,
  countries: readonly CountryRecord[],
  at: number,
) {
  const found = await histories(edition, record, countries);
  const rows = found.map((history) => ({ country: history.country, latest: latestPoint(history) }));
  const labels = pictureLabels(record, [record.coverage?.yr_min ?? null, record.coverage?.yr_max ?? null]);
  return {
    record,
    chart: pageChart(lineChart(found, record.unit), labels, `lines-${at}`),
    rows,
    decimals: columnDecimals(rows.map(({ latest }) => latest?.value ?? null)),
  };
}

/** The newest observed figure; the newest projected one of a series without any. */
const latestPoint = ({ points }: History): Point | null =>
  points.findLast(({ projected }) => !projected) ?? points.at(-1) ?? null;

/** Both indicators over all countries, in the newest year that both have observed; null where they share no country. */
async function shownScatter(edition: Edition, { countries, indicators }: Asked) {
  const [x, y] = indicators;
  if (x === undefined || y === undefined) return null;
  const found = await scatterPicture(edition, [x, y], countries);
  if (found === undefined) return null;
  const { year, count, drawing, labels } = found;
  return { year, count, chart: pageChart(drawing, labels, 'scatter') };
}

/** Addresses of this page and of those without one of the choices. */
function compareLinks({ countries, indicators }: Asked) {
  const codes = countries.map(({ iso3 }) => iso3);
  const ids = indicators.map(({ id }) => id);
  const addressWithout = (left?: string): string =>
    `/compare?countries=${codes.filter((code) => code !== left).join(',')}&indicators=${ids
      .filter((id) => id !== left)
      .map(encodeURIComponent)
      .join(',')}`;
  const without = (choices: readonly string[]) =>
    Object.fromEntries(choices.map((choice) => [choice, addressWithout(choice)]));
  return {
    codes: codes.join(','),
    ids: ids.join(','),
    withoutCountry: without(codes),
    withoutIndicator: without(ids),
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
