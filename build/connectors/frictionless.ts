/**
 * Frictionless data packages: a `datapackage.json` that describes CSV tables, or a CSV file alone.
 *
 * A package holds one series or several; a provider is one package or hundreds. A definition must at least say where the
 * package is: columns are found by name and type (`table-columns.ts`). Tables are streamed. An unreadable package fails
 * alone; the provider fails when none is readable.
 *
 * Slugs: the series of a long table have their codes; a single series has the name of its package; each of several is
 * `<package>-<column>`.
 */
import { z } from 'zod';
import { regexSource } from '../../data/schema/curated.ts';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { encodePath, type Upstream } from '../upstream/upstream.ts';
import {
  type Connector,
  type ConnectorContext,
  listOf,
  readJsonAs,
  readParts,
  textList,
} from './connector.ts';
import { CsvError, type CsvTable, openCsv } from './csv.ts';
import {
  createNumberNormalizer,
  csvOptions,
  type DataPackage,
  dataPackage,
  fieldProperty,
  findResource,
  inferFields,
  isCsvPath,
  namedSource,
  type PackageField,
  type PackageResource,
  packageForCsv,
  resourcePaths,
} from './frictionless-package.ts';
import { codeToSlug, plainText, sourceFields, toSlug } from './plain-text.ts';
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
  requireYearColumn,
} from './table-columns.ts';
import { emptyCells, type LongSeries, readLongTable, readWideTable, toSourceItems } from './table-reader.ts';

const columnSettings = columnPartners.extend({
  slug: z.string().optional(),
  name: z.string().optional(),
  unit: z.string().optional(),
  description: z.string().optional(),
  skip: z.boolean().default(false),
});

/** Settings for all packages, or for one. */
const tableSettings = {
  /** Which resource; default: the first that is CSV. */
  resource: z.string().optional(),
  /** Columns with the place, best first; an empty cell falls through to the next. Default: found by name. */
  place: z.array(z.string()).min(1).optional(),
  /** Default: the field of type `year`, or found by name. */
  year: z.string().optional(),
  /** Extracts the year from its cells: a regular expression with one group, such as `^(\d{4})-01-01$`. */
  year_pattern: regexSource.optional(),
  /**
   * The headers of a table with a column per year: a regular expression with the group `year`, and `series` where the
   * header names the series too, such as `^(?<series>\w+)_(?<year>\d{4})$`. Default: headers that are years.
   */
  year_columns: regexSource.optional(),
  /** Figures have a decimal comma. Default: `decimalChar` of the package's fields. */
  decimal_comma: z.boolean().optional(),
  /** The character set, such as `windows-1252`. Default: the package's, or UTF-8. */
  encoding: z.string().optional(),
  /** Default: the package's, or detected in the header. */
  delimiter: z.string().length(1).optional(),
  /** Lines above the header. Default: the package's, or none. */
  skip_lines: z.int().min(0).optional(),
  /** The columns that are series. Default: all others that are not text. */
  values: z.array(z.string()).min(1).optional(),
  /** The column with the status. */
  status: z.string().optional(),
  /** The column that flags forecasts. */
  projected: z.string().optional(),
  /** A long table with several series: the columns with their code, name and unit. */
  series: z
    .strictObject({ code: z.string(), name: z.string().optional(), unit: z.string().optional() })
    .optional(),
  /** Accepted cells by column: rows with others are for another part of the population. */
  pin: z.record(z.string(), textList).default({}),
};

const packageSettings = z.strictObject({
  ...tableSettings,
  /** The directory of the package, its `datapackage.json`, or a CSV file without a package. */
  path: z.string(),
  /** The table's file, where the package names it wrongly. */
  file: z.string().optional(),
  slug: z.string().optional(),
  tags: z.array(z.string()).default([]),
  /** A pattern to remove from the slugs of the columns, such as "(HYDE (2017))". */
  strip: regexSource.optional(),
  /** By column. */
  columns: z.record(z.string(), columnSettings).default({}),
});
type PackageSettings = z.infer<typeof packageSettings>;

const packageAt = (path: string): PackageSettings => packageSettings.parse({ path });

const frictionlessSettings = z.strictObject({
  ...tableSettings,
  packages: listOf(packageSettings, 'path').default(() => [packageAt('datapackage.json')]),
  /** Many similar packages: `path` with `{name}`, once for each name. */
  each: z.strictObject({ path: z.string().includes('{name}'), names: z.array(z.string()).min(1) }).optional(),
  /** Dotted paths of the field properties with the unit and the display name. */
  field: z.strictObject({ unit: z.string().default('unit'), name: z.string().default('title') }).prefault({}),
  /** The package properties with subject words. */
  tags: z.array(z.string()).default(['keywords']),
  /** Takes the unit from brackets at the end of a name: "Forest area (sq. km)". */
  unit_from_name: z.boolean().default(false),
  missing: z.array(z.string()).default([]),
  /** What an empty cell means. */
  empty: emptyCells.default('layout'),
});
type FrictionlessSettings = z.infer<typeof frictionlessSettings>;
type Context = ConnectorContext<FrictionlessSettings>;

