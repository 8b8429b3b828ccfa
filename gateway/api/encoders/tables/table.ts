/**
 * The table that every output format can write: typed columns, in batches, so that memory does not grow with the length
 * of an answer. An operation makes it, an encoder reads it; neither knows the other.
 */
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { ObservationTable } from '../../snapshot/rows/observations.ts';

export type ColumnType = 'text' | 'integer' | 'double' | 'boolean';

export interface Column {
  name: string;
  type: ColumnType;
}

/** A missing text. */
export const NO_WORD = -1;
/** A missing boolean. */
export const NO_FLAG = 255;
/** A missing integer, where it could be any: no year, code, rank or count is so low. */
export const NO_INTEGER = -2_147_483_648;

/** Text as indices into a list of distinct words, not all of which need occur. */
export interface TextVector {
  type: 'text';
  words: readonly string[];
  /** `NO_WORD` where there is none. */
  codes: Int32Array;
}

export interface IntegerVector {
  type: 'integer';
  values: Int32Array;
  /** The value that stands for a missing one; null where none is missing. */
  nullAs: number | null;
}

export interface DoubleVector {
  type: 'double';
  /** NaN where there is none. */
  values: Float64Array;
}

export interface BooleanVector {
  type: 'boolean';
  /** 1, 0, or `NO_FLAG`. */
  values: Uint8Array;
}

export type Vector = TextVector | IntegerVector | DoubleVector | BooleanVector;

/** Consecutive rows: a vector for each column, each at least `rows` long. */
export interface Batch {
  rows: number;
  vectors: readonly Vector[];
}

/** The most rows in a batch. */
export const BATCH_ROWS = 16_384;

export interface Table {
  columns: readonly Column[];
  /** Of all batches together. */
  rows: number;
  /** In order, none empty; an encoder only reads a vector, and only until it asks for the next batch. May be called again. */
  batches(): AsyncIterable<Batch>;
  /** Whose figures they are: licence, credit line and unit of each. Empty for a table without figures. */
  indicators: readonly IndicatorRecord[];
  /** The `meta` member of the JSON form, which leaves out what is undefined. */
  meta: Readonly<Record<string, unknown>>;
  /** Id of the snapshot that answers. */
  edition: string;
  /** File name of a download, without extension. */
  name: string;
}

/** Observations of one indicator, in its usual columns. */
export interface IndicatorRows {
  indicator: IndicatorRecord;
  rows: ObservationTable;
  /** Makes the `meta` member of the JSON form: other forms have no place for it. */
  meta(): Readonly<Record<string, unknown>>;
}

/** Each distinct text becomes a word. */
export function textVector(texts: readonly (string | null)[]): TextVector {
  const known = new Map<string, number>();
  const codes = Int32Array.from(texts, (text) => {
    if (text === null) return NO_WORD;
    const code = known.get(text) ?? known.size;
    known.set(text, code);
    return code;
  });
  return { type: 'text', words: [...known.keys()], codes };
}

export type Cell = string | number | boolean | null;

/** One cell as a JSON value. */
export function cellAt(vector: Vector, row: number): Cell {
  if (vector.type === 'text') return vector.words[vector.codes[row] ?? NO_WORD] ?? null;
  const value = vector.values[row] ?? Number.NaN;
  if (vector.type === 'double') return Number.isNaN(value) ? null : value;
  if (vector.type === 'integer') return value === vector.nullAs ? null : value;
  return value === NO_FLAG ? null : value === 1;
}
