/**
 * One observation of the WHO's Global Health Observatory, whichever way it came, and what becomes of it.
 *
 * Two layouts carry the same rows: the OData service (`Dim1Type`/`Dim1` up to `Dim3`, codes with their dimension in
 * front, `SEX_BTSX`) and the older "data-coded" CSV export (a column for each dimension, bare codes, `BTSX`). Both are
 * brought into `GhoRow`; from there on one logic decides which part of the population a row is of.
 */

import type { Upstream } from '../upstream/upstream.ts';
import type { RawObservation } from './connector.ts';
import { CsvError, openCsv } from './csv.ts';
import { getText, isObject, ResponseError, readJson } from './json-body.ts';

export interface GhoRow {
  /** The code of the indicator that the row says it is of. */
  indicator: string;
  place: string;
  /** COUNTRY, or what kind of group the place is: REGION, WORLDBANKINCOMEGROUP, UNREGION, GLOBAL, ... */
  place_type: string;
  /** A year, or a range of years as text, which ingestion rejects and counts. */
  year: string;
  /** Bare codes by dimension; a dimension that the row does not have is absent. */
  dimensions: Map<string, string>;
  /** The number as upstream writes it; null where it gives none. */
  numeric: number | string | null;
  /** What upstream shows: "12.4 [7.6-17.6]", "No data", "Yes". */
  display: string;
  low: number | string | null;
  high: number | string | null;
  withdrawn: boolean;
  /** When upstream last touched the row, `YYYY-MM-DD`. */
  dated: string | null;
}

export const COUNTRY = 'COUNTRY';
/** Publish states of rows that the WHO has withdrawn: VOID_APPROVED, VOID_PENDING. */
const WITHDRAWN = /^VOID/i;

/** `SEX_BTSX` as `BTSX`; a bare code stays as it is. */
const bareCode = (type: string, code: string): string =>
  code.toUpperCase().startsWith(`${type.toUpperCase()}_`) ? code.slice(type.length + 1) : code;

const numberOf = (value: unknown): number | string | null => {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
};

/** The first and last year that a row is of, out of the beginning and end that OData gives. */
function spanOf(row: Record<string, unknown>): string | null {
  const begin = getText(row, 'TimeDimensionBegin')?.slice(0, 4);
  const end = getText(row, 'TimeDimensionEnd')?.slice(0, 4);
  return begin !== undefined && end !== undefined && begin !== end ? `${begin}-${end}` : null;
}

/** A row of the OData service, or null when it is none. */
export function parseOdataRow(row: unknown): GhoRow | null {
  if (!isObject(row) || !('NumericValue' in row) || !('SpatialDim' in row)) return null;
  const dimensions = new Map<string, string>();
  for (const slot of ['Dim1', 'Dim2', 'Dim3', 'DataSourceDim']) {
    const type = getText(row, `${slot}Type`);
    const code = getText(row, slot);
    if (type !== null && code !== null) dimensions.set(type, bareCode(type, code));
  }
  const type = getText(row, 'SpatialDimType') ?? COUNTRY;
  const shown = getText(row, 'TimeDimensionValue') ?? getText(row, 'TimeDim') ?? '';
  return {
    indicator: getText(row, 'IndicatorCode') ?? '',
    place: bareCode(type, getText(row, 'SpatialDim') ?? ''),
    place_type: type,
    year: /^\d{4}$/.test(shown) ? (spanOf(row) ?? shown) : shown,
    dimensions,
    numeric: numberOf(row.NumericValue),
    display: getText(row, 'Value') ?? '',
    low: numberOf(row.Low),
    high: numberOf(row.High),
    withdrawn: WITHDRAWN.test(getText(row, 'PublishState') ?? ''),
    dated: getText(row, 'Date')?.slice(0, 10) ?? null,
  };
}

/** Columns of the CSV export that are no dimension of the population. */
const CSV_FIXED = new Set([
  'GHO',
  'PUBLISHSTATE',
  'YEAR',
  COUNTRY,
  'Display Value',
  'Numeric',
  'Low',
  'High',
  'Comments',
]);
/** Columns that place the row when it is of no country; those of a country's row say which groups it is in. */
const CSV_GROUPS = ['REGION', 'WORLDBANKINCOMEGROUP', 'UNREGION', 'GLOBAL'];
const CSV_NEEDED = ['GHO', 'YEAR', COUNTRY, 'Display Value', 'Numeric', 'Low', 'High'];

