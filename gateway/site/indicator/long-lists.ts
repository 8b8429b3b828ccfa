/**
 * Parts of a page that hold every country, as HTML: a template takes several milliseconds for a few hundred rows, and
 * these a tenth of that.
 */
import nunjucks from 'nunjucks';
import { type CountryRecord, isForecastStatus } from '../../../data/schema/records.ts';
import { escapedXml } from '../../api/encoders/documents/xml.ts';
import type { Edition } from '../../api/snapshot/editions/edition.ts';
import { TEMPLATE_FILTERS } from '../../web/templates.ts';
import { figureHtml } from '../figures.ts';
import type { CountryFigure, YearFigures } from '../series.ts';

type Html = nunjucks.runtime.SafeString;

const asHtml = (text: string): Html => new nunjucks.runtime.SafeString(text);

/** Each page has one to every country. */
const links = new WeakMap<CountryRecord, string>();

function linkTo(country: CountryRecord): string {
  const { iso3, name } = country;
  const link = links.get(country) ?? `<a href="/countries/${iso3}">${escapedXml(name)}</a>`;
  links.set(country, link);
  return link;
}

/** Of a table of the class `figures`, which aligns its cells: hundreds of class attributes would be a sixth of a page. */
const cell = (content: string): string => `<td>${content}</td>`;

export interface RankingColumns {
  hasRanks: boolean;
  hasBounds: boolean;
  /** Digits after the point that figures have at least. */
  decimals: number;
  /** By ISO3, what the source says of a figure. */
  statuses: ReadonlyMap<string, string>;
}

/** The rows of a table of all countries that have a figure. */
export const rankingRows = ({ figures }: YearFigures, columns: RankingColumns): Html =>
  asHtml(figures.map((figure) => rankingRow(figure, columns)).join('\n'));

function rankingRow(figure: CountryFigure, columns: RankingColumns): string {
  const { hasRanks, hasBounds, decimals } = columns;
  const { country, value, ciLo, ciHi, rank, rankDelta } = figure;
  const rankCell = hasRanks ? cell(rank === null ? '–' : String(rank)) : '';
  const name = `<th scope="row">${linkTo(country)}${marksOf(figure, columns)}</th>`;
  const bounds = hasBounds ? cell(`${figureHtml(ciLo, decimals)} to ${figureHtml(ciHi, decimals)}`) : '';
  const change = hasRanks ? cell(rankDelta === null ? '–' : TEMPLATE_FILTERS.signed(rankDelta)) : '';
  return `<tr>${rankCell}${name}${cell(figureHtml(value, decimals))}${bounds}${change}</tr>`;
}

/** `projected`, and what the source says: a forecast is one that is projected. */
function marksOf({ country, projected }: CountryFigure, { statuses }: RankingColumns): string {
  const said = statuses.get(country.iso3)?.split(', ') ?? [];
  const words = [...(projected ? ['projected'] : []), ...said.filter((word) => !isForecastStatus(word))];
  return words.map((word) => ` <span class="tag">${escapedXml(word)}</span>`).join('');
}

/** Links to countries, separated by commas. */
export const countryLinks = (countries: readonly CountryRecord[]): Html =>
  asHtml(countries.map(linkTo).join(', '));

const options = new WeakMap<Edition, Html>();

/** An `option` for each country of the edition. */
export function countryOptions(edition: Edition): Html {
  const known = options.get(edition);
  if (known !== undefined) return known;
  const made = asHtml(
    edition.countries
      .map(({ record: { iso3, name } }) => `<option value="${iso3}">${escapedXml(name)}</option>`)
      .join(''),
  );
  options.set(edition, made);
  return made;
}
