/**
 * Decides what the columns of a table mean where the definition does not say: place, year and value columns by their
 * names and types, bounds and forecasts by patterns, year headers of wide tables.
 *
 * Anything missing is an error that lists the columns, so that the definition can be completed from the message.
 */
import { z } from 'zod';
import { CsvError, type CsvTable } from './csv.ts';
import type { WideSeries } from './table-reader.ts';

/** A column as a package describes it, or as its cells suggest. */
interface ColumnType {
  name: string;
  type?: string | null | undefined;
}

/** Usual names of place and year columns, best first; compared without case, spaces and punctuation. */
const PLACE_CODES = 'countrycode iso3 iso3code isocode iso code refarea geo economy'.split(' ');
const PLACE_NAMES = 'countryname country entity countryorarea area location geographicarea name'.split(' ');
const YEARS = ['year', 'timeperiod', 'time', 'date', 'period'];
const TEXT_TYPES = new Set('string boolean object array date datetime time geopoint geojson'.split(' '));
/** Column names that do not name the series. */
export const GENERIC_VALUE_NAME = /^(obs_?)?value$|^data$|^amount$/i;

const plainName = (name: string): string => name.toLowerCase().replaceAll(/[\s_.-]/g, '');

/** The column with the best of the names. */
function findNamed(columns: readonly string[], names: readonly string[]): string | undefined {
  const byName = new Map(columns.toReversed().map((column) => [plainName(column), column]));
  return names.map((name) => byName.get(name)).find((column) => column !== undefined);
}

/** The best column of codes and the best of names, in that order. @throws {CsvError} when there is neither. */
export function findPlaceColumns(columns: readonly string[]): string[] {
  const found = [findNamed(columns, PLACE_CODES), findNamed(columns, PLACE_NAMES)].filter(
    (one) => one !== undefined,
  );
  if (found.length > 0) return found;
  throw new CsvError(`no place column found; say which of: ${columns.join(', ')}`);
}

/** The column of type `year`, or one with a usual name. */
export const findYearColumn = (
  fields: readonly ColumnType[],
  columns: readonly string[],
): string | undefined => fields.find((field) => field.type === 'year')?.name ?? findNamed(columns, YEARS);

/** As `findYearColumn`. @throws {CsvError} when there is none. */
export function requireYearColumn(fields: readonly ColumnType[]): string {
  const columns = fields.map((field) => field.name);
  const found = findYearColumn(fields, columns);
  if (found !== undefined) return found;
  throw new CsvError(`no year column found; say which of: ${columns.join(', ')}`);
}

/** All columns that are neither a key, nor a place, nor text. */
export const findValueColumns = (fields: readonly ColumnType[], keys: readonly string[]): string[] =>
  fields
    .filter(({ name, type }) => {
      const isPlace = PLACE_NAMES.includes(plainName(name)) || PLACE_CODES.includes(plainName(name));
      return !keys.includes(name) && !isPlace && !TEXT_TYPES.has(type ?? 'any');
    })
    .map(({ name }) => name);

/** What marks a column as the forecasts or the bounds of another one. */
const ROLE_PATTERNS = {
  projected: [/[\s_-]*\((projected|projections?|forecast)\)$/iu, /[_ ]projected$/iu],
  ci_lo: [
    /_lower(_bound|_ci|_limit)?$/iu,
    /[\s-]*\(?lower[\s_-](bound|estimate|limit|confidence limit)\)?$/iu,
    /^lower bound( of|[:,]| -)?\s+/iu,
    /\s*\(lower\)$/iu,
  ],
  ci_hi: [
    /_upper(_bound|_ci|_limit)?$/iu,
    /[\s-]*\(?upper[\s_-](bound|estimate|limit|confidence limit)\)?$/iu,
    /^upper bound( of|[:,]| -)?\s+/iu,
    /\s*\(upper\)$/iu,
  ],
} as const;
type Role = keyof typeof ROLE_PATTERNS;
const ROLES: readonly Role[] = ['projected', 'ci_lo', 'ci_hi'];

/** The role columns of one value column, by exact name. */
export const columnPartners = z.strictObject({
  projected: z.string().optional(),
  ci_lo: z.string().optional(),
  ci_hi: z.string().optional(),
});
type ColumnPartners = z.infer<typeof columnPartners>;

const normalise = (name: string): string => name.trim().replaceAll(/\s+/g, ' ').toLowerCase();

/** The name without the mark of a role, or null when it has none. */
function stripRole(name: string, role: Role): string | null {
  const stripped = ROLE_PATTERNS[role].map((pattern) => name.replace(pattern, ''));
  return stripped.find((base) => base !== name && base.trim() !== '')?.trim() ?? null;
}

