/**
 * Frictionless data packages: a `datapackage.json` that describes CSV tables.
 *
 * A package may hold one series (a long table with a value column) or several (a column each); a provider may be one
 * package or hundreds, a directory each; a CSV file without a description is read by its header. The least a definition must say is where the package is: place, year and value
 * columns are found by their names and types, bounds and forecasts by `column-roles.ts`. Tables are streamed. A package
 * that cannot be read fails alone; the provider fails when none can.
 *
 * Slugs: a long table's series go by their codes; a package with one series is that series, under the package's name; of several, each is `<package>-<column>`.
 */

import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Connector, ConnectorContext, RawObservation, SourceItem } from './connector.ts';
import { CsvError, type CsvTable, openCsv } from './csv.ts';
import {
  createNumberNormalizer,
  csvOptions,
  type DataPackage,
  fieldProperty,
  findResource,
  inferFields,
  isCsvPath,
  type PackageField,
  type PackageResource,
  packageForCsv,
  parsePackage,
  resourcePaths,
} from './frictionless-package.ts';
import { codeToSlug, plainText, toSlug } from './plain-text.ts';
import { readParts } from './provider-parts.ts';
import {
  columnPartners,
  findPlaceColumns,
  findValueColumns,
  findYearColumn,
  findYearColumns,
  GENERIC_VALUE_NAME,
  MELTED_COLUMNS,
  meltYears,
  pairColumns,
  pattern,
  requireYearColumn,
  rolePatterns,
  type WideSeries,
} from './table-columns.ts';
import { type LongSeries, readLongTable, readWideTable } from './table-reader.ts';

/**
 * What a definition can say of Frictionless packages. Nothing has to be said where a package describes itself; what is
 * said for all packages can be said again for one.
 */

const columnSettings = columnPartners.extend({
  slug: z.string().optional(),
  name: z.string().optional(),
  unit: z.string().optional(),
  description: z.string().optional(),
  skip: z.boolean().default(false),
});

/** What can be said for all packages and again for one. */
const tableSettings = {
  /** Which resource; default: the first that is CSV. */
  resource: z.string().optional(),
  /** Columns with the place, best first; an empty cell falls through to the next. Default: found by name. */
  place: z.array(z.string()).min(1).optional(),
  /** Default: the field of type `year`, or found by name. */
  year: z.string().optional(),
  /** Takes the year out of its cells: a regular expression with one group, such as `^(\d{4})-01-01$`. */
  year_pattern: pattern.optional(),
  /**
   * A table with a column for each year: a regular expression at their headers with the group `year`, and `series` where
   * the header names the series too, such as `^(?<series>\w+)_(?<year>\d{4})$`. Headers that are years are found.
   */
  year_columns: pattern.optional(),
  /** Figures are written with a comma. Default: what the fields of the package say (`decimalChar`). */
  decimal_comma: z.boolean().optional(),
  /** The character set, where the package says none or another: `windows-1252`. Default: what it says, or UTF-8. */
  encoding: z.string().optional(),
  /** The separator, where the package says none or another. Default: what it says, or what the header shows. */
  delimiter: z.string().length(1).optional(),
  /** Lines above the header. Default: what the package says, or none. */
  skip_lines: z.int().min(0).optional(),
  /** The columns that are series. Default: all others that are not text. */
  values: z.array(z.string()).min(1).optional(),
  /** A column that says something of the figure, kept as its status. */
  status: z.string().optional(),
  /** A column that flags forecasts. */
  projected: z.string().optional(),
  /** A long table of several series: the columns with their code, and with their name and unit where there are any. */
  series: z
    .strictObject({ code: z.string(), name: z.string().optional(), unit: z.string().optional() })
    .optional(),
  /** Cells to take, by column: rows with others are of another part of the population. */
  pin: z
    .record(
      z.string(),
      z.union([z.string(), z.array(z.string())]).transform((one) => [one].flat()),
    )
    .default({}),
};

/** What holds of one table. */
export type TableSettings = z.infer<ReturnType<typeof z.strictObject<typeof tableSettings>>>;