/** Reads rows of the "data-coded" CSV export by its header; null when the header is not that layout. */
export function createCsvRowParser(header: readonly string[]): ((cells: readonly string[]) => GhoRow) | null {
  if (CSV_NEEDED.some((name) => !header.includes(name))) return null;
  const at = new Map(header.map((name, index) => [name, index]));
  const dimensions = header.filter((name) => !CSV_FIXED.has(name) && !CSV_GROUPS.includes(name));
  return (cells) => {
    const cell = (name: string): string => cells[at.get(name) ?? -1]?.trim() ?? '';
    const group = CSV_GROUPS.find((name) => cell(name) !== '') ?? 'REGION';
    const country = cell(COUNTRY);
    const present = dimensions.filter((name) => cell(name) !== '');
    return {
      indicator: cell('GHO'),
      place: country || cell(group),
      place_type: country === '' ? group : COUNTRY,
      year: cell('YEAR'),
      dimensions: new Map(present.map((name) => [name, bareCode(name, cell(name))])),
      numeric: numberOf(cell('Numeric')),
      display: cell('Display Value'),
      low: numberOf(cell('Low')),
      high: numberOf(cell('High')),
      withdrawn: WITHDRAWN.test(cell('PUBLISHSTATE')),
      dated: null,
    };
  };
}

/**
 * A row as an observation. Where upstream gives no number, what it shows instead is a gap when it is one of `missing`,
 * and otherwise handed on as the text it is, for ingestion to reject and count.
 */
export function observationOf(row: GhoRow, missing: ReadonlySet<string>): RawObservation {
  const shown = missing.has(row.display.toLowerCase()) ? null : row.display;
  const observation: RawObservation = {
    place: row.place,
    year: row.year,
    value: row.numeric ?? shown,
    ci_lo: row.low,
    ci_hi: row.high,
  };
  if (row.withdrawn) observation.withdrawn = true;
  if (row.place_type !== COUNTRY) observation.aggregate = true;
  return observation;
}

/**
 * The two ways to the rows of one indicator of the Global Health Observatory: the OData service, page by page, and the
 * "data-coded" CSV export. Either gives all rows of the indicator or throws.
 */

const MOST_PAGES = 10_000;

/** The rows of one OData answer. @throws {ResponseError} for an error object and for what is no OData. */
function valuesOf(answer: unknown, reference: string): unknown[] {
  if (isObject(answer) && Array.isArray(answer.value)) return answer.value;
  const told = isObject(answer) ? (getText(answer.error, 'message') ?? getText(answer, 'message')) : null;
  throw new ResponseError(`${reference}: ${told === null ? 'no list of values' : `refused: ${told}`}`);
}

/**
 * Turns a next link into a reference of our own: the link names the service's true address, which a mirror is not at,
 * and must lead on within the same list.
 */
function nextReference(link: string, reference: string): string {
  const [path = ''] = reference.split('?');
  const lastOf = (text: string): string => decodeURIComponent(text.split('/').at(-1) ?? '');
  const url = URL.parse(link, `http://service.invalid/${path}`);
  if (!url || lastOf(url.pathname) !== lastOf(path)) {
    throw new ResponseError(`${reference}: the next link leads elsewhere: ${link}`);
  }
  return path + url.search;
}

/**
 * All pages of one OData list.
 * @throws {ResponseError} when a page repeats, so that paging would never end.
 */
export async function* fetchOdataPages(
  upstream: Upstream,
  first: string,
): AsyncGenerator<unknown[], void, undefined> {
  const asked = new Set<string>();
  let before: string | null = null;
  let reference: string | null = first;
  while (reference !== null) {
    if (asked.has(reference) || asked.size >= MOST_PAGES) {
      throw new ResponseError(`${reference}: the paging does not advance`);
    }
    asked.add(reference);
    const answer = await readJson(upstream, reference);
    const values = valuesOf(answer, reference);
    const start = values.length > 0 ? JSON.stringify(values[0]) : null;
    if (start !== null && start === before) throw new ResponseError(`${reference}: repeats the page before`);
    before = start;
    yield values;
    const link = getText(answer, '@odata.nextLink');
    reference = link === null ? null : nextReference(link, reference);
  }
}

/** @throws {ResponseError} when an answer is not of this indicator or its paging does not advance. */
export async function* fetchOdata(
  upstream: Upstream,
  reference: string,
  code: string,
): AsyncGenerator<GhoRow[], void, undefined> {
  for await (const values of fetchOdataPages(upstream, reference)) {
    yield values.map((value) => {
      const row = parseOdataRow(value);
      if (row === null) throw new ResponseError(`${reference}: a row without SpatialDim or NumericValue`);
      return ofIndicator(row, code, reference);
    });
  }
}

/** @throws {CsvError} when the file is not the layout or breaks off. */
export async function* fetchCodedCsv(
  upstream: Upstream,
  reference: string,
  code: string,
): AsyncGenerator<GhoRow[], void, undefined> {
  const { header, batches } = await openCsv(await upstream.stream(reference), { delimiter: ',' });
  const reader = createCsvRowParser(header);
  if (reader === null) throw new CsvError(`not a data-coded export; its columns: ${header.join(', ')}`);
  for await (const batch of batches) yield batch.map((cells) => ofIndicator(reader(cells), code, reference));
}

function ofIndicator(row: GhoRow, code: string, reference: string): GhoRow {
  if (row.indicator === code) return row;
  throw new ResponseError(`${reference}: a row of ${row.indicator || 'no indicator'} instead of ${code}`);
}
