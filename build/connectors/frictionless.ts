/**
 * Frictionless data packages: a `datapackage.json` that describes CSV tables.
 *
 * A package may hold one series (a long table with a value column) or several (a column each); a provider may be one
 * package or hundreds, a directory each. The least a definition must say is where the package is: place, year and value
 * columns are found by their names and types, bounds and forecasts by `column-roles.ts`. Tables are streamed. A package
 * that cannot be read fails alone; the provider fails when none can.
 *
 * Slugs: a package with one series is that series, under the package's name; of several, each is `<package>-<column>`.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { columnPartners, pairColumns, pattern, rolePatterns, type WideSeries } from './column-roles.ts';
import type { Connector, ConnectorContext, SourceItem, Upstream } from './connector.ts';
import { CsvError, openCsv } from './csv-rows.ts';
import {
  csvOptionsOf,
  type DataPackage,
  numberReader,
  type PackageField,
  type PackageResource,
  parsePackage,
  pathsOf,
  propertyOf,
  resourceOf,
} from './frictionless-package.ts';
import { plainText, slugOf, slugOfCode } from './plain-text.ts';
import { readParts } from './provider-parts.ts';
import { BARE_VALUE, placeColumns, valueColumns, yearColumn } from './table-columns.ts';
import { readWideTable } from './wide-table.ts';

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
  /** The columns that are series. Default: all others that are not text. */
  values: z.array(z.string()).min(1).optional(),
  /** A column that says something of the figure, kept as its status. */
  status: z.string().optional(),
  /** A column that flags forecasts. */
  projected: z.string().optional(),
};

const packageSettings = z.strictObject({
  ...tableSettings,
  /** The directory of the package, or its `datapackage.json`. */
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
type PackageSettings = z.infer<typeof packageSettings>;

const toPackage = (one: string | PackageSettings): PackageSettings =>
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
type Context = ConnectorContext<FrictionlessSettings>;

interface Found {
  settings: PackageSettings;
  directory: string;
  description: DataPackage;
  resource: PackageResource;
}

interface Table {
  found: Found;
  place: string[];
  year: string;
  series: WideSeries[];
  entries: CatalogueEntry[];
}

const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

function descriptorPath(path: string): string {
  if (path.endsWith('.json')) return path;
  return path === '' || path === '.' ? 'datapackage.json' : `${path.replace(/\/$/, '')}/datapackage.json`;
}

async function findPackage(context: Context, settings: PackageSettings): Promise<Found> {
  const path = descriptorPath(settings.path);
  const description = parsePackage(await context.upstream.text(encodePath(path)));
  const resource = resourceOf(description, settings.resource ?? context.settings.resource);
  return { settings, directory: path.slice(0, path.lastIndexOf('/') + 1), description, resource };
}

function planTable(context: Context, found: Found): Table {
  const { settings: all } = context;
  const { settings, resource } = found;
  const fields = resource.schema?.fields;
  if (!fields) throw new CsvError('the resource has no schema with fields');
  const columns = fields.map((field) => field.name);
  const place = settings.place ?? all.place ?? placeColumns(columns);
  const year = settings.year ?? all.year ?? yearColumn(columns, fields);
  const flags = [settings.status ?? all.status, settings.projected ?? all.projected];
  const keys = [...place, year, ...flags.filter((one) => one !== undefined)];
  const values = settings.values ?? all.values ?? valueColumns(columns, fields, keys);
  const wanted = values.filter((column) => !settings.columns[column]?.skip);
  const series = pairColumns(wanted, all.roles, new Map(Object.entries(settings.columns)));
  const entries = series.map((one) => entryOf(all, found, one, series.length === 1));
  return { found, place, year, series, entries };
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
  const said = propertyOf(field, all.field.name) ?? field?.title;
  return plainText(said ?? (BARE_VALUE.test(column) ? title : column)) ?? column;
}

function slugFor(found: Found, one: WideSeries, alone: boolean): string {
  const { settings, description, directory } = found;
  const base =
    settings.slug ?? slugOfCode(description.name ?? directory.replace(/\/$/, '').split('/').at(-1) ?? '');
  return (
    settings.columns[one.column]?.slug ?? (alone ? base : `${base}-${slugOf(stripped(found, one.column))}`)
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
    unit: own?.unit ?? plainText(propertyOf(field, all.field.unit) ?? bracket),
    source: plainText(source?.title ?? source?.name),
    source_url: source?.path ?? source?.link ?? description.homepage ?? null,
    tags: tagsOf(all, found),
    licence: licences.filter((licence) => licence).join('; ') || null,
  };
}

async function* concatenated(upstream: Upstream, paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) yield* await upstream.stream(path);
}

/** Columns by position where the file has no header, otherwise by name: a schema and a file that disagree fail. */
async function* readTable(context: Context, table: Table): AsyncGenerator<SourceItem, void, undefined> {
  const { settings: all, upstream, signal } = context;
  const { found, series, place, year } = table;
  const { resource, settings } = found;
  const files = settings.file === undefined ? pathsOf(resource) : [settings.file];
  const paths = files.map((file) => encodePath(found.directory + file));
  const csv = await openCsv(concatenated(upstream, paths), csvOptionsOf(resource));
  const fields = resource.schema?.fields ?? [];
  const header = resource.dialect?.header === false ? fields.map((field) => field.name) : csv.header;
  const said = (resource.schema?.missingValues ?? []).map((missing) =>
    typeof missing === 'object' && missing !== null && 'value' in missing
      ? String(missing.value)
      : String(missing),
  );
  const options = {
    place,
    year,
    series,
    status: settings.status ?? all.status,
    projectedFlag: settings.projected ?? all.projected,
    missing: [...all.missing, ...said],
    empty: all.empty,
    number: numberReader(fields),
    signal,
  };
  let announced = -1;
  for await (const { series: index, rows } of readWideTable({ header, batches: csv.batches }, options)) {
    const entry = table.entries[index];
    if (!entry) continue;
    if (index !== announced) yield { kind: 'indicator', entry };
    announced = index;
    yield { kind: 'observations', slug: entry.slug, rows };
  }
}

const packageSlug = (settings: PackageSettings): string =>
  settings.slug ??
  slugOfCode(
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
      slugs: (table) => table.entries.map((entry) => entry.slug),
      read: (table) => {
        vintage = String(table.found.description.version ?? '') || null;
        return readTable(context, table);
      },
    });
    if (parts.length === 1 && vintage) yield { kind: 'vintage', vintage };
  },
};