const packageSettings = z.strictObject({
  ...tableSettings,
  /** The directory of the package, or its `datapackage.json`; or a CSV file that nothing describes. */
  path: z.string(),
  /** The table's file, where the package names it wrongly. */
  file: z.string().optional(),
  slug: z.string().optional(),
  tags: z.array(z.string()).default([]),
  /** What to leave out of the slugs of its columns, such as "(HYDE (2017))" in every one of them. */
  strip: pattern.optional(),
  /** By column. */
  columns: z.record(z.string(), columnSettings).default({}),
});
export type PackageSettings = z.infer<typeof packageSettings>;

/** A package of which nothing is said but where it is, or all that is said of one. */
export const toPackage = (one: string | PackageSettings): PackageSettings =>
  typeof one === 'string' ? packageSettings.parse({ path: one }) : one;

export const frictionlessSettings = z.strictObject({
  ...tableSettings,
  packages: z
    .array(z.union([z.string(), packageSettings]))
    .default(['datapackage.json'])
    .transform((all) => all.map(toPackage)),
  /** Many packages alike: `path` with `{name}`, once for each name. */
  each: z.strictObject({ path: z.string().includes('{name}'), names: z.array(z.string()).min(1) }).optional(),
  /** Dotted paths of the properties of a field that hold its unit and its display name. */
  field: z.strictObject({ unit: z.string().default('unit'), name: z.string().default('title') }).prefault({}),
  /** The package's properties with subject words. */
  tags: z.array(z.string()).default(['keywords']),
  /** Takes a unit from brackets at the end of a name: "Forest area (sq. km)". */
  unit_from_name: z.boolean().default(false),
  roles: rolePatterns.prefault({}),
  missing: z.array(z.string()).default([]),
  /** Whether an empty cell is a published gap (null) or no row at all. */
  empty: z.enum(['null', 'absent']).default('null'),
});
export type FrictionlessSettings = z.infer<typeof frictionlessSettings>;

/** What is said of one package wins over what is said of all; pins add up. */
export function tableSettingsOf(all: FrictionlessSettings, one: PackageSettings): TableSettings {
  const names = Object.keys(tableSettings) as (keyof TableSettings)[];
  const said = names.map((name) => [name, one[name] ?? all[name]]);
  return { ...Object.fromEntries(said), pin: { ...all.pin, ...one.pin } };
}

type Context = ConnectorContext<FrictionlessSettings>;

const NO_COLUMNS: WideSeries = { column: '', value: null, projected: null, ci_lo: null, ci_hi: null };

interface Found {
  settings: PackageSettings;
  directory: string;
  description: DataPackage;
  resource: PackageResource;
  /** What is said of the table for this package, or for all. */
  table: TableSettings;
}

interface Table {
  found: Found;
  place: string[];
  year: string;
  /** The columns that are series; a long table has one, of all its series. */
  series: WideSeries[];
  /** Of each series; a long table's are known once it is read. */
  entries: CatalogueEntry[];
  long: PackageSettings['series'];
  fields: readonly PackageField[];
  csv: CsvTable;
}

const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

function descriptorPath(path: string): string {
  if (path.endsWith('.json')) return path;
  return path === '' || path === '.' ? 'datapackage.json' : `${path.replace(/\/$/, '')}/datapackage.json`;
}

async function findPackage(context: Context, settings: PackageSettings): Promise<Found> {
  const { settings: all, upstream } = context;
  const isBare = isCsvPath(settings.path);
  const path = isBare ? settings.path : descriptorPath(settings.path);
  const description = isBare ? packageForCsv(path) : parsePackage(await upstream.text(encodePath(path)));
  const table = tableSettingsOf(all, settings);
  const resource = findResource(description, table.resource);
  return { settings, directory: path.slice(0, path.lastIndexOf('/') + 1), description, resource, table };
}

