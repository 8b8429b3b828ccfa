/**
 * Which columns of a described table hold the place, the year and the values, when the definition does not say.
 *
 * Places and years go by the names that such columns usually have; values are what is left that is not text. Whatever
 * is missing is an error that lists the columns, so that the definition can be completed from the message.
 */
import { CsvError } from './csv-rows.ts';
import type { PackageField } from './frictionless-package.ts';

/** Names that place and year columns usually have, best first; compared without case, spaces and underscores. */
const PLACE_CODES = [
  'countrycode',
  'iso3',
  'iso3code',
  'isocode',
  'iso',
  'code',
  'refarea',
  'geo',
  'economy',
];
const PLACE_NAMES = [
  'countryname',
  'country',
  'entity',
  'countryorarea',
  'area',
  'location',
  'geographicarea',
  'name',
];
const YEARS = ['year', 'timeperiod', 'time', 'date', 'period'];
/** Column names that say nothing of the series. */
export const BARE_VALUE = /^(obs_?)?value$|^data$|^amount$/i;

const plainName = (name: string): string => name.toLowerCase().replaceAll(/[\s_.-]/g, '');

/** The first name of the list that a column has. */
function columnNamed(columns: readonly string[], names: readonly string[]): string | undefined {
  for (const name of names) {
    const column = columns.find((one) => plainName(one) === name);
    if (column !== undefined) return column;
  }
  return undefined;
}

/** The best column of codes and the best of names, in that order. */
export function placeColumns(columns: readonly string[]): string[] {
  const found = [columnNamed(columns, PLACE_CODES), columnNamed(columns, PLACE_NAMES)].filter(
    (one) => one !== undefined,
  );
  if (found.length > 0) return found;
  throw new CsvError(`no place column found; say which of: ${columns.join(', ')}`);
}

/** The field of type `year`, or the column named like one; undefined when there is none. */
export const findYearColumn = (
  columns: readonly string[],
  fields: readonly PackageField[],
): string | undefined => fields.find((field) => field.type === 'year')?.name ?? columnNamed(columns, YEARS);

/** As `findYearColumn`. @throws {CsvError} naming the columns when there is none. */
export function yearColumn(columns: readonly string[], fields: readonly PackageField[]): string {
  const found = findYearColumn(columns, fields);
  if (found !== undefined) return found;
  throw new CsvError(`no year column found; say which of: ${columns.join(', ')}`);
}

const TEXT_TYPES = new Set([
  'string',
  'boolean',
  'object',
  'array',
  'date',
  'datetime',
  'time',
  'geopoint',
  'geojson',
]);

/** Everything that is not a key, a name or text. */
export function valueColumns(
  columns: readonly string[],
  fields: readonly PackageField[],
  keys: readonly string[],
): string[] {
  const types = new Map(fields.map((field) => [field.name, field.type ?? 'any']));
  const taken = new Set(keys);
  const found = columns.filter((column) => {
    const label = PLACE_NAMES.includes(plainName(column)) || PLACE_CODES.includes(plainName(column));
    return !taken.has(column) && !label && !TEXT_TYPES.has(types.get(column) ?? 'any');
  });
  if (found.length > 0) return found;
  throw new CsvError(`no value column found; say which of: ${columns.join(', ')}`);
}
