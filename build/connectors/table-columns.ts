/**
 * Which columns of a described table hold the place, the year and the values, when the definition does not say.
 *
 * Places and years go by the names that such columns usually have; values are what is left that is not text. Whatever
 * is missing is an error that lists the columns, so that the definition can be completed from the message.
 */

import { z } from 'zod';
import { CsvError, type CsvTable } from './csv.ts';
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
export const GENERIC_VALUE_NAME = /^(obs_?)?value$|^data$|^amount$/i;

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
export function findPlaceColumns(columns: readonly string[]): string[] {
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
export function requireYearColumn(columns: readonly string[], fields: readonly PackageField[]): string {
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
export function findValueColumns(
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

/**
 * Which columns of a wide table belong together.
 *
 * Providers write the forecast part of a series and its confidence bounds as columns of their own beside it:
 * `Total` and `Total (Projected)`, `index`, `index_lower` and `index_upper`. A role is recognised by a pattern at the
 * column's name; what is left of the name when the pattern is taken away must be the name of another column. A column
 * that fits a pattern and has no such partner is a series of its own, so that nothing upstream publishes is lost.
 * A definition can add patterns, or say per column which others it goes with.
 */

/** A regular expression as text, compiled case-insensitive. */
export const pattern = z.string().refine(isRegExp, 'a regular expression');

function isRegExp(source: string): boolean {
  try {
    return Boolean(new RegExp(source, 'iu'));
  } catch {
    return false;
  }
}

export const rolePatterns = z.strictObject({
  projected: z
    .array(pattern)
    .default([String.raw`[\s_-]*\((projected|projections?|forecast)\)$`, '[_ ]projected$']),
  ci_lo: z
    .array(pattern)
    .default([
      '_lower(_bound|_ci|_limit)?$',
      String.raw`[\s-]*\(?lower[\s_-](bound|estimate|limit|confidence limit)\)?$`,
      String.raw`^lower bound( of|[:,]| -)?\s+`,
      String.raw`\s*\(lower\)$`,
    ]),
  ci_hi: z
    .array(pattern)
    .default([
      '_upper(_bound|_ci|_limit)?$',
      String.raw`[\s-]*\(?upper[\s_-](bound|estimate|limit|confidence limit)\)?$`,
      String.raw`^upper bound( of|[:,]| -)?\s+`,
      String.raw`\s*\(upper\)$`,
    ]),
});
export type RolePatterns = z.infer<typeof rolePatterns>;
type Role = keyof RolePatterns;
const ROLES: readonly Role[] = ['projected', 'ci_lo', 'ci_hi'];

/** What a definition may say of one column; a role column named here is found by its exact name. */
export const columnPartners = z.strictObject({
  projected: z.string().optional(),
  ci_lo: z.string().optional(),
  ci_hi: z.string().optional(),
});
export type ColumnPartners = z.infer<typeof columnPartners>;

/** One series of a wide table, as column names. */
export interface WideSeries {
  /** The column that names the series. */
  column: string;
  /** The columns of observed values and of forecasts; one of the two may be absent, never both. */
  value: string | null;
  projected: string | null;
  ci_lo: string | null;
  ci_hi: string | null;
}

const normal = (name: string): string => name.trim().replaceAll(/\s+/g, ' ').toLowerCase();

/** The name without the role's mark, or null when the name has none. */
function baseOf(name: string, patterns: readonly string[]): string | null {
  for (const source of patterns) {
    const base = name.replace(new RegExp(source, 'iu'), '');
    if (base !== name && base.trim() !== '') return base.trim();
  }
  return null;
}

/** Role columns by name, with the series' column that each belongs to. */
function partnersOf(
  columns: readonly string[],
  patterns: RolePatterns,
  explicit: ReadonlyMap<string, ColumnPartners>,
): Map<string, { role: Role; base: string }> {
  const byName = new Map(columns.map((column) => [normal(column), column]));
  const partners = new Map<string, { role: Role; base: string }>();
  for (const column of columns) {
    for (const role of ROLES) {
      const base = byName.get(normal(baseOf(column, patterns[role]) ?? ''));
      if (base !== undefined && base !== column) partners.set(column, { role, base });
    }
  }
  for (const [base, roles] of explicit) {
    for (const role of ROLES) {
      const column = roles[role];
      if (column !== undefined) partners.set(column, { role, base });
    }
  }
  return partners;
}

/**
 * Groups the value columns of a table into series, in the order of the columns that name them.
 * @param columns the names of the value columns
 * @param explicit what the definition says, by the series' column; it wins over the patterns
 */
export function pairColumns(
  columns: readonly string[],
  patterns: RolePatterns,
  explicit: ReadonlyMap<string, ColumnPartners> = new Map(),
): WideSeries[] {
  const partners = partnersOf(columns, patterns, explicit);
  const series = new Map<string, WideSeries>();
  for (const column of columns.filter((name) => !partners.has(name))) {
    const forecast = baseOf(column, patterns.projected) !== null;
    series.set(column, {
      column,
      value: forecast ? null : column,
      projected: forecast ? column : null,
      ci_lo: null,
      ci_hi: null,
    });
  }
  for (const [column, { role, base }] of partners) {
    const owner = series.get(base);
    if (owner) owner[role] = column;
  }
  return [...series.values()];
}

/**
 * Tables with a column for each year, made into tables with a row for each.
 *
 * A header is a year's when it is four digits, `X1990`, `YR1990` or `1990 [YR1990]`, or when the definition's own
 * pattern says so: its group `year` is the year, and its group `series`, where it has one, the series, as in `hdi_1990`
 * and `le_1990` of one table.
 */

const USUAL = /^(?:X|Y|YR)?(?<year>[12]\d{3})(?: \[YR\d{4}\])?$/i;
/** Fewer columns that look like years are names. */
const FEWEST = 2;

/** The columns that take their places; upstream's own columns come before them. */
export const MELTED_COLUMNS = { series: 'series', year: 'year', value: 'value' } as const;

interface YearCell {
  at: number;
  year: string;
  series: string | null;
}

export interface YearColumns {
  /** The columns of the table with a row for each year. */
  columns: string[];
  hasSeries: boolean;
  keys: readonly number[];
  cells: readonly YearCell[];
}

/**
 * Finds the columns of years.
 * @param pattern of the definition; without it the usual headers count, and null says that there are none
 * @throws {CsvError} when the definition's pattern has no group `year` or fits no column.
 */
export function findYearColumns(header: readonly string[], pattern: string | undefined): YearColumns | null {
  const expression = pattern === undefined ? USUAL : new RegExp(pattern, 'u');
  const keys: number[] = [];
  const cells: YearCell[] = [];
  for (const [at, name] of header.entries()) {
    const groups = expression.exec(name.trim())?.groups;
    if (groups?.year === undefined) keys.push(at);
    else cells.push({ at, year: groups.year, series: groups.series ?? null });
  }
  if (pattern === undefined && cells.length < FEWEST) return null;
  if (cells.length === 0)
    throw new CsvError(`year_columns fits no column (its group "year" is the year): ${header.join(', ')}`);
  const hasSeries = cells.some(({ series }) => series !== null);
  const added = hasSeries
    ? [MELTED_COLUMNS.series, MELTED_COLUMNS.year, MELTED_COLUMNS.value]
    : [MELTED_COLUMNS.year, MELTED_COLUMNS.value];
  const columns = [...keys.map((at) => header[at] ?? ''), ...added];
  return { columns, hasSeries, keys, cells };
}

/** The same figures, a row for each year. */
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