interface FoundPackage {
  settings: PackageSettings;
  directory: string;
  /** The reference of its `datapackage.json`; null for a CSV file alone. */
  descriptor: string | null;
  description: DataPackage;
  resource: PackageResource;
}

interface OpenTable {
  csv: CsvTable;
  fields: readonly PackageField[];
  /** Set for a long table. */
  long: PackageSettings['series'];
  /** Whether the table had a column per year. */
  isMelted: boolean;
}

function descriptorPath(path: string): string {
  if (path.endsWith('.json')) return path;
  return path === '' || path === '.' ? 'datapackage.json' : `${path.replace(/\/$/, '')}/datapackage.json`;
}

/** Finds the table of a package. Its settings win over those of all; pins add up. */
async function findPackage(
  { settings: all, upstream }: Context,
  own: PackageSettings,
): Promise<FoundPackage> {
  const settings = { ...all, ...own, pin: { ...all.pin, ...own.pin } };
  const isCsv = isCsvPath(own.path);
  const path = isCsv ? own.path : descriptorPath(own.path);
  const descriptor = isCsv ? null : encodePath(path);
  const description =
    descriptor === null ? packageForCsv(path) : await readJsonAs(upstream, descriptor, dataPackage);
  const resource = findResource(description, settings.resource);
  const directory = path.slice(0, path.lastIndexOf('/') + 1);
  return { settings, directory, descriptor, description, resource };
}

/** References of the files of the table, one after the other. */
function tableFiles({ settings, directory, resource }: FoundPackage): string[] {
  const paths = settings.file === undefined ? resourcePaths(resource) : [settings.file];
  return paths.map((path) => encodePath(directory + path));
}

async function* concatenate(upstream: Upstream, files: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const file of files) yield* await upstream.stream(file);
}

/** Opens the table, names its columns where it has no header, and melts a table with a column per year. */
async function openTable({ upstream }: Context, found: FoundPackage): Promise<OpenTable> {
  const { resource, settings } = found;
  const bytes = concatenate(upstream, tableFiles(found));
  const opened = await openCsv(bytes, csvOptions(resource, settings));
  const stated = resource.schema?.fields;
  const described = stated ? { fields: stated, table: opened } : await inferFields(opened);
  const hasHeader = resource.dialect?.header !== false;
  const header = hasHeader ? opened.header : described.fields.map((field) => field.name);
  const csv = { header, batches: described.table.batches };
  const hasYear = settings.year !== undefined || findYearColumn(described.fields, header) !== undefined;
  const years = hasYear ? null : findYearColumns(header, settings.year_columns);
  if (!years) return { csv, fields: described.fields, long: settings.series, isMelted: false };
  const fields = [
    ...described.fields.filter((field) => years.columns.includes(field.name)),
    { name: MELTED_COLUMNS.year, type: 'year' },
    { name: MELTED_COLUMNS.value, type: 'number' },
  ];
  const long = settings.series ?? (years.hasSeries ? { code: MELTED_COLUMNS.series } : undefined);
  return { csv: meltYears(csv, years), fields, long, isMelted: true };
}

async function openPackage(context: Context, found: FoundPackage) {
  const opened = await openTable(context, found);
  try {
    return planTable(context, found, opened);
  } catch (error) {
    // Closes the file, which will not be read.
    for await (const _ of opened.csv.batches) break;
    throw error;
  }
}

