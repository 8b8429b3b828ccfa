/**
 * Lists as CSV downloads: RFC 4180, UTF-8, CRLF.
 *
 * Text that a spreadsheet would run as a formula gets a leading apostrophe. `escape_formulas` of csv-stringify does
 * the same but also turns negative numbers into text.
 */
import { Readable } from 'node:stream';
import { type Options, stringify } from 'csv-stringify/sync';
import type { FastifyReply } from 'fastify';

export type Cell = string | number | boolean | null;
export type Rows = Iterable<readonly Cell[]> | AsyncIterable<readonly Cell[]>;

const FORMULA = /^[=+\-@\t\r]/;
const OPTIONS: Options = {
  record_delimiter: '\r\n',
  quoted_match: /[\r\n]/,
  cast: { boolean: String, string: (text) => (FORMULA.test(text) ? `'${text}` : text) },
};

export const csvLine = (cells: readonly Cell[]): string => stringify([[...cells]], OPTIONS);

async function* csvLines(header: readonly string[], rows: Rows): AsyncGenerator<string> {
  yield csvLine(header);
  for await (const row of rows) yield csvLine(row);
}

/** Sends a download named `<name>.csv`, one row at a time. */
export function sendCsv(
  reply: FastifyReply,
  name: string,
  header: readonly string[],
  rows: Rows,
): FastifyReply {
  return reply
    .header('Content-Type', 'text/csv; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${name}.csv"`)
    .send(Readable.from(csvLines(header, rows)));
}
