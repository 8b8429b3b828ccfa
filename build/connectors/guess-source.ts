/** Guesses which connector reads an unknown upstream, and with which settings, from its file names and headers. */
import { basename } from 'node:path';
import { z } from 'zod';
import { encodePath, type Upstream } from '../upstream/upstream.ts';
import { type CsvTable, openCsv } from './csv.ts';
import { inferFields, isCsvPath } from './frictionless-package.ts';
import { findPlaceColumns, findValueColumns, requireYearColumn } from './table-columns.ts';

export interface SourceGuess {
  connector: string;
  source: Record<string, unknown>;
  /** Why, as a sentence. */
  reason: string;
}

const SAMPLE_ROWS = 5_000;
/** Usual names of columns that name the series of a long table. */
const SERIES_COLUMN = /^(indicator|series|variable|item|element|measure|subject|concept)/i;
const CODE_COLUMN = /code|id$/i;
/** Dimensions of SDMX that usually name a series. */
const SDMX_SERIES = ['INDICATOR', 'MEASURE', 'SERIES', 'SUBJECT', 'INDIC', 'NA_ITEM'];

/**
 * @param files paths below the upstream's base
 * @throws {RangeError} when none of them can be a table.
 */
export async function guessSource(upstream: Upstream, files: readonly string[]): Promise<SourceGuess> {
  const packages = files.filter((file) => basename(file) === 'datapackage.json');
  if (packages.length > 0) return guessPackages(upstream, packages);
  const charts = files.filter(
    (file) => file.endsWith('.metadata.json') && files.includes(file.replace('.metadata.json', '.csv')),
  );
  if (charts.length > 0) {
    const source = {
      csv: '{chart}.csv',
      metadata: '{chart}.metadata.json',
      charts: charts.map((file) => file.slice(0, -'.metadata.json'.length)),
    };
    return { connector: 'owid-grapher', source, reason: 'a table and a .metadata.json for each chart' };
  }
  const tables = files.filter((file) => isCsvPath(file) || /\.zip$/i.test(file));
  const [first] = tables;
  if (first === undefined) {
    throw new RangeError(
      `no datapackage.json, CSV or zip file among: ${files.slice(0, 20).join(', ') || 'no files'}`,
    );
  }
  return /\.zip$/i.test(first) && !isCsvPath(first)
    ? worldBank(tables)
    : guessTables(tables, await openCsv(await upstream.stream(encodePath(first))));
}

async function guessPackages(upstream: Upstream, packages: readonly string[]): Promise<SourceGuess> {
  const [first = ''] = packages;
  const text = await upstream.text(encodePath(first));
  if (packages.length === 1 && /"ddf--(concepts|datapoints)/.test(text)) {
    const source = { ...(first === 'datapackage.json' ? {} : { datapackage: first }), ...ddfKeys(text) };
    return { connector: 'ddf', source, reason: 'datapackage.json lists ddf-- files' };
  }
  return { connector: 'frictionless', source: { packages: [...packages] }, reason: 'a datapackage.json' };
}

const ddfPackage = z.object({
  resources: z.array(
    z.object({
      path: z.string().optional(),
      schema: z.object({ primaryKey: z.union([z.string(), z.array(z.string())]).optional() }).optional(),
    }),
  ),
});

/** The key columns that most tables of figures have, where they are a place and a time. */
function ddfKeys(text: string): { geo: string; time: string } | undefined {
  const parsed = ddfPackage.safeParse(JSON.parse(text));
  if (!parsed.success) return undefined;
  const keys = parsed.data.resources
    .filter(({ path }) => path?.includes('ddf--datapoints--'))
    .map(({ schema }) => [schema?.primaryKey ?? []].flat())
    .filter((key) => key.length === 2);
  const counts = Map.groupBy(keys, (key) => key.toSorted().join());
  const [key = []] = [...counts.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
  const time = key.find((column) => /^(time|year|period|date)$/i.test(column));
  const geo = key.find((column) => column !== time);
  return time === undefined || geo === undefined ? undefined : { geo, time };
}

const worldBank = (files: readonly string[]): SourceGuess => ({
  connector: 'world-bank-csv',
  source: { files: [...files] },
  reason: 'World Bank downloads have this form',
});

async function guessTables(files: readonly string[], table: CsvTable): Promise<SourceGuess> {
  const { header } = table;
  if (/^(data source|last updated date)$/i.test(header[0] ?? '')) return closed(table, worldBank(files));
  if (header.includes('OBS_VALUE')) {
    const indicator = SDMX_SERIES.filter((name) => header.includes(name));
    const source = { files: [...files], ...(indicator.length > 0 ? { indicator } : {}) };
    return closed(table, { connector: 'sdmx-csv', source, reason: 'the column OBS_VALUE' });
  }
  if (header.includes('GHO') && header.includes('Numeric')) {
    const source = { format: 'csv', indicators: files.map((file) => basename(file, '.csv')) };
    return closed(table, { connector: 'who-gho', source, reason: 'the columns GHO and Numeric' });
  }
  const columns = await guessColumns(table);
  return { connector: 'frictionless', source: { packages: [...files], ...columns }, reason: 'a plain table' };
}

/** Closes a table that is not read further. */
async function closed(table: CsvTable, guess: SourceGuess): Promise<SourceGuess> {
  for await (const _ of table.batches) break;
  return guess;
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
    const [value = ''] = values;
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
