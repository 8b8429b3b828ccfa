/**
 * The Frictionless `datapackage.json` (Data Package v1 and v2): how a table is read, and what the catalogue says of it.
 *
 * Unknown properties are kept: providers put units and names into properties of their own, which a definition can refer
 * to (`field.unit`, `field.name`). A CSV file without a package gets a description derived from its first rows.
 */
import { z } from 'zod';
import type { NamedSource } from '../../data/schema/lake.ts';
import { CsvError, type CsvOptions, type CsvTable, prepend } from './csv.ts';
import { plainText } from './plain-text.ts';

const text = z.string().nullish();

const packageField = z.looseObject({
  name: z.string(),
  type: text,
  title: text,
  description: text,
  unit: text,
  decimalChar: text,
  groupChar: text,
});
export type PackageField = z.infer<typeof packageField>;

const dialect = z.looseObject({
  delimiter: text,
  quoteChar: text,
  escapeChar: text,
  commentChar: text,
  skipInitialSpace: z.boolean().nullish(),
  header: z.boolean().nullish(),
  headerRows: z.array(z.int()).nullish(),
});

const packageSource = z.looseObject({
  title: text,
  name: text,
  path: text,
  link: text,
  dataPublishedBy: text,
});
export type PackageSource = z.infer<typeof packageSource>;
const packageSources = z.array(packageSource).nullish();

const packageResource = z.looseObject({
  name: text,
  title: text,
  description: text,
  path: z.union([z.string(), z.array(z.string())]).nullish(),
  format: text,
  mediatype: text,
  encoding: text,
  sources: packageSources,
  dialect: dialect.nullish(),
  schema: z
    .looseObject({ fields: z.array(packageField), missingValues: z.array(z.unknown()).nullish() })
    .nullish(),
});
export type PackageResource = z.infer<typeof packageResource>;

export const dataPackage = z.looseObject({
  name: text,
  title: text,
  description: text,
  version: z.union([z.string(), z.number()]).nullish(),
  homepage: text,
  keywords: z.array(z.string()).nullish(),
  licenses: z.array(z.looseObject({ name: text, title: text })).nullish(),
  sources: packageSources,
  resources: z.array(packageResource).min(1),
});
export type DataPackage = z.infer<typeof dataPackage>;

function tryParseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

export const isTable = (resource: PackageResource): boolean => {
  const path = Array.isArray(resource.path) ? resource.path[0] : resource.path;
  const format = resource.format ?? resource.mediatype ?? path ?? '';
  return /\b(csv|tsv|comma-separated-values|tab-separated-values)(\.(gz|zip))?$/i.test(format);
};

/**
 * The resource to read: the named one, or the first that is CSV.
 * @throws {CsvError} that lists the resources.
 */
export function findResource(found: DataPackage, name: string | undefined): PackageResource {
  const resource = found.resources.find((one) => (name === undefined ? isTable(one) : one.name === name));
  if (resource) return resource;
  const names = found.resources.map((one) => one.name ?? one.path).join(', ');
  throw new CsvError(`no ${name === undefined ? 'CSV resource' : `resource "${name}"`}; there are: ${names}`);
}

/** The files of a resource, relative to its package. The standard forbids absolute paths and `..`. */
export function resourcePaths(resource: PackageResource): string[] {
  const paths = [resource.path ?? []].flat();
  if (paths.length === 0) throw new CsvError('the resource has no path: inline data is not supported');
  const unsafe = paths.find((path) => /^([a-z][a-z0-9+.-]*:|\/)|(^|\/)\.\.(\/|$)/i.test(path));
  if (unsafe) throw new CsvError(`the resource's path "${unsafe}" is not below its package`);
  return paths;
}

/** The CSV dialect: the definition's, else the package's; `openCsv` detects the rest. */
export function csvOptions(
  { dialect: stated, encoding: statedEncoding, format, mediatype }: PackageResource,
  own: { encoding?: string | undefined; delimiter?: string | undefined; skip_lines?: number | undefined },
): CsvOptions {
  const encoding = own.encoding ?? statedEncoding;
  const isTabbed = /tsv|tab-separated/i.test(format ?? mediatype ?? '');
  return {
    delimiter: own.delimiter ?? stated?.delimiter ?? (isTabbed ? '\t' : null),
    quote: stated?.quoteChar,
    escape: stated?.escapeChar,
    comment: stated?.commentChar,
    encoding: encoding?.toLowerCase() === 'latin-1' ? 'latin1' : encoding,
    preamble: own.skip_lines ?? (stated?.headerRows?.[0] ?? 1) - 1,
    trimLeft: stated?.skipInitialSpace ?? false,
    header: stated?.header ?? true,
  };
}

/** A property of a field by dotted path, which may lead into text that is JSON. */
export function fieldProperty(field: PackageField | undefined, path: string): string | null {
  let value: unknown = field;
  for (const step of path.split('.')) {
    if (typeof value === 'string') value = tryParseJson(value);
    if (typeof value !== 'object' || value === null) return null;
    value = (value as Record<string, unknown>)[step];
  }
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

/** Converts numbers with a decimal comma or digit groups into plain decimals. */
export function createNumberNormalizer(
  fields: readonly PackageField[],
  decimalComma = false,
): (text: string, column: string) => string {
  const formats = new Map(fields.map((field) => [field.name, field]));
  return (cell, column) => {
    if (decimalComma) return cell.replace(',', '.');
    const { groupChar, decimalChar } = formats.get(column) ?? {};
    const plain = groupChar ? cell.replaceAll(groupChar, '') : cell;
    return decimalChar ? plain.replace(decimalChar, '.') : plain;
  };
}

const CSV_EXTENSION = /\.(csv|tsv)(\.(gz|zip))?$/i;
const SAMPLE_ROWS = 500;
const FIGURE = /^[+-]?[\d.,\s]+(e[+-]?\d+)?\s*%?$/i;

/** Whether a path names a CSV file rather than a package. */
export const isCsvPath = (path: string): boolean => CSV_EXTENSION.test(path);

/** The package of a CSV file without one. */
export function packageForCsv(path: string): DataPackage {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return { name: file.replace(CSV_EXTENSION, ''), resources: [{ path: file }] };
}

/** Infers from the first rows which columns are text. Returns the complete table with them. */
export async function inferFields(table: CsvTable): Promise<{ fields: PackageField[]; table: CsvTable }> {
  const batches = table.batches[Symbol.asyncIterator]();
  const rows: string[][] = [];
  for (let next = await batches.next(); !next.done; next = await batches.next()) {
    rows.push(...next.value);
    if (rows.length >= SAMPLE_ROWS) break;
  }
  const isText = (at: number): boolean => {
    const cells = rows.map((row) => row[at]?.trim() ?? '').filter((cell) => cell !== '');
    return cells.length > 0 && !cells.some((cell) => FIGURE.test(cell));
  };
  const fields = table.header.map((name, at) => ({ name, type: isText(at) ? 'string' : 'any' }));
  const all = prepend(rows.length > 0 ? [rows] : [], batches);
  return { fields, table: { header: table.header, batches: all } };
}

/** Our World in Data also says who published a source's figures. */
export function namedSource(source: PackageSource, homepage: string | null): NamedSource {
  const { title, name, path, link, dataPublishedBy } = source;
  const publisher = plainText(dataPublishedBy);
  const own = plainText(title ?? name) ?? publisher;
  return { name: own, url: path ?? link ?? homepage, note: publisher === own ? null : publisher };
}
