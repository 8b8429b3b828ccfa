/**
 * Rows of the WHO's Global Health Observatory, from either of its layouts.
 *
 * The OData service has dimensions in slots (`Dim1Type`/`Dim1` to `Dim3`) with prefixed codes (`SEX_BTSX`). The older
 * "data-coded" CSV export has a column per dimension with bare codes (`BTSX`). Both become `GhoRow`. Either source yields
 * all rows of an indicator or throws.
 */
import type { Upstream } from '../upstream/upstream.ts';
import { getText, isObject, type RawObservation, ResponseError, readJson } from './connector.ts';
import { CsvError, openCsv } from './csv.ts';

export interface GhoRow {
  /** The indicator code that the row states. */
  indicator: string;
  place: string;
  /** COUNTRY, or the kind of group: REGION, WORLDBANKINCOMEGROUP, UNREGION, GLOBAL, ... */
  placeType: string;
  /** A year, or a range of years, which ingestion rejects and counts. */
  year: string;
  /** Bare codes by dimension; absent dimensions are left out. */
  dimensions: Map<string, string>;
  /** The number as upstream writes it; null without one. */
  numeric: number | string | null;
  /** What upstream displays: "12.4 [7.6-17.6]", "No data", "Yes". */
  display: string;
  low: number | string | null;
  high: number | string | null;
  withdrawn: boolean;
  /** How far upstream has published the row; null when it is final. */
  state: string | null;
  /** When upstream last changed the row, `YYYY-MM-DD`. */
  date: string | null;
}

export const COUNTRY = 'COUNTRY';
/** Publish states of withdrawn rows: VOID_APPROVED, VOID_PENDING. */
const WITHDRAWN = /^VOID/i;
/** The publish state of a final row. */
const PUBLISHED = /^PUBLISHED$/i;

const readState = (state: string | null): Pick<GhoRow, 'withdrawn' | 'state'> => ({
  withdrawn: WITHDRAWN.test(state ?? ''),
  state: state === null || PUBLISHED.test(state) ? null : state.replaceAll('_', ' '),
});

/** Converts a row. Where upstream gives no number, the displayed text is a gap if it is in `missing`, else the value. */
export function toObservation(row: GhoRow, missing: ReadonlySet<string>): RawObservation {
  const displayed = missing.has(row.display.toLowerCase()) ? null : row.display;
  const observation: RawObservation = {
    place: row.place,
    year: row.year,
    value: row.numeric ?? displayed,
    ci_lo: row.low,
    ci_hi: row.high,
  };
  if (row.withdrawn) observation.withdrawn = true;
  else if (row.state !== null) observation.status = row.state;
  if (row.placeType !== COUNTRY) observation.aggregate = true;
  return observation;
}

/** `SEX_BTSX` → `BTSX`; a bare code is unchanged. */
const stripDimension = (type: string, code: string): string =>
  code.toUpperCase().startsWith(`${type.toUpperCase()}_`) ? code.slice(type.length + 1) : code;

const getFigure = (row: Record<string, unknown>, field: string): number | string | null =>
  typeof row[field] === 'number' ? row[field] : getText(row, field);

/** The range of years of an OData row, when it covers more than one. */
function yearRange(row: Record<string, unknown>): string | null {
  const begin = getText(row, 'TimeDimensionBegin')?.slice(0, 4);
  const end = getText(row, 'TimeDimensionEnd')?.slice(0, 4);
  return begin !== undefined && end !== undefined && begin !== end ? `${begin}-${end}` : null;
}

/** A row of the OData service. @throws {ResponseError} when it is none. */
function parseOdataRow(row: unknown, reference: string): GhoRow {
  if (!isObject(row) || !('NumericValue' in row) || !('SpatialDim' in row)) {
    throw new ResponseError(`${reference}: a row without SpatialDim or NumericValue`);
  }
  const dimensions = new Map<string, string>();
  for (const slot of ['Dim1', 'Dim2', 'Dim3', 'DataSourceDim']) {
    const type = getText(row, `${slot}Type`);
    const code = getText(row, slot);
    if (type !== null && code !== null) dimensions.set(type, stripDimension(type, code));
  }
  const placeType = getText(row, 'SpatialDimType') ?? COUNTRY;
  const time = getText(row, 'TimeDimensionValue') ?? getText(row, 'TimeDim') ?? '';
  return {
    indicator: getText(row, 'IndicatorCode') ?? '',
    place: stripDimension(placeType, getText(row, 'SpatialDim') ?? ''),
    placeType,
    year: /^\d{4}$/.test(time) ? (yearRange(row) ?? time) : time,
    dimensions,
    numeric: getFigure(row, 'NumericValue'),
    display: getText(row, 'Value') ?? '',
    low: getFigure(row, 'Low'),
    high: getFigure(row, 'High'),
    ...readState(getText(row, 'PublishState')),
    date: getText(row, 'Date')?.slice(0, 10) ?? null,
  };
}

