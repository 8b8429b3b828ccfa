/** CSV (RFC 4180): UTF-8, CRLF, a header record, an empty field for null. */
import { formatDouble, NO_RANK } from '../../snapshot/rows/indicator-columns.ts';
import type { RowFormat } from '../../snapshot/rows/observations.ts';
import type { CachedEncoder } from '../encoder.ts';
import type { Column, Table } from './table.ts';
import { PLAIN, type RowSyntax, rowText } from './text-rows.ts';

const HEADER = 'indicator,iso3,year,value,ci_lo,ci_hi,rank,projected\r\n';

const orEmpty = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? '' : formatDouble(value);

const NAME = 'csv';

/** Ids, codes and numbers never need quotes. */
const ROWS: RowFormat = {
  name: NAME,
  head: HEADER,
  separator: '',
  row({ year, value, ciLo, ciHi, rank: ranks, projected }, country, at, indicator) {
    const rank = ranks[at] ?? NO_RANK;
    return (
      `${indicator},${country},${year[at]},${orEmpty(value[at])},${orEmpty(ciLo?.[at])},${orEmpty(ciHi?.[at])},` +
      `${rank === NO_RANK ? '' : rank},${projected[at] === 1}\r\n`
    );
  },
};

const NEEDS_QUOTES = /[",\r\n]/;

export const csvField = (text: string): string =>
  NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** An empty field that is alone in its record is quoted, because readers skip empty lines. */
function syntaxOf(columns: readonly Column[]): RowSyntax {
  const empty = columns.length === 1 ? '""' : '';
  return {
    ...PLAIN,
    before: columns.map((_, at) => (at === 0 ? '' : ',')),
    end: '\r\n',
    separator: '',
    text: (word) => (word === '' ? empty : csvField(word)),
    missing: empty,
  };
}

/** The header record and the rows. */
export async function* csvRows(table: Pick<Table, 'columns' | 'batches'>): AsyncGenerator<Buffer> {
  yield Buffer.from(`${table.columns.map(({ name }) => csvField(name)).join(',')}\r\n`);
  yield* rowText(table, syntaxOf(table.columns));
}

export const csv: CachedEncoder = {
  name: NAME,
  mediaType: 'text/csv; charset=utf-8',
  extension: 'csv',
  isText: true,
  isCompressible: true,
  documentation:
    'RFC 4180, UTF-8, CRLF; null is an empty field. `Link` and `X-Attribution` carry the licence.',
  namesIndicator: true,
  stream: csvRows,
  encodeCached: ({ rows }) => rows.text(ROWS),
};
