/**
 * The Frictionless `datapackage.json`: the parts of Data Package v1 and v2 that decide how a table is read, and the
 * words that go into the catalogue. Unknown properties are kept, because providers put units and names into
 * properties of their own, which a definition can point at (`field.unit`, `field.name`).
 */
import { z } from 'zod';
import { CsvError, type CsvOptions, type CsvTable } from './csv.ts';

const text = z.string().nullish();

export const packageField = z.looseObject({
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
  doubleQuote: z.boolean().nullish(),
  skipInitialSpace: z.boolean().nullish(),
  header: z.boolean().nullish(),
  headerRows: z.array(z.int()).nullish(),
});

export const packageResource = z.looseObject({
  name: text,
  title: text,
  description: text,
  path: z.union([z.string(), z.array(z.string())]).nullish(),
  format: text,
  mediatype: text,
  encoding: text,
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
  licenses: z.array(z.looseObject({ name: text, title: text, path: text })).nullish(),
  sources: z.array(z.looseObject({ title: text, name: text, path: text, link: text })).nullish(),
  resources: z.array(packageResource).min(1),
});
export type DataPackage = z.infer<typeof dataPackage>;

/** @throws {CsvError} when the text is not a data package. */
export function parsePackage(json: string): DataPackage {
  let value: unknown;
  try {
    value = JSON.parse(json.replace(/^\uFEFF/, ''));
  } catch {
    throw new CsvError('datapackage.json is not JSON');
  }
  const parsed = dataPackage.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CsvError(`datapackage.json: ${issue?.path.join('.')}: ${issue?.message}`);
}

const isTable = (resource: PackageResource): boolean => {
  const path = Array.isArray(resource.path) ? resource.path[0] : resource.path;
  const said = resource.format ?? resource.mediatype ?? path ?? '';
  return /\b(csv|tsv|comma-separated-values|tab-separated-values)(\.(gz|zip))?$/i.test(said);
};

/**
 * The one resource to read: the named one, otherwise the first that is CSV.
 * @throws {CsvError} naming the resources that there are.
 */
export function findResource(found: DataPackage, name: string | undefined): PackageResource {
  const resource = found.resources.find((one) => (name === undefined ? isTable(one) : one.name === name));
  if (resource) return resource;
  const names = found.resources.map((one) => one.name ?? one.path).join(', ');
  throw new CsvError(`no ${name === undefined ? 'CSV resource' : `resource "${name}"`}; there are: ${names}`);
}

/** The files of a resource, relative to its package. Absolute and climbing paths are refused, as the standard asks. */
export function resourcePaths(resource: PackageResource): string[] {
  const paths = [resource.path ?? []].flat();
  if (paths.length === 0) throw new CsvError('the resource has no path: inline data is not supported');
  const unsafe = paths.find((path) => /^([a-z][a-z0-9+.-]*:|\/)|(^|\/)\.\.(\/|$)/i.test(path));
  if (unsafe) throw new CsvError(`the resource's path "${unsafe}" is not below its package`);
  return paths;
}

/** How the CSV is written: as the definition says, else the package; what neither says is found in the file. */
export function csvOptions(
  resource: PackageResource,
  own: {
    encoding?: string | undefined;
    delimiter?: string | undefined;
    skip_lines?: number | undefined;
  } = {},
): CsvOptions {
  const { dialect: said } = resource;
  const encoding = own.encoding ?? resource.encoding;
  const tabs = /tsv|tab-separated/i.test(resource.format ?? resource.mediatype ?? '');
  const preamble = own.skip_lines ?? (said?.headerRows?.[0] ?? 1) - 1;
  const delimiter = own.delimiter ?? said?.delimiter ?? (tabs ? '\t' : undefined);
  return {
    ...(delimiter ? { delimiter } : {}),
    ...(said?.quoteChar ? { quote: said.quoteChar } : {}),
    ...(said?.escapeChar ? { escape: said.escapeChar } : {}),
    ...(said?.commentChar ? { comment: said.commentChar } : {}),
    ...(encoding ? { encoding: encoding.toLowerCase() === 'latin-1' ? 'latin1' : encoding } : {}),
    ...(preamble > 0 ? { preamble } : {}),
    trimLeft: said?.skipInitialSpace ?? false,
    header: said?.header ?? true,
  };
}

/** A property of a field by a dotted path; text that holds JSON is looked into as well. */
export function fieldProperty(field: PackageField | undefined, path: string): string | null {
  let value: unknown = field;
  for (const step of path.split('.')) {
    if (typeof value === 'string') value = parseLoosely(value);
    if (typeof value !== 'object' || value === null) return null;
    value = (value as Record<string, unknown>)[step];
  }
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

function parseLoosely(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}

/** Rewrites numbers with a decimal comma or digit groups, where the schema says that there are any. */
export function createNumberNormalizer(
  fields: readonly PackageField[],
  decimalComma = false,
): ((text: string, column: string) => string) | undefined {
  if (decimalComma) return (cell) => cell.replace(',', '.');
  const special = new Map(
    fields
      .filter((field) => field.groupChar || (field.decimalChar && field.decimalChar !== '.'))
      .map((field) => [field.name, { group: field.groupChar ?? '', decimal: field.decimalChar ?? '.' }]),
  );
  if (special.size === 0) return undefined;
  return (cell, column) => {
    const rule = special.get(column);
    if (!rule) return cell;
    const plain = rule.group === '' ? cell : cell.replaceAll(rule.group, '');
    return rule.decimal === '.' ? plain : plain.replace(rule.decimal, '.');
  };
}

/** A table that nothing describes: its header names the columns, its first rows tell text from figures. */

const BARE = /\.(csv|tsv)(\.(gz|zip))?$/i;
const LOOKED_AT = 500;
const FIGURE = /^[+-]?[\d.,\s]+(e[+-]?\d+)?\s*%?$/i;

/** Whether a path names a table itself instead of a package that describes one. */
export const isCsvPath = (path: string): boolean => BARE.test(path);

/** What a package would say of the file. */
export function packageForCsv(path: string): DataPackage {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return { name: file.replace(BARE, ''), resources: [{ path: file }] };
}

/** Looks at the first rows. The table that is given back has them still. */
export async function inferFields(table: CsvTable): Promise<{ fields: PackageField[]; table: CsvTable }> {
  const batches = table.batches[Symbol.asyncIterator]();
  const rows: string[][] = [];
  for (let next = await batches.next(); !next.done; next = await batches.next()) {
    rows.push(...next.value);
    if (rows.length >= LOOKED_AT) break;
  }
  const isText = (at: number): boolean => {
    const cells = rows.map((row) => row[at]?.trim() ?? '').filter((cell) => cell !== '');
    return cells.length > 0 && !cells.some((cell) => FIGURE.test(cell));
  };
  const fields = table.header.map((name, at) => ({ name, type: isText(at) ? 'string' : 'any' }));
  async function* again(): AsyncGenerator<string[][], void, undefined> {
    try {
      if (rows.length > 0) yield rows;
      for (let next = await batches.next(); !next.done; next = await batches.next()) yield next.value;
    } finally {
      await batches.return?.();
    }
  }
  return { fields, table: { header: table.header, batches: again() } };
}
