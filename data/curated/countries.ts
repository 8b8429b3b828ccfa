/**
 * Reads the list of countries, `countries.csv`: twelve public fields and whether the country is served. Codes are unique,
 * and derived fields (the flag from iso2) must be consistent.
 */
import { type SpineCountry, spineCountry } from '../schema/curated.ts';
import type { Position, Problems } from './problems.ts';
import { asBoolean, asNumber, check, readTable } from './table.ts';

const COLUMNS = Object.keys(spineCountry.shape) as Array<keyof SpineCountry>;
const UNIQUE = ['iso3', 'iso2', 'm49', 'name', 'official_name', 'wb_code', 'wikidata_id'] as const;

export interface Spine {
  /** In the file's order. */
  countries: SpineCountry[];
  /** The iso3 of every row, invalid rows included, so that one bad row is not reported again by its references. */
  named: ReadonlySet<string>;
}

export async function loadCountries(file: string, problems: Problems): Promise<Spine> {
  const seen = new Map(UNIQUE.map((field) => [field, new Map<unknown, number>()]));
  const countries: SpineCountry[] = [];
  const named = new Set<string>();
  for (const { cells, ...at } of readTable(file, COLUMNS, [], problems)) {
    if (cells.iso3 !== null) named.add(cells.iso3);
    const row = { ...cells, m49: asNumber(cells.m49), enabled: asBoolean(cells.enabled) };
    const country = check(spineCountry, row, at, problems);
    if (country === undefined) continue;
    checkRow(country, at, problems);
    for (const field of UNIQUE) {
      const value = country[field];
      const line = seen.get(field)?.get(value);
      if (value === null) continue;
      if (line !== undefined) problems.add(at, `${field} ${value} is also on line ${line}`);
      else seen.get(field)?.set(value, at.line);
    }
    countries.push(country);
  }
  return { countries, named };
}

function checkRow(country: SpineCountry, at: Position, problems: Problems): void {
  const flag = country.iso2 === null ? null : flagOf(country.iso2);
  if (country.flag_emoji !== flag) problems.add(at, `flag_emoji: ${flag} is the flag of ${country.iso2}`);
  if (country.wb_code === country.iso3) problems.add(at, 'wb_code: given only where it differs from iso3');
}

/** The regional-indicator pair of a two-letter code: `SE` → 🇸🇪. */
export function flagOf(iso2: string): string {
  const first = 0x1f1e6 - 'A'.charCodeAt(0);
  return String.fromCodePoint(...Array.from(iso2, (letter) => first + letter.charCodeAt(0)));
}
