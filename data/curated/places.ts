/**
 * Maps a provider's place codes and names to countries.
 *
 * Three schemes come from `countries.csv`: `iso3`, `iso2` and `names` (common and official names). Everything else is a
 * row of `places.csv`. Any other code is `unknown`, never guessed. Aggregates and former states are listed as such, so
 * that their figures are never attributed to a present country.
 */
import { z } from 'zod';
import { type PlaceKind, placeKind, type SpineCountry } from '../schema/curated.ts';
import { iso3 } from '../schema/records.ts';
import type { Spine } from './countries.ts';
import type { Position, Problems } from './problems.ts';
import { check, readTable } from './table.ts';

export type Place = { kind: 'country'; iso3: string } | { kind: PlaceKind } | { kind: 'unknown' };

export interface PlaceTable {
  /**
   * Looks a code up in the schemes, in order; the first match decides. Codes are compared without case and surrounding
   * space, names (scheme `names`) as `foldName` folds them.
   */
  resolve(schemes: readonly string[], code: string): Place;
  /** Names of all schemes. */
  readonly schemes: ReadonlySet<string>;
}

/** Schemes derived from `countries.csv`; `places.csv` may add to them. */
const SPINE_SCHEMES = ['iso3', 'iso2', 'names'] as const;
const COLUMNS = ['scheme', 'code', 'iso3', 'kind'] as const;
const UNKNOWN: Place = { kind: 'unknown' };

const aliasRow = z
  .object({
    scheme: z.string('a scheme is needed').regex(/^[a-z0-9][a-z0-9-]*$/, 'a word of a-z, 0-9 and -'),
    code: z.string('a code is needed'),
    iso3: iso3.nullable(),
    kind: placeKind.nullable(),
  })
  .refine(
    (row) => (row.iso3 === null) !== (row.kind === null),
    'either iso3 or kind must be given, not both',
  );

/** Reads `places.csv` and adds it to the schemes of the countries. */
export async function loadPlaces(file: string, spine: Spine, problems: Problems): Promise<PlaceTable> {
  const builder = new Builder(problems);
  for (const country of spine.countries) builder.addCountry(country);
  for (const { cells, ...at } of await readTable<(typeof COLUMNS)[number] | 'note'>(
    file,
    COLUMNS,
    ['note'],
    problems,
  )) {
    const row = check(aliasRow, cells, at, problems);
    if (row === undefined) continue;
    if (row.iso3 !== null && !spine.named.has(row.iso3)) {
      problems.add(at, `${row.scheme} ${row.code}: ${row.iso3} is not on the spine`);
    } else if (row.iso3 !== null) {
      builder.add(row.scheme, row.code, { kind: 'country', iso3: row.iso3 }, at);
    } else if (row.kind !== null) {
      builder.add(row.scheme, row.code, { kind: row.kind }, at);
    }
  }
  return builder.table();
}

const keyOf = (scheme: string, code: string): string =>
  scheme === 'names' ? foldName(code) : code.trim().toUpperCase();

class Builder {
  readonly #schemes = new Map<string, Map<string, Place>>(SPINE_SCHEMES.map((name) => [name, new Map()]));
  readonly #problems: Problems;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  addCountry(country: SpineCountry): void {
    const place: Place = { kind: 'country', iso3: country.iso3 };
    this.#schemes.get('iso3')?.set(country.iso3, place);
    if (country.iso2 !== null) this.#schemes.get('iso2')?.set(country.iso2, place);
    const names = this.#schemes.get('names');
    names?.set(foldName(country.name), place);
    if (country.official_name !== null) names?.set(foldName(country.official_name), place);
  }

  add(scheme: string, code: string, place: Place, at: Position): void {
    const codes = this.#schemes.get(scheme) ?? new Map<string, Place>();
    this.#schemes.set(scheme, codes);
    const key = keyOf(scheme, code);
    if (codes.has(key)) {
      this.#problems.add(at, `${scheme} ${code} is listed before, or is the spine's own`);
    } else {
      codes.set(key, place);
    }
  }

  table(): PlaceTable {
    const schemes = this.#schemes;
    return {
      schemes: new Set(schemes.keys()),
      resolve(wanted, code) {
        for (const scheme of wanted) {
          const place = schemes.get(scheme)?.get(keyOf(scheme, code));
          if (place !== undefined) return place;
        }
        return UNKNOWN;
      },
    };
  }
}

/** Folds case, accents, punctuation, "&", "St." and a leading "the": spelling that never tells two places apart.
 * `Côte d'Ivoire` → `cote divoire`, `Micronesia (Fed. Sts.)` → `micronesia fed sts`, `St. Lucia` → `saint lucia`.
 */
export function foldName(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’‘`ʻʼ]/g, '')
    .replaceAll('&', ' and ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\bst\b/g, 'saint')
    .replace(/^the /, '');
}
