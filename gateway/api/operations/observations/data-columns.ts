/** The columns that rows of observations may have, and how each is filled. */
import type { CountryRecord, IndicatorRecord } from '../../../../data/schema/records.ts';
import {
  BATCH_ROWS,
  type ColumnType,
  type IntegerVector,
  NO_FLAG,
  NO_INTEGER,
  NO_WORD,
  textVector,
  type Vector,
} from '../../encoders/tables/table.ts';
import { type ColumnArrays, NO_RANK } from '../../snapshot/rows/indicator-columns.ts';
import type { Detail } from '../../snapshot/rows/observation-details.ts';
import type { SelectedRows } from '../../snapshot/rows/selected-rows.ts';

/** The selected rows of one indicator. */
export interface Series {
  record: IndicatorRecord;
  selected: SelectedRows;
  /** By row; null unless a column needs them. */
  details: readonly Detail[] | null;
}

/** Consecutive rows of an answer that are of the same indicator. */
export interface Run {
  series: Series;
  /** The number of the series in the answer. */
  which: number;
  /** The first row in the batch, and the row after the last. */
  start: number;
  end: number;
  /** The first row among those selected of the series. */
  first: number;
}

/** Consecutive rows of an answer, possibly of several indicators. */
export interface RowRefs {
  rows: number;
  runs: readonly Run[];
  /** By row: an index into the countries of the answer. */
  country: Int32Array;
}

/** What indices of rows refer to. */
export interface Dictionaries {
  records: readonly IndicatorRecord[];
  countries: readonly CountryRecord[];
}

interface FieldColumn {
  type: ColumnType;
  needsDetails?: true;
  vector(refs: RowRefs, dictionaries: Dictionaries): Vector;
}

/** Vectors that never change, so that none is made for each answer: memory outside the heap is costly to collect. */
const ONE_WORD = new Int32Array(BATCH_ROWS);
const NO_NUMBERS = new Float64Array(BATCH_ROWS).fill(Number.NaN);

/** Text of each row's indicator. */
const ofIndicator = (pick: (record: IndicatorRecord) => string | null): FieldColumn => ({
  type: 'text',
  vector({ runs, rows }, { records }) {
    const { words, codes: wordOf } = textVector(records.map(pick));
    if (records.length === 1 && words.length === 1)
      return { type: 'text', words, codes: ONE_WORD.subarray(0, rows) };
    const codes = new Int32Array(rows);
    for (const { which, start, end } of runs) codes.fill(wordOf[which] ?? NO_WORD, start, end);
    return { type: 'text', words, codes };
  },
});

/** Text of each row's country. */
const ofCountry = (pick: (record: CountryRecord) => string | null): FieldColumn => ({
  type: 'text',
  vector({ country, rows }, { countries }) {
    const { words, codes: wordOf } = textVector(countries.map(pick));
    // Where each country has a word of its own, its number is that of its word.
    if (words.length === countries.length) return { type: 'text', words, codes: country.subarray(0, rows) };
    const codes = new Int32Array(rows);
    for (let row = 0; row < rows; row += 1) codes[row] = wordOf[country[row] ?? NO_WORD] ?? NO_WORD;
    return { type: 'text', words, codes };
  },
});

type NumericArray = Float64Array | Int32Array | Int16Array | Uint8Array;

/** Copies what rows have in a column of their indicators. @param missing stands where an indicator lacks the column. */
function gather(
  { runs }: RowRefs,
  into: NumericArray,
  pick: (columns: ColumnArrays) => NumericArray | null,
  missing: number,
): void {
  for (const { series, start, end, first } of runs) {
    const { held, at } = series.selected;
    const column = pick(held.columns);
    if (column === null) into.fill(missing, start, end);
    else
      for (let row = start; row < end; row += 1) into[row] = column[at[row - start + first] ?? 0] ?? missing;
  }
}

/** Where all rows lie next to each other in one series, whose columns are then read in place; otherwise null. */
function adjoining({ runs, rows }: RowRefs): { columns: ColumnArrays; start: number } | null {
  const [run, another] = runs;
  if (run === undefined || another !== undefined) return null;
  const { held, at } = run.series.selected;
  const start = at[run.first] ?? 0;
  return at[run.first + rows - 1] === start + rows - 1 ? { columns: held.columns, start } : null;
}

