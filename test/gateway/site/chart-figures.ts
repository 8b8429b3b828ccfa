/** Figures for charts, made up by the tests that draw them. */
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import type { CountryRecord } from '../../../data/schema/records.ts';
import {
  asPlace,
  type CountryFigure,
  type History,
  type Point,
  type YearFigures,
} from '../../../gateway/site/series.ts';

interface TableRow extends CountryRecord {
  enabled: string;
}

const TABLE = new URL('../../../data/countries.csv', import.meta.url);

/** Those of countries.csv that are served. */
export const COUNTRIES: readonly CountryRecord[] = (
  parse(readFileSync(TABLE), { columns: true }) as TableRow[]
).filter(({ enabled }) => enabled === 'true');

export function countryOf(code: string): CountryRecord {
  const found = COUNTRIES.find(({ iso3 }) => iso3 === code);
  if (found === undefined) throw new Error(`countries.csv has no ${code}`);
  return found;
}

export const point = (year: number, value: number, rest: Partial<Point> = {}): Point => ({
  year,
  value,
  ciLo: null,
  ciHi: null,
  rank: null,
  rankDelta: null,
  projected: false,
  ...rest,
});

export const history = (code: string, points: readonly Point[]): History => ({
  place: asPlace(countryOf(code)),
  points,
});

/** Largest first. @param figureFor null where a country has no figure */
export function yearOf(figureFor: (country: CountryRecord, at: number) => number | null): YearFigures {
  const figures: CountryFigure[] = [];
  const missing: CountryRecord[] = [];
  for (const [at, country] of COUNTRIES.entries()) {
    const value = figureFor(country, at);
    if (value === null) missing.push(country);
    else figures.push({ country, ...point(2023, value) });
  }
  return { year: 2023, figures: figures.sort((a, b) => b.value - a.value), missing };
}
