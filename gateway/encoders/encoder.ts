/**
 * The contract of an output format. A new format is one file that implements it and one line in `registry.ts`;
 * the `format` parameter, OpenAPI, `Content-Type`, file name and compression follow from it.
 */
import type { DataTable } from '../operations/operation.ts';

export interface Encoder {
  /** The value of the `format` parameter. */
  name: string;
  /** With its parameters, as `Content-Type` states it. */
  mediaType: string;
  /** File extension of a download. Null: shown in place, without `Content-Disposition`. */
  extension: string | null;
  /** False for formats that are compressed already. */
  isCompressible: boolean;
  /** For OpenAPI; null where the operation's own schema describes the body. */
  documentation: string | null;
  /** The whole body, in one or more pieces. Pieces may be views of cached text: do not write to them. */
  encode(table: DataTable): Buffer[] | Promise<Buffer[]>;
}
