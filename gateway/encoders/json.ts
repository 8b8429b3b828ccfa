/** JSON: `{ "data": [rows], "meta": {…} }`. Rows come from cached text; only `meta` is written per request. */
import { formatDouble, NO_RANK } from '../snapshot/indicator-columns.ts';
import type { RowFormat } from '../snapshot/observations.ts';
import type { Encoder } from './encoder.ts';

const orNull = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? 'null' : formatDouble(value);

const NAME = 'json';

const ROWS: RowFormat = {
  name: NAME,
  separator: ',',
  row({ year, value, ciLo, ciHi, rank: ranks, projected }, country, at) {
    const rank = ranks[at] ?? NO_RANK;
    return (
      `{"iso3":"${country}","year":${year[at]},"value":${orNull(value[at])},` +
      `"ci_lo":${orNull(ciLo?.[at])},"ci_hi":${orNull(ciHi?.[at])},` +
      `"rank":${rank === NO_RANK ? 'null' : rank},"projected":${projected[at] === 1}}`
    );
  },
};

const START = Buffer.from('{"data":[');

export const json: Encoder = {
  name: NAME,
  mediaType: 'application/json; charset=utf-8',
  extension: null,
  isCompressible: true,
  documentation: null,
  async encode({ rows, meta }) {
    const pieces = await rows.text(ROWS);
    return [START, ...pieces, Buffer.from(`],"meta":${JSON.stringify(meta)}}`)];
  },
};
