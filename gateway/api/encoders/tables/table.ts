/**
 * The table in which all rows meet the output formats: typed columns, in batches, so that memory does not grow with the
 * length of an answer. An operation makes it, an encoder reads it; neither knows the other.
 */
import type { IndicatorRecord } from '../../../../data/schema/records.ts';

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
  /** Sum over all batches. */
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
  /** The records that rows were made of, nested as they are, for formats that can show them so. */
  records?: readonly object[];
  /**
   * For rows of which the text is kept, because they are asked for so often: head and rows in a format, made by `make` of
   * all rows at the first call. The pieces are views of what is kept: do not write to them.
   */
  keptText?(
    format: string,
    make: (all: Pick<Table, 'rows' | 'batches'>) => Promise<RowText>,
  ): Promise<Buffer[]>;
}

/** Rows as text, after a head and with a separator between two rows. */
export interface RowText {
  buffer: Buffer;
  head_bytes: number;
  separator_bytes: number;
  /** Byte offset of the end of each row. */
  ends: Uint32Array;
}

/**
 * An output format. A new one is a file that implements it and a line in `registry.ts`; the `format` parameter, OpenAPI,
 * `Content-Type`, file name and compression follow from it.
 */
export interface Encoder {
  /** The value of the `format` parameter. */
  name: string;
  /** With its parameters, as `Content-Type` states it. */
  mediaType: string;
  /** File extension of a download. Null: shown in place, without `Content-Disposition`. */
  extension: string | null;
  /** UTF-8, which can be shown as it is. */
  isText: boolean;
  /** False for formats that are compressed already. */
  isCompressible: boolean;
  /** For OpenAPI; null where the operation's own schema describes the body. */
  documentation: string | null;
  /**
   * Whether rows of figures have the column `indicator` also where there is only one indicator: in formats for files that
   * are kept without their `meta`.
   */
  namesIndicator: boolean;
  /** The most rows that the format takes; absent where the bound of all answers holds. */
  rowsMax?: number;
  /** Columns without which the format cannot write a table; absent where it takes any. */
  columnsNeeded?: readonly string[];
  /** The whole body from text that is kept, in few pieces. Absent where none is kept: of most formats. */
  fromKept?(table: Table, kept: NonNullable<Table['keptText']>): Promise<Buffer[]>;
  /** The body, piece by piece, so that a long one is never held whole. A piece belongs to the reader. */
  stream(table: Table): AsyncIterable<Buffer>;
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

/** A bit a row, the lowest first. */
export function bitmap(rows: number, isSet: (row: number) => boolean): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(rows / 8));
  for (let row = 0; row < rows; row += 1)
    if (isSet(row)) bytes[row >> 3] = (bytes[row >> 3] ?? 0) | (1 << (row & 7));
  return bytes;
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

/** What an indicator is called, and whom it is credited to. */
export const creditOf = ({ id, name, unit, licence, licence_url, attribution }: IndicatorRecord) => ({
  id,
  name,
  unit,
  licence,
  licence_url,
  attribution,
});

/**
 * What a binary file says about itself, so that it can be kept without its headers: key-value pairs of its schema. Values
 * are text; those of several parts are JSON.
 */
export function fileMetadata({ edition, indicators, meta }: Table): Map<string, string> {
  const credits = indicators.map(creditOf);
  const distinct = (texts: readonly (string | null)[]): string =>
    [...new Set(texts.filter((text) => text !== null))].join('; ');
  return new Map([
    ['edition', edition],
    ['licence', distinct(credits.map(({ licence }) => licence))],
    ['licence_url', distinct(credits.map(({ licence_url }) => licence_url))],
    ['attribution', distinct(credits.map(({ attribution }) => attribution))],
    ['indicators', JSON.stringify(credits)],
    ['meta', JSON.stringify(meta)],
  ]);
}
