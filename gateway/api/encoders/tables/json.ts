/** JSON: `{ "data": [rows], "meta": {…} }`. */
import { formatDouble, NO_RANK } from '../../snapshot/rows/indicator-columns.ts';
import type { RowFormat } from '../../snapshot/rows/observations.ts';
import type { CachedEncoder } from '../encoder.ts';
import type { Column } from './table.ts';
import { PLAIN, type RowSyntax, rowText } from './text-rows.ts';

const orNull = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? 'null' : formatDouble(value);

const NAME = 'json';

const HEAD = '{"data":[';

const ROWS: RowFormat = {
  name: NAME,
  head: HEAD,
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

const START = Buffer.from(HEAD);
const end = (meta: Readonly<Record<string, unknown>>): Buffer =>
  Buffer.from(`],"meta":${JSON.stringify(meta)}}`);

/** Each row as a JSON object. */
export const objectSyntax = (columns: readonly Column[], separator: string): RowSyntax => ({
  ...PLAIN,
  before: columns.map(({ name }, at) => `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
  end: '}',
  separator,
  text: JSON.stringify,
  missing: 'null',
});

export const json: CachedEncoder = {
  name: NAME,
  mediaType: 'application/json; charset=utf-8',
  extension: null,
  isText: true,
  isCompressible: true,
  documentation: null,
  namesIndicator: false,
  async *stream(table) {
    yield START;
    yield* rowText(table, objectSyntax(table.columns, ','));
    yield end(table.meta);
  },
  async encodeCached({ rows, meta }) {
    return [...(await rows.text(ROWS)), end(meta())];
  },
};
