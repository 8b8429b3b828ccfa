/** CSV (RFC 4180): UTF-8, CRLF, a header record, an empty field for null. Ids, codes and numbers never need quotes. */
import { formatDouble, NO_RANK } from '../snapshot/indicator-columns.ts';
import type { RowFormat } from '../snapshot/observations.ts';
import type { Encoder } from './encoder.ts';

const HEADER = 'indicator,iso3,year,value,ci_lo,ci_hi,rank,projected\r\n';

const orEmpty = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? '' : formatDouble(value);

const NAME = 'csv';

const ROWS: RowFormat = {
  name: NAME,
  separator: '',
  row({ year, value, ciLo, ciHi, rank: ranks, projected }, country, at, indicator) {
    const rank = ranks[at] ?? NO_RANK;
    return (
      `${indicator},${country},${year[at]},${orEmpty(value[at])},${orEmpty(ciLo?.[at])},${orEmpty(ciHi?.[at])},` +
      `${rank === NO_RANK ? '' : rank},${projected[at] === 1}\r\n`
    );
  },
};

const START = Buffer.from(HEADER);

export const csv: Encoder = {
  name: NAME,
  mediaType: 'text/csv; charset=utf-8',
  extension: 'csv',
  isCompressible: true,
  documentation:
    'RFC 4180, UTF-8, CRLF; null is an empty field. `Link` and `X-Attribution` carry the licence.',
  async encode({ rows }) {
    return [START, ...(await rows.text(ROWS))];
  },
};
