/**
 * Guesses which connector reads an unknown upstream, and with which settings, from its file names, headers and first rows.
 * Of several tables it takes the one with years and the most known places, and those of the same form.
 */
import { basename } from 'node:path';
import { encodePath, type Upstream } from '../upstream/upstream.ts';
import { readJsonAs } from './connector.ts';
import { CsvError, type CsvTable, openCsv } from './csv.ts';
import { ddfPackage } from './ddf.ts';
import {
  csvOptions,
  dataPackage,
  inferFields,
  isCsvPath,
  isTable,
  type PackageResource,
  resourcePaths,
} from './frictionless-package.ts';
import {
  findPlaceColumns,
  findValueColumns,
  findYearColumn,
  findYearColumns,
  requireYearColumn,
} from './table-columns.ts';

export interface SourceGuess {
  connector: string;
  source: Record<string, unknown>;
  /** Why, as a sentence. */
  reason: string;
  /** Tables that it does not read. */
  leftOut: string[];
}

type IsPlace = (cell: string) => boolean;

/** What the header and the first rows of a table show. */
interface Sample {
  name: string;
  header: readonly string[];
  /** Tables of one form are read with the same settings. That of a plain table is its columns. */
  form: string;
  hasYears: boolean;
  /** Distinct known places in the column that has most. */
  places: number;
}

const SAMPLE_ROWS = 5_000;
/** Usual names of columns that name the series of a long table. */
const SERIES_COLUMN = /^(indicator|series|variable|item|element|measure|subject|concept)/i;
const CODE_COLUMN = /code|id$/i;
const NUMBER = /^[\d\s.,+-]*$/;
/** Dimensions of SDMX that usually name a series. */
const SDMX_SERIES = ['INDICATOR', 'MEASURE', 'SERIES', 'SUBJECT', 'INDIC', 'NA_ITEM'];

/**
 * @param files paths below the upstream's base
 * @param isPlace whether some scheme knows it
 * @throws {RangeError} when none of them can be a table.
 */
export async function guessSource(
  upstream: Upstream,
  files: readonly string[],
  isPlace: IsPlace,
): Promise<SourceGuess> {
  const packages = files.filter((file) => basename(file) === 'datapackage.json');
  if (packages.length > 0) return guessPackages(upstream, packages, isPlace);
  const charts = files.filter(
    (file) => file.endsWith('.metadata.json') && files.includes(file.replace('.metadata.json', '.csv')),
  );
  if (charts.length > 0) {
    const source = {
      csv: '{chart}.csv',
      metadata: '{chart}.metadata.json',
      charts: charts.map((file) => file.slice(0, -'.metadata.json'.length)),
    };
    const reason = 'a table and a .metadata.json for each chart';
    return { connector: 'owid-grapher', source, reason, leftOut: [] };
  }
  const tables = files.filter((file) => isCsvPath(file) || /\.zip$/i.test(file));
  const [first] = tables;
  if (first === undefined) {
    throw new RangeError(
      `no datapackage.json, CSV or zip file among: ${files.slice(0, 20).join(', ') || 'no files'}`,
    );
  }
  return /\.zip$/i.test(first) && !isCsvPath(first)
    ? worldBank(tables, [])
    : guessTables(upstream, tables.filter(isCsvPath), isPlace);
}

async function sampleTable(name: string, open: () => Promise<CsvTable>, isPlace: IsPlace): Promise<Sample> {
  let header: readonly string[] = [];
  try {
    const table = await open();
    header = table.header;
    const known = header.map(() => new Set<string>());
    let rows = 0;
    for await (const batch of table.batches) {
      for (const [at, cell] of batch.flatMap((row) => [...row.entries()]))
        if (!NUMBER.test(cell) && isPlace(cell)) known[at]?.add(cell);
      rows += batch.length;
      if (rows >= SAMPLE_ROWS) break;
    }
    const ofProvider = formOf(header);
    const hasYears =
      ofProvider !== null ||
      findYearColumn([], header) !== undefined ||
      findYearColumns(header, undefined) !== null;
    const places = Math.max(...known.map(({ size }) => size));
    return { name, header, form: ofProvider ?? header.join('\n'), hasYears, places };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // Rows of a World Bank download do not fit the first line of its preamble.
    return { name, header, form: formOf(header) ?? '', hasYears: false, places: -1 };
  }
}

/** The form of a provider's tables; null of a plain one. */
function formOf(header: readonly string[]): 'world-bank' | 'sdmx' | 'gho' | null {
  if (/^(data source|last updated date)$/i.test(header[0] ?? '')) return 'world-bank';
  if (header.includes('OBS_VALUE')) return 'sdmx';
  return header.includes('GHO') && header.includes('Numeric') ? 'gho' : null;
}

/** The first of the best. */
const bestOf = (samples: readonly Sample[]): Sample | undefined =>
  samples.toSorted((a, b) => Number(b.hasYears) - Number(a.hasYears) || b.places - a.places)[0];

async function guessPackages(
  upstream: Upstream,
  packages: readonly string[],
  isPlace: IsPlace,
): Promise<SourceGuess> {
  const [first = ''] = packages;
  const text = await upstream.text(encodePath(first));
  if (packages.length === 1 && /"ddf--(concepts|datapoints)/.test(text)) {
    const source = { ...(first === 'datapackage.json' ? {} : { datapackage: first }), ...ddfKeys(text) };
    return { connector: 'ddf', source, reason: 'datapackage.json lists ddf-- files', leftOut: [] };
  }
  const chosen: (string | { path: string; resource: string })[] = [];
  const leftOut: string[] = [];
  for (const path of packages) {
    const { resource, others } = await chooseResource(upstream, path, isPlace);
    chosen.push(resource === null ? path : { path, resource });
    leftOut.push(...others.map((name) => `${path}: ${name}`));
  }
  return { connector: 'frictionless', source: { packages: chosen }, reason: 'a datapackage.json', leftOut };
}

