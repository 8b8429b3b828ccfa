/**
 * Figures that ship inside npm packages: the sample of a first start, offline.
 *
 * A definition names a package and tables in it: JSON, CSV, or an ES module that exports its data. Rows are objects, or
 * a map from place to row. Such files are small and are read whole. References are paths below the folder that packages
 * are installed in; a module is evaluated from its text and can import nothing.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Connector, ConnectorContext, RawObservation } from './connector.ts';
import { openCsv } from './csv.ts';
import { isNotFound } from './json-body.ts';

const tableSettings = z.strictObject({
  /** Path within the package. */
  file: z.string(),
  format: z.enum(['json', 'csv', 'module']),
  /** Dotted path to the rows: an export of a module, a member of JSON. Default: the whole. */
  rows: z.string().optional(),
  /** Dotted path to the year within a row, or the one year of the whole table. */
  year: z.union([z.string(), z.strictObject({ fixed: z.int() })]),
});

const valueSettings = z.strictObject({
  /** Dotted path to the figure within a row. Default: the row itself is the figure. */
  column: z.string().optional(),
  name: z.string(),
  unit: z.string().nullable().default(null),
  description: z.string().nullable().default(null),
  tags: z.array(z.string()).default([]),
});

export const packageSettings = z.strictObject({
  package: z.string().regex(/^(@[a-z0-9._-]+\/)?[a-z0-9._-]+$/, 'the name of an npm package'),
  tables: z.array(tableSettings).min(1),
  /** `map`: the rows are the members of an object, by place. */
  shape: z.enum(['rows', 'map']).default('rows'),
  /** Dotted path to the place within a row. Default, in a map: its key. */
  place: z.string().optional(),
  /** The series by slug. */
  values: z.record(z.string(), valueSettings),
});
export type PackageSettings = z.infer<typeof packageSettings>;
type TableSettings = PackageSettings['tables'][number];

/** One row with what a map says of it. */
interface Row {
  key: string;
  content: unknown;
  year: number | string;
}

/** The package has another content than its definition says. */
export class PackageLayoutError extends Error {
  override name = 'PackageLayoutError';
}

function member(value: unknown, path: string | undefined): unknown {
  if (path === undefined) return value;
  return path.split('.').reduce<unknown>((inner, name) => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return undefined;
    return (inner as Record<string, unknown>)[name];
  }, value);
}

const referenceOf = (name: string, file: string): string =>
  `${name}/${file}`.split('/').map(encodeURIComponent).join('/');

async function readCsv(upstream: Upstream, reference: string): Promise<Record<string, string>[]> {
  const { header, batches } = await openCsv(await upstream.stream(reference));
  const rows: Record<string, string>[] = [];
  for await (const batch of batches) {
    for (const cells of batch) {
      rows.push(Object.fromEntries(header.map((name, index) => [name, cells[index] ?? ''])));
    }
  }
  return rows;
}

async function readContent(
  upstream: Upstream,
  reference: string,
  format: TableSettings['format'],
): Promise<unknown> {
  if (format === 'csv') return readCsv(upstream, reference);
  const text = await upstream.text(reference);
  if (format === 'json') return JSON.parse(text);
  const module: unknown = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
  return { ...(module as object) };
}

async function readTable(context: ConnectorContext<PackageSettings>, table: TableSettings): Promise<Row[]> {
  const { settings, upstream } = context;
  const content = await readContent(upstream, referenceOf(settings.package, table.file), table.format);
  const rows = member(content, table.rows);
  if (typeof rows !== 'object' || rows === null || Array.isArray(rows) === (settings.shape === 'map')) {
    throw new PackageLayoutError(
      `${settings.package}/${table.file} holds no ${settings.shape} at "${table.rows ?? ''}"`,
    );
  }
  const { year } = table;
  return Object.entries(rows).map(([key, one]) => ({
    key,
    content: one,
    year: typeof year === 'string' ? asYear(member(one, year)) : year.fixed,
  }));
}

const asYear = (value: unknown): number | string => (typeof value === 'number' ? value : String(value ?? ''));

/** A figure as the package has it; what is neither number nor text is no figure and is refused as such later. */
function asFigure(value: unknown): number | string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'number' ? value : String(value);
}

function observations(
  rows: readonly Row[],
  settings: PackageSettings,
  column: string | undefined,
): RawObservation[] {
  return rows.map(({ key, content, year }) => ({
    place: settings.place === undefined ? key : String(member(content, settings.place) ?? ''),
    year,
    value: asFigure(member(content, column)),
  }));
}

const versionOf = z.looseObject({ version: z.string() });

/** @throws {PackageLayoutError} when the package is not there: an installation for production leaves some out. */
async function readVersion(upstream: Upstream, name: string): Promise<string> {
  try {
    const description = await upstream.text(referenceOf(name, 'package.json'));
    return versionOf.parse(JSON.parse(description)).version;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const cure = 'npm install --include=dev installs all that the sample is made of';
    throw new PackageLayoutError(`the npm package ${name} is not installed: ${cure}`, { cause: error });
  }
}

export const npmPackage: Connector<PackageSettings> = {
  protocol: 'package',
  settings: packageSettings,
  async *read(context) {
    const { settings, upstream } = context;
    const version = await readVersion(upstream, settings.package);
    yield { kind: 'vintage', vintage: `${settings.package} ${version}` };
    yield { kind: 'plan', indicators: Object.keys(settings.values).length };
    const rows: Row[] = [];
    for (const table of settings.tables) {
      context.signal.throwIfAborted();
      rows.push(...(await readTable(context, table)));
    }
    for (const [slug, { column, name, unit, description: text, tags }] of Object.entries(settings.values)) {
      const entry: CatalogueEntry = {
        slug,
        name,
        description: text,
        unit,
        source: null,
        source_url: null,
        tags,
        licence: null,
      };
      yield { kind: 'indicator', entry };
      yield { kind: 'observations', slug, rows: observations(rows, settings, column) };
    }
  },
};
