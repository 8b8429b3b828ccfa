/** Map and lines on the page of an indicator. */
import type { CountryRecord, IndicatorRecord } from '../../../data/schema/records.ts';
import type { Edition } from '../../api/snapshot/editions/edition.ts';
import { ASSET_PATHS } from '../assets.ts';
import { pageChart, pageMap } from '../charts/frame.ts';
import type { LegendEntry } from '../charts/map.ts';
import { linesPicture, mapOfYear } from '../pictures.ts';
import { type CountryFigure, type YearFigures, yearFigures } from '../series.ts';

interface ShownMap {
  /** An `svg` element; null where no country has a figure of the year. */
  picture: string | null;
  legend: readonly LegendEntry[];
  year: number;
  /** Those that can be chosen, newest first. */
  years: readonly number[];
}

/** @param asked a year; any that the series does not reach stands for the latest one */
export async function mapOf(
  edition: Edition,
  record: IndicatorRecord,
  latest: YearFigures,
  asked: number | undefined,
): Promise<ShownMap> {
  const years = yearsOf(record);
  const year = asked !== undefined && years.includes(asked) ? asked : latest.year;
  const held = year === latest.year ? latest : await yearFigures(edition, record, year);
  const drawn = mapOfYear(record, held, ASSET_PATHS.outlines);
  return {
    picture: drawn ? pageMap(drawn.drawing, drawn.labels, 'map-picture') : null,
    legend: drawn?.drawing.legend ?? [],
    year,
    years,
  };
}

/** From the newest with any figure to the oldest. */
function yearsOf({ coverage }: IndicatorRecord): number[] {
  if (coverage === null || coverage.yr_min === null || coverage.yr_max === null) return [];
  const { yr_min, yr_max } = coverage;
  return Array.from({ length: yr_max - yr_min + 1 }, (_, before) => yr_max - before);
}

interface ShownLines {
  /** `svg` elements; null where none of the countries has a figure. */
  picture: string | null;
  /** What the countries have in the latest year. */
  rows: readonly { country: CountryRecord; figure: CountryFigure | null }[];
}

export async function linesOf(
  edition: Edition,
  record: IndicatorRecord,
  { figures }: YearFigures,
  countries: readonly CountryRecord[],
): Promise<ShownLines> {
  const drawn = await linesPicture(edition, record, countries);
  return {
    picture: drawn ? pageChart(drawn.drawing, drawn.labels, 'lines-picture') : null,
    rows: countries.map((country) => ({
      country,
      figure: figures.find((figure) => figure.country.iso3 === country.iso3) ?? null,
    })),
  };
}