/** The name of the resource to read: null for the first that is a table. */
async function chooseResource(
  upstream: Upstream,
  path: string,
  isPlace: IsPlace,
): Promise<{ resource: string | null; others: string[] }> {
  const { resources } = await readJsonAs(upstream, encodePath(path), dataPackage);
  const tables = resources.filter(isTable);
  if (tables.length < 2) return { resource: null, others: [] };
  const directory = path.slice(0, path.lastIndexOf('/') + 1);
  const open = async (resource: PackageResource): Promise<CsvTable> => {
    const [file = ''] = resourcePaths(resource);
    return openCsv(await upstream.stream(encodePath(directory + file)), csvOptions(resource, {}));
  };
  const samples: Sample[] = [];
  for (const table of tables) {
    const name = table.name ?? String(table.path);
    samples.push(await sampleTable(name, () => open(table), isPlace));
  }
  const best = bestOf(samples);
  const others = samples.filter((one) => one !== best).map(({ name }) => name);
  const isNamed = tables.some(({ name }) => name === best?.name);
  return { resource: best !== samples[0] && isNamed ? (best?.name ?? null) : null, others };
}

/** The key columns that most tables of figures have, where they are a place and a time. */
function ddfKeys(text: string): { geo: string; time: string } | undefined {
  const { resources = [] } = ddfPackage.safeParse(JSON.parse(text)).data ?? {};
  const keys = resources
    .filter(({ path }) => path.includes('ddf--datapoints--'))
    .map(({ schema }) => schema.primaryKey)
    .filter((key) => key.length === 2);
  const counts = Map.groupBy(keys, (key) => key.toSorted().join());
  const [key = []] = [...counts.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
  const time = key.find((column) => /^(time|year|period|date)$/i.test(column));
  const geo = key.find((column) => column !== time);
  return time === undefined || geo === undefined ? undefined : { geo, time };
}

const worldBank = (files: readonly string[], leftOut: string[]): SourceGuess => ({
  connector: 'world-bank-csv',
  source: { files: [...files] },
  reason: 'World Bank downloads have this form',
  leftOut,
});

async function guessTables(
  upstream: Upstream,
  tables: readonly string[],
  isPlace: IsPlace,
): Promise<SourceGuess> {
  const open = async (file: string): Promise<CsvTable> => openCsv(await upstream.stream(encodePath(file)));
  const samples: Sample[] = [];
  for (const file of tables) samples.push(await sampleTable(file, () => open(file), isPlace));
  const best = bestOf(samples);
  const files = samples.filter(({ form }) => form === best?.form).map(({ name }) => name);
  const leftOut = tables.filter((file) => !files.includes(file));
  if (best?.form === 'world-bank') return worldBank(files, leftOut);
  if (best?.form === 'sdmx') {
    const indicator = SDMX_SERIES.filter((name) => best.header.includes(name));
    const source = { files, ...(indicator.length > 0 ? { indicator } : {}) };
    return { connector: 'sdmx-csv', source, reason: 'the column OBS_VALUE', leftOut };
  }
  if (best?.form === 'gho') {
    const source = { format: 'csv', indicators: files.map((file) => basename(file, '.csv')) };
    return { connector: 'who-gho', source, reason: 'the columns GHO and Numeric', leftOut };
  }
  const source = { packages: files, ...(await guessColumns(await open(best?.name ?? ''))) };
  return { connector: 'frictionless', source, reason: 'a plain table', leftOut };
}

/** The columns of a plain table, so that the definition shows what can be corrected; empty where nothing was found. */
async function guessColumns(opened: CsvTable): Promise<Record<string, unknown>> {
  const { fields, table } = await inferFields(opened);
  const rows: string[][] = [];
  for await (const batch of table.batches) {
    rows.push(...batch);
    if (rows.length >= SAMPLE_ROWS) break;
  }
  try {
    const place = findPlaceColumns(table.header);
    const year = requireYearColumn(fields);
    const values = findValueColumns(fields, [...place, year]);
    const [value] = values;
    if (value === undefined) return {};
    const series =
      values.length === 1 ? seriesColumns(table.header, rows, [...place, year, value]) : undefined;
    return { place, year, values, ...(series ? { series } : {}) };
  } catch {
    return {};
  }
}

/** The columns that name the series, when a country and year occur in several rows. */
function seriesColumns(header: readonly string[], rows: readonly string[][], used: readonly string[]) {
  const keys = used.slice(0, -1).map((name) => header.indexOf(name));
  const distinct = new Set(rows.map((row) => keys.map((at) => row[at]).join('\n')));
  if (distinct.size === rows.length) return undefined;
  const others = header.filter((name) => !used.includes(name));
  const named = others.filter((name) => SERIES_COLUMN.test(name));
  const code = named.find((name) => CODE_COLUMN.test(name)) ?? named[0] ?? others[0];
  if (code === undefined) return undefined;
  const name = named.find((one) => one !== code);
  const unit = others.find((one) => /^units?(\b|_)/i.test(one));
  return { code, ...(name ? { name } : {}), ...(unit ? { unit } : {}) };
}
