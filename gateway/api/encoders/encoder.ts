/**
 * The contract of an output format. A new format is one file that implements it and one line in `registry.ts`;
 * the `format` parameter, OpenAPI, `Content-Type`, file name and compression follow from it.
 */
import type { IndicatorRows, Table } from './tables/table.ts';

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
  /** The body, piece by piece, so that a long one is never held whole. A piece belongs to the reader. */
  stream(table: Table): AsyncIterable<Buffer>;
}

/** A format that is asked for so often that the rows of an indicator are kept as text. */
export interface CachedEncoder extends Encoder {
  /** The whole body, in one or more pieces. Pieces may be views of cached text: do not write to them. */
  encodeCached(table: IndicatorRows): Promise<Buffer[]>;
}

export const isCached = (encoder: Encoder): encoder is CachedEncoder => 'encodeCached' in encoder;