/** Opens the table: its columns by position where it has no header, and a row for each year where it has columns of years. */
async function openTable(
  { upstream }: Context,
  { settings, directory, resource, table }: Found,
): Promise<Pick<Table, 'csv' | 'fields' | 'long'>> {
  const files = settings.file === undefined ? resourcePaths(resource) : [settings.file];
  const paths = files.map((file) => encodePath(directory + file));
  const opened = await openCsv(concatenated(upstream, paths), csvOptions(resource, table));
  const said = resource.schema?.fields;
  const described = said ? { fields: said, table: opened } : await inferFields(opened);
  const isHeaderless = resource.dialect?.header === false;
  const header = isHeaderless ? described.fields.map((field) => field.name) : opened.header;
  const csv = { header, batches: described.table.batches };
  const hasYear = table.year !== undefined || findYearColumn(header, described.fields) !== undefined;
  const years = hasYear ? null : findYearColumns(header, table.year_columns);
  if (!years) return { csv, fields: described.fields, long: table.series };
  const ownFields = described.fields.filter((field) => years.columns.includes(field.name));
  const fields = [
    ...ownFields,
    { name: MELTED_COLUMNS.year, type: 'year' },
    { name: MELTED_COLUMNS.value, type: 'number' },
  ];
  const long = table.series ?? (years.hasSeries ? { code: MELTED_COLUMNS.series } : undefined);
  return { csv: meltYears(csv, years), fields, long };
}

async function planTable(context: Context, found: Found): Promise<Table> {
  const opened = await openTable(context, found);
  try {
    return { ...planSeries(context.settings, found, opened), ...opened, found };
  } catch (error) {
    // Nobody reads the table any more.
    for await (const _ of opened.csv.batches) break;
    throw error;
  }
}

function planSeries(
  all: FrictionlessSettings,
  found: Found,
  { fields, long }: Pick<Table, 'fields' | 'long'>,
): Pick<Table, 'place' | 'year' | 'series' | 'entries'> {
  const { settings, table } = found;
  const columns = fields.map((field) => field.name);
  const place = table.place ?? findPlaceColumns(columns);
  const year = table.year ?? requireYearColumn(columns, fields);
  const others = [table.status, table.projected, long?.code, long?.name, long?.unit];
  const keys = [...place, year, ...others.filter((one) => one !== undefined), ...Object.keys(table.pin)];
  const values = table.values ?? findValueColumns(columns, fields, keys);
  const wanted = values.filter((column) => !settings.columns[column]?.skip);
  const series = pairColumns(wanted, all.roles, new Map(Object.entries(settings.columns)));
  if (long && series.length !== 1) {
    throw new CsvError(`one column of figures is wanted; say which of: ${wanted.join(', ')}`);
  }
  const entries = long ? [] : series.map((one) => entryOf(all, found, one, series.length === 1));
  return { place, year, series, entries };
}

function stripped(found: Found, column: string): string {
  const { strip } = found.settings;
  return strip === undefined ? column : column.replace(new RegExp(strip, 'iu'), '').trim() || column;
}

function nameOf(
  all: FrictionlessSettings,
  found: Found,
  field: PackageField | undefined,
  column: string,
): string {
  const title = found.description.title ?? found.description.name;
  const said = fieldProperty(field, all.field.name) ?? field?.title;
  return plainText(said ?? (GENERIC_VALUE_NAME.test(column) ? title : column)) ?? column;
}

function slugFor(found: Found, one: WideSeries, alone: boolean): string {
  const { settings, description, directory } = found;
  const base =
    settings.slug ?? codeToSlug(description.name ?? directory.replace(/\/$/, '').split('/').at(-1) ?? '');
  return (
    settings.columns[one.column]?.slug ?? (alone ? base : `${base}-${toSlug(stripped(found, one.column))}`)
  );
}

function tagsOf(all: FrictionlessSettings, found: Found): string[] {
  const said = all.tags.flatMap((property) => found.description[property] ?? []);
  const words = said.filter((tag) => typeof tag === 'string').map((tag) => tag.trim());
  return [...new Set([...found.settings.tags, ...words])];
}

function entryOf(all: FrictionlessSettings, found: Found, one: WideSeries, alone: boolean): CatalogueEntry {
  const { description, settings } = found;
  const field = found.resource.schema?.fields.find((candidate) => candidate.name === one.column);
  const own = settings.columns[one.column];
  const name = own?.name ?? nameOf(all, found, field, one.column);
  const source = description.sources?.[0];
  const bracket = all.unit_from_name ? /\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*$/.exec(name)?.[1] : undefined;
  const licences = (description.licenses ?? []).map((licence) => licence.name ?? licence.title);
  return {
    slug: slugFor(found, one, alone),
    name,
    description: own?.description ?? plainText(field?.description || description.description),
    unit: own?.unit ?? plainText(fieldProperty(field, all.field.unit) ?? bracket),
    source: plainText(source?.title ?? source?.name),
    source_url: source?.path ?? source?.link ?? description.homepage ?? null,
    tags: tagsOf(all, found),
    licence: licences.filter((licence) => licence).join('; ') || null,
  };
}

