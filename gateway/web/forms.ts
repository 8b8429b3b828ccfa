/**
 * What pages of all rooms do with forms and lists: fields and their parsing, links with parameters, pages of a list, sorting
 * by column, downloads. Guarantees:
 *
 * - A field that is absent or blank has its default; one that cannot be read is a `PageError` 422 that names it.
 * - Links keep the filters that are set and leave out blank ones, so that each state of a list has one address.
 * - Rows without a value come last, whichever way a list is sorted.
 * - A CSV is sent row by row, and no text in it runs as a formula in a spreadsheet.
 *
 * Nothing here knows the rooms that use it. What templates are given is in `templates.ts`.
 */
import { Readable } from 'node:stream';
import { type Options, stringify } from 'csv-stringify/sync';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';

/** An error that is shown to the user as a page with this status and message. */
export class PageError extends Error {
  override name = 'PageError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const blankToUndefined = (value: unknown): unknown => (value === '' ? undefined : value);

/** Trimmed text; empty when absent. */
export const textField = (maxLength = 500) => z.string().trim().max(maxLength).default('');

/** Text with its white space; empty when absent. */
export const untrimmedField = (maxLength: number) => z.string().max(maxLength).default('');

/** A decimal integer without sign; blank means the default. */
export const integerField = (min: number, max: number, fallback: number) =>
  z.preprocess(
    blankToUndefined,
    z
      .string()
      .regex(/^\d{1,9}$/, 'a whole number')
      .transform(Number)
      .pipe(z.int().min(min).max(max))
      .default(fallback),
  );

/** `?format=csv` asks for a list as a file. */
export const formatField = z.preprocess(blankToUndefined, z.enum(['html', 'csv']).default('html'));

/** @throws {PageError} 422 that names the first invalid field. */
export function parseFields<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new PageError(422, `${String(issue?.path[0] ?? 'form')}: ${issue?.message ?? 'not understood'}`);
}

/** Appends the parameters that are neither blank nor 0. */
export function withQuery(path: string, parameters: Record<string, string | number>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== '' && value !== 0) query.set(name, String(value));
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Position in a list, from 1 or 0 in an empty one, and the links to the previous and next page. */
export function createPager(
  path: string,
  filters: Record<string, string | number>,
  { total, limit, offset }: { total: number; limit: number; offset: number },
) {
  const to = Math.min(offset + limit, total);
  return {
    total,
    from: Math.min(offset + 1, total),
    to,
    previous: offset > 0 ? withQuery(path, { ...filters, limit, offset: Math.max(0, offset - limit) }) : null,
    next: to < total ? withQuery(path, { ...filters, limit, offset: offset + limit }) : null,
  };
}

export type Pager = ReturnType<typeof createPager>;

/** Link of a column's header. */
export interface SortLink {
  /** Sorts by this column; reverses the order when the rows are sorted by it. */
  href: string;
  /** Null when the rows are sorted by another column. */
  order: 'ascending' | 'descending' | null;
}

type SortKey<Row> = (row: Row) => string | number | null;

const collator = new Intl.Collator('en', { numeric: true });

/**
 * Sorting by the columns of a closed list. The parameter is the name of a column, with `-` in front for descending
 * order; it is blank for the order in which the rows come.
 */
export class TableSort<Row> {
  readonly #columns: ReadonlyMap<string, SortKey<Row>>;
  /** Validates the query parameter. */
  readonly field: z.ZodType<string>;

  constructor(columns: Readonly<Record<string, SortKey<Row>>>) {
    this.#columns = new Map(Object.entries(columns));
    const names = [...this.#columns.keys()];
    this.field = z.enum(['', ...names, ...names.map((name) => `-${name}`)]).default('');
  }

  /** Rows without a value come last in either order. */
  sort(rows: readonly Row[], order: string): Row[] {
    const key = this.#columns.get(order.replace(/^-/, ''));
    if (!key) return [...rows];
    const sign = order.startsWith('-') ? -1 : 1;
    return rows.toSorted((a, b) => {
      const [left, right] = [key(a), key(b)];
      if (left === null || right === null) return Number(left === null) - Number(right === null);
      if (typeof left === 'number' && typeof right === 'number') return sign * (left - right);
      return sign * collator.compare(String(left), String(right));
    });
  }

  /** Links of the headers by column. @param parameter that holds the order */
  links(
    path: string,
    filters: Record<string, string | number>,
    order: string,
    parameter = 'sort',
  ): Record<string, SortLink> {
    const link = (name: string): SortLink => ({
      href: withQuery(path, { ...filters, [parameter]: order === name ? `-${name}` : name }),
      order: order === name ? 'ascending' : order === `-${name}` ? 'descending' : null,
    });
    return Object.fromEntries([...this.#columns.keys()].map((name) => [name, link(name)]));
  }
}

export type Cell = string | number | boolean | null;
export type Rows = Iterable<readonly Cell[]> | AsyncIterable<readonly Cell[]>;

/**
 * A text that a spreadsheet would run as a formula gets a leading apostrophe. `escape_formulas` of csv-stringify does the
 * same but also turns negative numbers into text.
 */
const FORMULA = /^[=+\-@\t\r]/;
/** RFC 4180, UTF-8, CRLF. */
const CSV: Options = {
  record_delimiter: '\r\n',
  quoted_match: /[\r\n]/,
  cast: { boolean: String, string: (text) => (FORMULA.test(text) ? `'${text}` : text) },
};

const csvLine = (cells: readonly Cell[]): string => stringify([[...cells]], CSV);

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

/** Sends a download named `<name>.pdf`. */
export const sendPdf = (reply: FastifyReply, name: string, bytes: Buffer): FastifyReply =>
  reply
    .header('Content-Type', 'application/pdf')
    .header('Content-Disposition', `attachment; filename="${name}.pdf"`)
    .send(bytes);
