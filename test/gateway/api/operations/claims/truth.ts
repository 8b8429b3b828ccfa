/** The figures of published editions, read from their files by DuckDB, and what a text may stand for. */
import { join } from 'node:path';
import { DuckSession } from '../../../../../build/runtime/duckdb.ts';
import type { Concepts } from '../../../../../data/curated/concepts.ts';
import { readCatalogue, showSnapshot } from '../../../../shown-snapshot.ts';

export interface Place {
  indicator: string;
  iso3: string;
  year: number;
}

type Series = Map<string, Map<number, number>>;

const FIGURES = (files: string): string => `
  SELECT parse_filename(filename) AS name, iso3, year, value
  FROM read_parquet('${files}', filename = true) WHERE value IS NOT NULL`;

/** One edition: values by indicator, country and year. */
export class EditionTruth {
  readonly id: string;
  readonly series: ReadonlyMap<string, Series>;
  /** Indicators that may be exported. */
  readonly open: readonly string[];

  private constructor(id: string, series: ReadonlyMap<string, Series>, open: readonly string[]) {
    this.id = id;
    this.series = series;
    this.open = open;
  }

  /** @param id the served edition by default */
  static async read(snapshots: string, id?: string): Promise<EditionTruth> {
    const shown = await showSnapshot(snapshots, id);
    const { indicators } = await readCatalogue(shown);
    const series = new Map<string, Series>();
    const duck = await DuckSession.open({ scratch: `${shown.directory}-scratch`, memoryMb: 512 });
    await duck.eachChunk(FIGURES(join(shown.directory, 'observations/*.parquet')), (columns, rows) => {
      const [names = [], codes = [], years = [], values = []] = columns;
      for (let row = 0; row < rows; row += 1) {
        const countries = memberOf(series, String(names[row]).slice(0, -'.parquet'.length));
        memberOf(countries, String(codes[row])).set(Number(years[row]), Number(values[row]));
      }
    });
    await duck.close();
    const open = indicators
      .filter(({ record }) => record.access_tier === 'open')
      .map(({ record }) => record.id);
    return new EditionTruth(shown.id, series, open.filter((one) => series.has(one)).sort());
  }

  /** All figures of some indicators. */
  *figures(indicators: readonly string[]): Iterable<{ place: Place; value: number }> {
    for (const indicator of indicators)
      for (const [iso3, years] of this.series.get(indicator) ?? [])
        for (const [year, value] of years) yield { place: { indicator, iso3, year }, value };
  }

  value({ indicator, iso3, year }: Place): number | undefined {
    return this.series.get(indicator)?.get(iso3)?.get(year);
  }

  years({ indicator, iso3 }: Pick<Place, 'indicator' | 'iso3'>): ReadonlyMap<number, number> {
    return this.series.get(indicator)?.get(iso3) ?? new Map();
  }

  /** Values of one year by country. */
  countries({ indicator, year }: Pick<Place, 'indicator' | 'year'>): Map<string, number> {
    const found = new Map<string, number>();
    for (const [iso3, years] of this.series.get(indicator) ?? []) {
      const value = years.get(year);
      if (value !== undefined) found.set(iso3, value);
    }
    return found;
  }
}

/** The map under a key, which is added when it is not there. */
function memberOf<Key, Member>(maps: Map<string, Map<Key, Member>>, key: string): Map<Key, Member> {
  const known = maps.get(key) ?? new Map<Key, Member>();
  maps.set(key, known);
  return known;
}

export interface Twin {
  indicator: string;
  factor: number;
}

/** The other series of each indicator's concept; a value times `factor` has the unit of the indicator. */
export function twinsOf(concepts: Concepts): Map<string, Twin[]> {
  const found = new Map<string, Twin[]>();
  for (const members of concepts.members.values()) {
    for (const { series: own } of members) {
      const others = members.filter(({ series }) => series !== own);
      found.set(
        own.indicator,
        others.map(({ series: { indicator, factor } }) => ({ indicator, factor: factor / own.factor })),
      );
    }
  }
  return found;
}

/** Relative distance in which half a unit of the last digit may lie on either side. */
const HALF = 1e-12;

/** A digit that is further off is no rounding to rely on. */
export const ROUNDED_MAX = 0.1;

/** Whether a text is a value, or the value rounded to its digits, by JavaScript's own formatting. A zero is no rounding of another value. */
export function isRight(text: string, value: number): boolean {
  const number = Number(text);
  if (number === value) return true;
  if (number === 0 || Math.abs(number - value) > ROUNDED_MAX * Math.abs(value)) return false;
  const [mantissa = '', exponent] = text.toLowerCase().replace('-', '').split('e');
  const decimals = mantissa.split('.')[1]?.length;
  const digits = mantissa.replace('.', '').replace(/^0+(?=.)/, '');
  const significant = digits.replace(/0+$/, '').length || 1;
  const near = [value, value * (1 + HALF), value * (1 - HALF)];
  if (exponent !== undefined) return near.some((one) => Number(one.toPrecision(digits.length)) === number);
  if (decimals !== undefined) return near.some((one) => Number(one.toFixed(decimals)) === number);
  const lengths = Array.from({ length: digits.length - significant + 1 }, (_, more) => significant + more);
  return near.some(
    (one) =>
      Number(one.toFixed(0)) === number ||
      lengths.some((length) => Number(one.toPrecision(Math.min(length, 21))) === number),
  );
}
