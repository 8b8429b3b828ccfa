/** The columns that rows of observations may have, and how each is filled. */
import type { CountryRecord, IndicatorRecord } from '../../data/schema/records.ts';
import {
  type ColumnType,
  type IntegerVector,
  NO_FLAG,
  NO_INTEGER,
  NO_WORD,
  textVector,
  type Vector,
} from '../encoders/table.ts';
import { type ColumnArrays, NO_RANK } from '../snapshot/indicator-columns.ts';
import type { Detail } from '../snapshot/observation-details.ts';
import type { SelectedRows } from '../snapshot/selected-rows.ts';

/** The selected rows of one indicator. */
export interface Series {
  record: IndicatorRecord;
  selected: SelectedRows;
  /** By row; null unless a column needs them. */
  details: readonly Detail[] | null;
}

/** Consecutive rows of an answer, possibly of several indicators. */
export interface RowRefs {
  rows: number;
  /** The series of the answer that these rows are of, by their number. */
  series: ReadonlyMap<number, Series>;
  /** The number of the series of each row. */
  which: Uint8Array;
  /** The number of the row in its series. */
  row: Uint32Array;
  /** An index into the countries of the answer. */
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

/** Text by codes that refer to a list in which words repeat. */
function lookedUp(texts: readonly (string | null)[], codes: ArrayLike<number>, rows: number): Vector {
  const { words, codes: wordOf } = textVector(texts);
  const made = new Int32Array(rows);
  for (let row = 0; row < rows; row += 1) made[row] = wordOf[codes[row] ?? NO_WORD] ?? NO_WORD;
  return { type: 'text', words, codes: made };
}

const ofIndicator = (pick: (record: IndicatorRecord) => string | null): FieldColumn => ({
  type: 'text',
  vector: ({ which, rows }, { records }) => lookedUp(records.map(pick), which, rows),
});

const ofCountry = (pick: (record: CountryRecord) => string | null): FieldColumn => ({
  type: 'text',
  vector: ({ country, rows }, { countries }) => lookedUp(countries.map(pick), country, rows),
});

/** Calls `use` for each row, with the series and the position in its columns. */
function eachRow(
  { rows, series, which, row: numbers }: RowRefs,
  use: (row: number, columns: ColumnArrays, at: number) => void,
): void {
  let number = -1;
  let current: Series | undefined;
  for (let row = 0; row < rows; row += 1) {
    if (which[row] !== number) {
      number = which[row] ?? 0;
      current = series.get(number);
    }
    if (current !== undefined)
      use(row, current.selected.held.columns, current.selected.at[numbers[row] ?? 0] ?? 0);
  }
}

const double = (pick: (columns: ColumnArrays) => Float64Array | null): FieldColumn => ({
  type: 'double',
  vector(refs) {
    const values = new Float64Array(refs.rows);
    eachRow(refs, (row, columns, at) => {
      values[row] = pick(columns)?.[at] ?? Number.NaN;
    });
    return { type: 'double', values };
  },
});

const integer = (
  pick: (columns: ColumnArrays) => Int32Array | Int16Array,
  nullAs: number | null,
): FieldColumn => ({
  type: 'integer',
  vector(refs) {
    const values = new Int32Array(refs.rows);
    eachRow(refs, (row, columns, at) => {
      values[row] = pick(columns)[at] ?? 0;
    });
    return { type: 'integer', values, nullAs };
  },
});

const detailAt = ({ series, which, row: numbers }: RowRefs, row: number): Detail | undefined =>
  series.get(which[row] ?? 0)?.details?.[numbers[row] ?? 0];

const integerDetail = (pick: (detail: Detail) => number | null): FieldColumn => ({
  type: 'integer',
  needsDetails: true,
  vector(refs): IntegerVector {
    const values = Int32Array.from({ length: refs.rows }, (_, row) => {
      const detail = detailAt(refs, row);
      return (detail && pick(detail)) ?? NO_INTEGER;
    });
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
      return textVector(Array.from({ length: refs.rows }, (_, row) => detailAt(refs, row)?.status ?? null));
    },
  },
  projected: {
    type: 'boolean',
    vector(refs) {
      const values = new Uint8Array(refs.rows);
      eachRow(refs, (row, { projected }, at) => {
        values[row] = projected[at] ?? NO_FLAG;
      });
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