/** A series that only the table's rows name. */
function longEntryOf(all: FrictionlessSettings, found: Found, series: LongSeries): CatalogueEntry {
  const { description, source, source_url, tags, licence } = entryOf(all, found, NO_COLUMNS, true);
  const name = plainText(series.name) ?? series.code;
  const unit = plainText(series.unit);
  return { slug: codeToSlug(series.code), name, description, unit, source, source_url, tags, licence };
}

async function* concatenated(upstream: Upstream, paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) yield* await upstream.stream(path);
}

/** Columns by name: a schema and a file that disagree fail. */
async function* readTable(context: Context, table: Table): AsyncGenerator<SourceItem, void, undefined> {
  const { settings: all, signal } = context;
  const { found, series, place, year, fields, csv: csvTable } = table;
  const { resource, table: settings } = found;
  const said = (resource.schema?.missingValues ?? []).map((missing) =>
    typeof missing === 'object' && missing !== null && 'value' in missing
      ? String(missing.value)
      : String(missing),
  );
  const options = {
    place,
    year,
    yearPattern: settings.year_pattern,
    status: settings.status,
    projectedFlag: settings.projected,
    pin: settings.pin,
    missing: [...all.missing, ...said],
    empty: all.empty,
    number: createNumberNormalizer(fields, settings.decimal_comma),
    signal,
  };
  const [only] = series;
  const parts =
    table.long && only
      ? readLong(all, found, readLongTable(csvTable, { ...options, ...table.long, columns: only }))
      : readWide(table.entries, readWideTable(csvTable, { ...options, series }));
  let announced: CatalogueEntry | null = null;
  for await (const { entry, rows } of parts) {
    if (entry !== announced) yield { kind: 'indicator', entry };
    announced = entry;
    yield { kind: 'observations', slug: entry.slug, rows };
  }
}

interface Part {
  entry: CatalogueEntry;
  rows: RawObservation[];
}

async function* readWide(
  entries: readonly CatalogueEntry[],
  parts: AsyncIterable<{ series: number; rows: RawObservation[] }>,
): AsyncGenerator<Part, void, undefined> {
  for await (const { series, rows } of parts) {
    const entry = entries[series];
    if (entry) yield { entry, rows };
  }
}

async function* readLong(
  all: FrictionlessSettings,
  found: Found,
  parts: AsyncIterable<{ series: LongSeries; rows: RawObservation[] }>,
): AsyncGenerator<Part, void, undefined> {
  const entries = new Map<LongSeries, CatalogueEntry>();
  for await (const { series, rows } of parts) {
    const entry = entries.get(series) ?? longEntryOf(all, found, series);
    entries.set(series, entry);
    yield { entry, rows };
  }
}

const packageSlug = (settings: PackageSettings): string =>
  settings.slug ??
  codeToSlug(
    settings.path
      .replace(/\/?(datapackage\.json)?$/, '')
      .split('/')
      .at(-1) || 'datapackage',
  );

export const frictionless: Connector<FrictionlessSettings> = {
  protocol: 'frictionless',
  settings: frictionlessSettings,
  async *read(context) {
    const { each, packages } = context.settings;
    const named = each?.names.map((name) => toPackage(each.path.replaceAll('{name}', name)));
    const parts = named ?? packages;
    if (named) yield { kind: 'plan', indicators: named.length };
    let vintage: string | null = null;
    yield* readParts(context, parts, {
      slug: packageSlug,
      open: async (settings) => planTable(context, await findPackage(context, settings)),
      slugs: ({ entries, found }) =>
        entries.length > 0 ? entries.map((entry) => entry.slug) : [packageSlug(found.settings)],
      read: (table) => {
        vintage = String(table.found.description.version ?? '') || null;
        return readTable(context, table);
      },
    });
    if (parts.length === 1 && vintage) yield { kind: 'vintage', vintage };
  },
};