const double = (pick: (columns: ColumnArrays) => Float64Array | null): FieldColumn => ({
  type: 'double',
  vector(refs) {
    const { rows, runs } = refs;
    const place = adjoining(refs);
    const column = place && pick(place.columns);
    if (place && column) return { type: 'double', values: column.subarray(place.start, place.start + rows) };
    if (runs.every(({ series }) => pick(series.selected.held.columns) === null))
      return { type: 'double', values: NO_NUMBERS.subarray(0, rows) };
    const values = new Float64Array(rows);
    gather(refs, values, pick, Number.NaN);
    return { type: 'double', values };
  },
});

const integer = (
  pick: (columns: ColumnArrays) => Int32Array | Int16Array,
  nullAs: number | null,
): FieldColumn => ({
  type: 'integer',
  vector(refs) {
    const { rows } = refs;
    const place = adjoining(refs);
    const column = place && pick(place.columns);
    if (place && column instanceof Int32Array)
      return { type: 'integer', values: column.subarray(place.start, place.start + rows), nullAs };
    const values = new Int32Array(rows);
    gather(refs, values, pick, 0);
    return { type: 'integer', values, nullAs };
  },
});

/** By row; undefined where the row has none. */
const detailsOf = ({ runs }: RowRefs): (Detail | undefined)[] =>
  runs.flatMap(({ series, start, end, first }) =>
    Array.from({ length: end - start }, (_, offset) => series.details?.[first + offset]),
  );

const integerDetail = (pick: (detail: Detail) => number | null): FieldColumn => ({
  type: 'integer',
  needsDetails: true,
  vector(refs): IntegerVector {
    const values = Int32Array.from(detailsOf(refs), (detail) => (detail && pick(detail)) ?? NO_INTEGER);
    return { type: 'integer', values, nullAs: NO_INTEGER };
  },
});

const COLUMNS = {
  indicator: ofIndicator(({ id }) => id),
  indicator_name: ofIndicator(({ name }) => name),
  unit: ofIndicator(({ unit }) => unit),
  iso3: ofCountry(({ iso3 }) => iso3),
  iso2: ofCountry(({ iso2 }) => iso2),
  m49: {
    type: 'integer',
    vector: ({ country, rows }, { countries }) => ({
      type: 'integer',
      values: country.subarray(0, rows).map((code) => countries[code]?.m49 ?? NO_INTEGER),
      nullAs: NO_INTEGER,
    }),
  },
  name: ofCountry(({ name }) => name),
  region: ofCountry(({ region }) => region),
  income_group: ofCountry(({ income_group }) => income_group),
  year: integer(({ year }) => year, null),
  value: double(({ value }) => value),
  ci_lo: double(({ ciLo }) => ciLo),
  ci_hi: double(({ ciHi }) => ciHi),
  rank: integer(({ rank }) => rank, NO_RANK),
  rank_delta_1y: integerDetail(({ rank_delta_1y }) => rank_delta_1y),
  rank_lo: integerDetail(({ rank_lo }) => rank_lo),
  rank_hi: integerDetail(({ rank_hi }) => rank_hi),
  status: {
    type: 'text',
    needsDetails: true,
    vector(refs) {
      return textVector(detailsOf(refs).map((detail) => detail?.status ?? null));
    },
  },
  projected: {
    type: 'boolean',
    vector(refs) {
      const values = new Uint8Array(refs.rows);
      gather(refs, values, ({ projected }) => projected, NO_FLAG);
      return { type: 'boolean', values };
    },
  },
} as const satisfies Record<string, FieldColumn>;

export type Field = keyof typeof COLUMNS;
export const FIELDS = Object.keys(COLUMNS) as [Field, ...Field[]];

/** The columns of rows of one indicator; several are told apart by `indicator` before them. */
export const USUAL_FIELDS: readonly Field[] = [
  'iso3',
  'year',
  'value',
  'ci_lo',
  'ci_hi',
  'rank',
  'projected',
];

export const fieldColumn = (field: Field): FieldColumn => COLUMNS[field];