const CSV_REQUIRED = ['GHO', 'YEAR', COUNTRY, 'Display Value', 'Numeric', 'Low', 'High'];
/** Columns that are no dimension of the population. */
const CSV_FIXED = new Set([...CSV_REQUIRED, 'PUBLISHSTATE', 'Comments']);
/** The place of a row without a country; in a country's row, the groups that it belongs to. */
const CSV_GROUPS = ['REGION', 'WORLDBANKINCOMEGROUP', 'UNREGION', 'GLOBAL'];

/** A parser for rows of the CSV export. */
function createCsvRowParser(header: readonly string[]): (cells: readonly string[]) => GhoRow {
  const indexes = new Map(header.map((name, index) => [name, index]));
  const dimensions = header.filter((name) => !CSV_FIXED.has(name) && !CSV_GROUPS.includes(name));
  return (cells) => {
    const cell = (name: string): string => cells[indexes.get(name) ?? -1]?.trim() ?? '';
    const group = CSV_GROUPS.find((name) => cell(name) !== '') ?? 'REGION';
    const country = cell(COUNTRY);
    const present = dimensions.filter((name) => cell(name) !== '');
    return {
      indicator: cell('GHO'),
      place: country || cell(group),
      placeType: country === '' ? group : COUNTRY,
      year: cell('YEAR'),
      dimensions: new Map(present.map((name) => [name, stripDimension(name, cell(name))])),
      numeric: cell('Numeric') || null,
      display: cell('Display Value'),
      low: cell('Low') || null,
      high: cell('High') || null,
      ...readState(cell('PUBLISHSTATE') || null),
      date: null,
    };
  };
}

const MAX_PAGES = 10_000;

/** The rows of one OData response. @throws {ResponseError} for an error object or any other response. */
function getRows(response: unknown, reference: string): unknown[] {
  if (isObject(response) && Array.isArray(response.value)) return response.value;
  const refusal = isObject(response)
    ? (getText(response.error, 'message') ?? getText(response, 'message'))
    : null;
  throw new ResponseError(`${reference}: ${refusal === null ? 'no list of values' : `refused: ${refusal}`}`);
}

/** Makes a next link relative to our base, because it names the service's own URL even when a mirror serves it. */
function nextReference(link: string, reference: string): string {
  const [path = ''] = reference.split('?');
  const lastSegment = (text: string): string => decodeURIComponent(text.split('/').at(-1) ?? '');
  const url = URL.parse(link, `http://service.invalid/${path}`);
  if (!url || lastSegment(url.pathname) !== lastSegment(path)) {
    throw new ResponseError(`${reference}: the next link leads to another list: ${link}`);
  }
  return path + url.search;
}

/**
 * All pages of one OData list.
 * @throws {ResponseError} when a page repeats.
 */
export async function* fetchOdataPages(
  upstream: Upstream,
  first: string,
): AsyncGenerator<{ rows: unknown[]; reference: string }, void, undefined> {
  const requested = new Set<string>();
  let start: string | undefined;
  let reference: string | null = first;
  while (reference !== null) {
    if (requested.has(reference) || requested.size >= MAX_PAGES) {
      throw new ResponseError(`${reference}: the paging does not advance`);
    }
    requested.add(reference);
    const response = await readJson(upstream, reference);
    const rows = getRows(response, reference);
    const previous = start;
    start = JSON.stringify(rows[0]);
    if (start !== undefined && start === previous) {
      throw new ResponseError(`${reference}: repeats the page before`);
    }
    yield { rows, reference };
    const link = getText(response, '@odata.nextLink');
    reference = link === null ? null : nextReference(link, reference);
  }
}

/** Rows, and the reference of the file that they come from. */
interface GhoRows {
  rows: GhoRow[];
  reference: string;
}

/** @throws {ResponseError} when a response has another layout or its paging does not advance. */
export async function* fetchOdata(
  upstream: Upstream,
  first: string,
): AsyncGenerator<GhoRows, void, undefined> {
  for await (const { rows: values, reference } of fetchOdataPages(upstream, first)) {
    yield { rows: values.map((value) => parseOdataRow(value, reference)), reference };
  }
}

/** @throws {CsvError} when the file has another layout or is cut off. */
export async function* fetchCodedCsv(
  upstream: Upstream,
  reference: string,
): AsyncGenerator<GhoRows, void, undefined> {
  const { header, batches } = await openCsv(await upstream.stream(reference), { delimiter: ',' });
  if (CSV_REQUIRED.some((name) => !header.includes(name))) {
    throw new CsvError(`not a data-coded export; its columns: ${header.join(', ')}`);
  }
  const parseRow = createCsvRowParser(header);
  for await (const batch of batches) yield { rows: batch.map(parseRow), reference };
}