/** Role columns by name, each with the value column that it belongs to. */
function findPartners(
  columns: readonly string[],
  explicit: Readonly<Record<string, ColumnPartners>>,
): Map<string, { role: Role; base: string }> {
  const byName = new Map(columns.map((column) => [normalise(column), column]));
  const partners = new Map<string, { role: Role; base: string }>();
  for (const column of columns) {
    for (const role of ROLES) {
      const base = byName.get(normalise(stripRole(column, role) ?? ''));
      if (base !== undefined && base !== column) partners.set(column, { role, base });
    }
  }
  for (const [base, roles] of Object.entries(explicit)) {
    for (const role of ROLES) {
      const column = roles[role];
      if (column !== undefined) partners.set(column, { role, base });
    }
  }
  return partners;
}

/**
 * Groups value columns into series, such as `Total` with `Total (Projected)`, or `index` with `index_lower` and
 * `index_upper`. A column that fits a pattern but has no partner is a series of its own, so that no upstream figure is
 * lost.
 * @param explicit the definition's partners by value column; they win over the patterns
 */
export function pairColumns(
  columns: readonly string[],
  explicit: Readonly<Record<string, ColumnPartners>>,
): WideSeries[] {
  const partners = findPartners(columns, explicit);
  const series = new Map<string, WideSeries>();
  for (const column of columns.filter((name) => !partners.has(name))) {
    const isForecast = stripRole(column, 'projected') !== null;
    series.set(column, isForecast ? { column, projected: column } : { column, value: column });
  }
  for (const [column, { role, base }] of partners) {
    const owner = series.get(base);
    if (owner) owner[role] = column;
  }
  return [...series.values()];
}

/** `1990`, `X1990`, `YR1990`, `1990 [YR1990]`. */
const YEAR_HEADER = /^(?:X|Y|YR)?(?<year>[12]\d{3})(?: \[YR\d{4}\])?$/i;
/** A single header that looks like a year is a name. */
const MIN_YEAR_COLUMNS = 2;
/** The columns that replace the year columns, behind the others. */
export const MELTED_COLUMNS = { series: 'series', year: 'year', value: 'value' } as const;

/** The layout of a table with a column per year. */
interface YearColumns {
  /** The columns of the melted table. */
  columns: string[];
  hasSeries: boolean;
  keys: readonly number[];
  cells: readonly { at: number; year: string; series: string | null }[];
}

/**
 * Finds the year columns.
 * @param pattern of the definition: its group `year` is the year, an optional group `series` the series, as in
 * `hdi_1990` and `le_1990` of one table. Without a pattern, usual year headers count, and null means there are none.
 * @throws {CsvError} when the pattern has no group `year` or fits no column.
 */
export function findYearColumns(header: readonly string[], pattern: string): YearColumns;
export function findYearColumns(header: readonly string[], pattern: string | undefined): YearColumns | null;
export function findYearColumns(header: readonly string[], pattern: string | undefined): YearColumns | null {
  const expression = pattern === undefined ? YEAR_HEADER : new RegExp(pattern, 'u');
  const keys: number[] = [];
  const cells: { at: number; year: string; series: string | null }[] = [];
  for (const [at, name] of header.entries()) {
    const groups = expression.exec(name.trim())?.groups;
    if (groups?.year === undefined) keys.push(at);
    else cells.push({ at, year: groups.year, series: groups.series ?? null });
  }
  if (pattern === undefined && cells.length < MIN_YEAR_COLUMNS) return null;
  if (cells.length === 0) {
    throw new CsvError(`year_columns fits no column (its group "year" is the year): ${header.join(', ')}`);
  }
  const hasSeries = cells.some(({ series }) => series !== null);
  const { series, year, value } = MELTED_COLUMNS;
  const added = hasSeries ? [series, year, value] : [year, value];
  return { columns: [...keys.map((at) => header[at] ?? ''), ...added], hasSeries, keys, cells };
}

/** Melts a table with a column per year into one with a row per year. */
export function meltYears(table: CsvTable, { columns, hasSeries, keys, cells }: YearColumns): CsvTable {
  async function* batches(): AsyncGenerator<string[][], void, undefined> {
    for await (const batch of table.batches) {
      yield batch.flatMap((row) => {
        const kept = keys.map((at) => row[at] ?? '');
        return cells.map(({ at, year, series }) => [
          ...kept,
          ...(hasSeries ? [series ?? ''] : []),
          year,
          row[at] ?? '',
        ]);
      });
    }
  }
  return { header: columns, batches: batches() };
}