/** The series of a table. Columns are resolved by name, so a file that contradicts its schema fails. */
function planTable(
  { settings: all, signal }: Context,
  found: FoundPackage,
  { csv, fields, long, isMelted }: OpenTable,
) {
  const { settings, resource } = found;
  const names = fields.map((field) => field.name);
  const place = settings.place ?? findPlaceColumns(names);
  const year = settings.year ?? requireYearColumn(fields);
  const others = [settings.status, settings.projected, long?.code, long?.name, long?.unit];
  const keys = [...place, year, ...others.filter((one) => one !== undefined), ...Object.keys(settings.pin)];
  const figures = findValueColumns(fields, keys);
  const values = settings.values ?? figures;
  if (values.length === 0) throw new CsvError(`no value column found; say which of: ${names.join(', ')}`);
  const wanted = values.filter((column) => !settings.columns[column]?.skip);
  const series = pairColumns(wanted, settings.columns);
  const [only] = series;
  // Columns that the definition leaves out are cells of the row, too.
  const cells = pairColumns([...new Set([...values, ...figures])], settings.columns);
  const missing = (resource.schema?.missingValues ?? []).map((one) =>
    String(typeof one === 'object' && one !== null && 'value' in one ? one.value : one),
  );
  const options = {
    place,
    year,
    yearPattern: settings.year_pattern,
    status: settings.status,
    projectedFlag: settings.projected,
    pin: settings.pin,
    missing: [...all.missing, ...missing],
    empty: all.empty,
    isWide: isMelted || (!long && cells.length > 1),
    number: createNumberNormalizer(fields, settings.decimal_comma),
    signal,
  };
  // The package says how cells are read: columns, separators, decimal signs, missing values.
  const files = [found.descriptor ?? [], tableFiles(found)].flat();
  if (!long) {
    const entries = series.map(({ column }) => buildEntry(all, found, column, series.length === 1));
    const rows = readWideTable(csv, series, options);
    const items = toSourceItems(rows, (index) => entries[index], files);
    return { slugs: entries.map((entry) => entry.slug), items };
  }
  if (!only || series.length > 1) {
    throw new CsvError(`one column of figures is wanted; say which of: ${wanted.join(', ')}`);
  }
  const rows = readLongTable(csv, only, long, options);
  return { items: toSourceItems(rows, (one) => buildLongEntry(all, found, one), files) };
}

function findName(
  all: FrictionlessSettings,
  { description }: FoundPackage,
  field: PackageField | undefined,
  column: string,
): string {
  const stated = fieldProperty(field, all.field.name) ?? field?.title;
  const fallback = GENERIC_VALUE_NAME.test(column) ? (description.title ?? description.name) : column;
  return plainText(stated ?? fallback) ?? column;
}

function buildSlug(
  { settings, description, directory }: FoundPackage,
  column: string,
  isOnly: boolean,
): string {
  const own = settings.columns[column]?.slug;
  if (own !== undefined) return own;
  const base =
    settings.slug ?? codeToSlug(description.name ?? directory.replace(/\/$/, '').split('/').at(-1) ?? '');
  if (isOnly) return base;
  const { strip } = settings;
  const stripped = strip === undefined ? column : column.replace(new RegExp(strip, 'iu'), '').trim();
  return `${base}-${toSlug(stripped || column)}`;
}

function findTags(all: FrictionlessSettings, { settings, description }: FoundPackage): string[] {
  const stated = all.tags.flatMap((property) => description[property] ?? []);
  const words = stated.filter((tag) => typeof tag === 'string').map((tag) => tag.trim());
  return [...new Set([...settings.tags, ...words])];
}

function buildEntry(
  all: FrictionlessSettings,
  found: FoundPackage,
  column: string,
  isOnly: boolean,
): CatalogueEntry {
  const { description, settings } = found;
  const field = found.resource.schema?.fields.find((candidate) => candidate.name === column);
  const own = settings.columns[column];
  const name = own?.name ?? findName(all, found, field, column);
  const sources = [...(found.resource.sources ?? []), ...(description.sources ?? [])];
  const bracket = all.unit_from_name ? /\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*$/.exec(name)?.[1] : undefined;
  const licences = (description.licenses ?? []).map((licence) => licence.name ?? licence.title);
  return {
    slug: buildSlug(found, column, isOnly),
    name,
    description: own?.description ?? plainText(field?.description || description.description),
    unit: own?.unit ?? plainText(fieldProperty(field, all.field.unit) ?? bracket),
    ...sourceFields(sources.map((source) => namedSource(source, description.homepage ?? null))),
    tags: findTags(all, found),
    licence: licences.filter((licence) => licence).join('; ') || null,
  };
}

/** The entry of a series that only the rows of a long table name. */
function buildLongEntry(all: FrictionlessSettings, found: FoundPackage, series: LongSeries): CatalogueEntry {
  return {
    ...buildEntry(all, found, '', true),
    slug: codeToSlug(series.code),
    name: plainText(series.name) ?? series.code,
    unit: plainText(series.unit),
  };
}

function packageSlug({ slug, path }: PackageSettings): string {
  const directory = path.replace(/\/?(datapackage\.json)?$/, '');
  return slug ?? codeToSlug(directory.split('/').at(-1) || 'datapackage');
}

export const frictionless: Connector<FrictionlessSettings> = {
  protocol: 'frictionless',
  settings: frictionlessSettings,
  async *read(context) {
    const { each, packages } = context.settings;
    const named = each?.names.map((name) => packageAt(each.path.replaceAll('{name}', name)));
    const parts = named ?? packages;
    if (named) yield { kind: 'plan', indicators: named.length };
    let vintage: string | null = null;
    yield* readParts(context, parts, packageSlug, async (settings) => {
      const found = await findPackage(context, settings);
      vintage = String(found.description.version ?? '') || null;
      return openPackage(context, found);
    });
    if (parts.length === 1 && vintage) yield { kind: 'vintage', vintage };
  },
};
