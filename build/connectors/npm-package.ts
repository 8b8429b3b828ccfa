/**
 * Figures in npm packages: the sample of a first start, offline.
 *
 * A definition names a package and tables in it: JSON, CSV, or an ES module that exports its data. Rows are objects, or
 * a map from place to row. Files are small and read whole. A module is evaluated from its text and can import nothing.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { encodePath, isNotFound, type Upstream } from '../upstream/upstream.ts';
import type { Connector, ConnectorContext, RawObservation } from './connector.ts';
import { readCsvRecords } from './csv.ts';

const tableSettings = z.strictObject({
  /** Path within the package. */
  file: z.string(),
  format: z.enum(['json', 'csv', 'module']),
  /** Dotted path to the rows: an export of a module, a member of JSON. Default: the whole file. */
  rows: z.string().optional(),
  /** Dotted path to the year within a row, or one year for the whole table. */
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

interface Row {
  /** The key in a map, the index in a list. */
  key: string;
  content: unknown;
  year: number | string;
}

/** The package differs from its definition. */
class PackageLayoutError extends Error {
  override name = 'PackageLayoutError';
}

/** The member at a dotted path; the value itself without one. */
function getMember(value: unknown, path: string | undefined): unknown {
  if (path === undefined) return value;
  return path.split('.').reduce<unknown>((inner, name) => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return undefined;
    return (inner as Record<string, unknown>)[name];
  }, value);
}

async function readContent(
  upstream: Upstream,
  reference: string,
  format: TableSettings['format'],
): Promise<unknown> {
  if (format === 'csv') {
    const rows: Record<string, string>[] = [];
    for await (const row of readCsvRecords(await upstream.stream(reference))) rows.push(row);
    return rows;
  }
  const text = await upstream.text(reference);
  if (format === 'json') return JSON.parse(text);
  const module: unknown = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
  return { ...(module as object) };
}

async function readTable(context: ConnectorContext<PackageSettings>, table: TableSettings): Promise<Row[]> {
  const { settings, upstream } = context;
  const path = `${settings.package}/${table.file}`;
  const rows = getMember(await readContent(upstream, encodePath(path), table.format), table.rows);
  if (typeof rows !== 'object' || rows === null || Array.isArray(rows) === (settings.shape === 'map')) {
    throw new PackageLayoutError(`${path} holds no ${settings.shape} at "${table.rows ?? ''}"`);
  }
  const { year } = table;
  return Object.entries(rows).map(([key, content]) => ({
    key,
    content,
    year: typeof year === 'string' ? (toFigure(getMember(content, year)) ?? '') : year.fixed,
  }));
}

/** A number or text as the package has it; anything else becomes text, which ingestion rejects. */
function toFigure(value: unknown): number | string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'number' ? value : String(value);
}

function toObservations(
  rows: readonly Row[],
  settings: PackageSettings,
  column: string | undefined,
): RawObservation[] {
  return rows.map(({ key, content, year }) => ({
    place: settings.place === undefined ? key : String(getMember(content, settings.place) ?? ''),
    year,
    value: toFigure(getMember(content, column)),
  }));
}

const packageJson = z.looseObject({ version: z.string() });

/** @throws {PackageLayoutError} when the package is not installed; a production installation omits some. */
async function readVersion(upstream: Upstream, name: string): Promise<string> {
  try {
    return packageJson.parse(JSON.parse(await upstream.text(encodePath(`${name}/package.json`)))).version;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const remedy = 'npm install --include=dev installs everything the sample needs';
    throw new PackageLayoutError(`the npm package ${name} is not installed: ${remedy}`, { cause: error });
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
    for (const [slug, { column, ...words }] of Object.entries(settings.values)) {
      const entry: CatalogueEntry = { slug, ...words, source: null, source_url: null, licence: null };
      yield { kind: 'indicator', entry };
      yield { kind: 'observations', slug, rows: toObservations(rows, settings, column) };
    }
  },
};
