/**
 * Lists as CSV: RFC 4180, UTF-8, CRLF. A cell that a spreadsheet would run as a formula gets a leading apostrophe;
 * numbers are written by us and stay numbers.
 */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

export type Cell = string | number | boolean | null;
export type Rows = Iterable<readonly Cell[]> | AsyncIterable<readonly Cell[]>;

const RUNS_AS_FORMULA = /^[=+\-@\t\r]/;

export function csvCell(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') return String(cell);
  const harmless = RUNS_AS_FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

export const csvLine = (cells: readonly Cell[]): string => `${cells.map(csvCell).join(',')}\r\n`;

async function* lines(header: readonly string[], rows: Rows): AsyncGenerator<string> {
  yield csvLine(header);
  for await (const row of rows) yield csvLine(row);
}

/** Answers with a list as a download called `<name>.csv`, a row at a time. */
export function sendCsv(
  reply: FastifyReply,
  name: string,
  header: readonly string[],
  rows: Rows,
): FastifyReply {
  return reply
    .header('Content-Type', 'text/csv; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${name}.csv"`)
    .send(Readable.from(lines(header, rows)));
}
