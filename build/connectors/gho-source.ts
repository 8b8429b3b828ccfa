/**
 * The two ways to the rows of one indicator of the Global Health Observatory: the OData service, page by page, and the
 * "data-coded" CSV export. Either gives all rows of the indicator or throws.
 */

import type { Upstream } from './connector.ts';
import { CsvError, openCsv } from './csv-rows.ts';
import { csvRowReader, type GhoRow, odataRow } from './gho-rows.ts';
import { AnswerError, isObject, readJson, textOf } from './json-body.ts';

const MOST_PAGES = 10_000;

/** The rows of one OData answer. @throws {AnswerError} for an error object and for what is no OData. */
function valuesOf(answer: unknown, reference: string): unknown[] {
  if (isObject(answer) && Array.isArray(answer.value)) return answer.value;
  const told = isObject(answer) ? (textOf(answer.error, 'message') ?? textOf(answer, 'message')) : null;
  throw new AnswerError(`${reference}: ${told === null ? 'no list of values' : `refused: ${told}`}`);
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
    throw new AnswerError(`${reference}: the next link leads elsewhere: ${link}`);
  }
  return path + url.search;
}

/**
 * All pages of one OData list.
 * @throws {AnswerError} when a page repeats, so that paging would never end.
 */
export async function* odataPages(
  upstream: Upstream,
  first: string,
): AsyncGenerator<unknown[], void, undefined> {
  const asked = new Set<string>();
  let before: string | null = null;
  let reference: string | null = first;
  while (reference !== null) {
    if (asked.has(reference) || asked.size >= MOST_PAGES) {
      throw new AnswerError(`${reference}: the paging does not advance`);
    }
    asked.add(reference);
    const answer = await readJson(upstream, reference);
    const values = valuesOf(answer, reference);
    const start = values.length > 0 ? JSON.stringify(values[0]) : null;
    if (start !== null && start === before) throw new AnswerError(`${reference}: repeats the page before`);
    before = start;
    yield values;
    const link = textOf(answer, '@odata.nextLink');
    reference = link === null ? null : nextReference(link, reference);
  }
}

/** @throws {AnswerError} when an answer is not of this indicator or its paging does not advance. */
export async function* readOdata(
  upstream: Upstream,
  reference: string,
  code: string,
): AsyncGenerator<GhoRow[], void, undefined> {
  for await (const values of odataPages(upstream, reference)) {
    yield values.map((value) => {
      const row = odataRow(value);
      if (row === null) throw new AnswerError(`${reference}: a row without SpatialDim or NumericValue`);
      return ofIndicator(row, code, reference);
    });
  }
}

/** @throws {CsvError} when the file is not the layout or breaks off. */
export async function* readCodedCsv(
  upstream: Upstream,
  reference: string,
  code: string,
): AsyncGenerator<GhoRow[], void, undefined> {
  const { header, batches } = await openCsv(await upstream.stream(reference), { delimiter: ',' });
  const reader = csvRowReader(header);
  if (reader === null) throw new CsvError(`not a data-coded export; its columns: ${header.join(', ')}`);
  for await (const batch of batches) yield batch.map((cells) => ofIndicator(reader(cells), code, reference));
}

function ofIndicator(row: GhoRow, code: string, reference: string): GhoRow {
  if (row.indicator === code) return row;
  throw new AnswerError(`${reference}: a row of ${row.indicator || 'no indicator'} instead of ${code}`);
}
