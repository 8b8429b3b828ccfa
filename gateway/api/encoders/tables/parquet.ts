/**
 * Parquet: a row group a batch, so that neither memory nor the time between two turns of the event loop grows.
 *
 * Column chunks, a page each, are made from vectors. The library's own take arrays of JavaScript values and search them for
 * what a vector knows: its distinct words, its type, and which cells are missing. Headers and footer are the library's.
 *
 * Chunks are made one after the other, in memory that all of them share: with memory of their own, half the time of a short
 * file went to collecting it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { compressSync } from 'snappy';
import { runBytesMax, Scratch, writeRun, writeRuns } from './parquet-runs.ts';
import {
  type Batch,
  bitmap,
  type Column,
  type ColumnType,
  type Encoder,
  fileMetadata,
  NO_FLAG,
  NO_WORD,
  type Vector,
} from './table.ts';

export const PARQUET_TYPE = 'application/vnd.apache.parquet';

export const parquet: Encoder = {
  name: 'parquet',
  mediaType: PARQUET_TYPE,
  extension: 'parquet',
  isText: false,
  isCompressible: false,
  documentation:
    'Parquet, Snappy: string, int32, double and boolean columns. The key-value metadata has licence, attribution, units and edition.',
  namesIndicator: true,
  async *stream(table) {
    const writer = new PieceWriter();
    const file = new ParquetWriter({
      writer,
      schema: [{ name: 'rows', num_children: table.columns.length }, ...table.columns.map(elementOf)],
      kvMetadata: [...fileMetadata(table)].map(([key, value]) => ({ key, value })),
      createdBy: 'Almanac',
    });
    yield writer.taken();
    for await (const batch of table.batches()) {
      writeRowGroup(file, writer, table.columns, batch);
      yield writer.taken();
      await nextTurn();
    }
    file.finish();
    yield writer.taken();
  },
};

const elementOf = ({ name, type }: Column) => ({
  name,
  repetition_type: 'OPTIONAL' as const,
  ...TYPES[type],
});

type RowGroup = ParquetWriter['row_groups'][number];
type ColumnChunk = RowGroup['columns'][number];
type Bound = string | number | boolean | undefined;

const TYPES = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT32' },
  double: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
} as const satisfies Record<ColumnType, object>;

/** Collects what a file consists of and hands it over in pieces. Offsets count on. */
class PieceWriter extends ByteWriter {
  #pieces: Uint8Array[] = [];

  /** Appends bytes that nobody writes to any more, without copying them. */
  give(bytes: Uint8Array): void {
    this.#pieces.push(this.#copied(), bytes);
    this.offset += bytes.length;
  }

  /** What was written since the last call. */
  taken(): Buffer {
    const pieces = this.#pieces;
    this.#pieces = [];
    return Buffer.concat([...pieces, this.#copied()]);
  }

  #copied(): Uint8Array {
    const copied = Buffer.from(this.getBytes());
    this.index = 0;
    return copied;
  }
}

/** What is present in a column, as its pages hold it. */
interface Values {
  /** Distinct values, plainly encoded, and their number; null where the page has no dictionary. */
  dictionary: { bytes: Uint8Array; values: number } | null;
  page: Uint8Array;
  /** Least and greatest; undefined without any value. */
  min: Bound;
  max: Bound;
}

/** Writes a batch as a row group, and enters it into the footer. @param writer of the file */
function writeRowGroup(
  file: ParquetWriter,
  writer: PieceWriter,
  columns: readonly Column[],
  { rows, vectors }: Batch,
): void {
  const start = writer.offset;
  const chunks = vectors.map((vector, at) => writeChunk(writer, columns[at]?.name ?? '', vector, rows));
  file.num_rows += BigInt(rows);
  file.row_groups.push({
    columns: chunks,
    total_byte_size: chunks.reduce(
      (sum, { meta_data }) => sum + (meta_data?.total_uncompressed_size ?? 0n),
      0n,
    ),
    num_rows: BigInt(rows),
    total_compressed_size: BigInt(writer.offset - start),
  });
}

function writeChunk(writer: PieceWriter, name: string, vector: Vector, rows: number): ColumnChunk {
  const presence = presenceOf(vector, rows);
  const nulls = rows - presence.present;
  const { dictionary, page, min, max } = valuesOf(vector, presence);
  const encoding = dictionary === null ? 'PLAIN' : 'RLE_DICTIONARY';
  const start = writer.offset;
  const dictionaryBytes = dictionary === null ? 0 : writeDictionary(writer, dictionary);
  const pageStart = writer.offset;
  const pageBytes = writePage(writer, { page, encoding, presence });
  return {
    meta_data: {
      type: TYPES[vector.type].type,
      encodings: dictionary === null ? ['PLAIN'] : ['PLAIN', 'RLE_DICTIONARY'],
      path_in_schema: [name],
      codec: 'SNAPPY',
      num_values: BigInt(rows),
      total_compressed_size: BigInt(writer.offset - start),
      total_uncompressed_size: BigInt(dictionaryBytes + pageBytes),
      data_page_offset: BigInt(pageStart),
      ...(dictionary !== null && { dictionary_page_offset: BigInt(start) }),
      statistics: {
        ...(min !== undefined && max !== undefined && { min_value: min, max_value: max }),
        null_count: BigInt(nulls),
      },
    },
    file_offset: BigInt(start),
  };
}

/** @returns the size before compression, with the header */
function writeDictionary(writer: PieceWriter, { bytes, values }: NonNullable<Values['dictionary']>): number {
  const compressed = compressSync(bytes);
  const start = writer.offset;
  writePageHeader(writer, {
    type: 'DICTIONARY_PAGE',
    uncompressed_page_size: bytes.length,
    compressed_page_size: compressed.length,
    dictionary_page_header: { num_values: values, encoding: 'PLAIN' },
  });
  const header = writer.offset - start;
  writer.give(compressed);
  return header + bytes.length;
}

interface Page {
  page: Uint8Array;
  encoding: 'PLAIN' | 'RLE_DICTIONARY';
  presence: Presence;
}

/** @returns the size before compression, with the header */
function writePage(writer: PieceWriter, { page, encoding, presence }: Page): number {
  const defined = definitionLevels(presence);
  const compressed = compressSync(page);
  const start = writer.offset;
  writePageHeader(writer, {
    type: 'DATA_PAGE_V2',
    uncompressed_page_size: defined.length + page.length,
    compressed_page_size: defined.length + compressed.length,
    data_page_header_v2: {
      num_values: presence.rows,
      num_nulls: presence.rows - presence.present,
      num_rows: presence.rows,
      encoding,
      definition_levels_byte_length: defined.length,
      repetition_levels_byte_length: 0,
      is_compressed: true,
    },
  });
  const header = writer.offset - start;
  writer.appendBytes(defined);
  writer.give(compressed);
  return header + defined.length + page.length;
}

type Numbers = Float64Array | Int32Array | Uint8Array;

const DOUBLES = new Scratch(Float64Array);
const INTEGERS = new Scratch(Int32Array);
const FLAGS = new Scratch(Uint8Array);

/** The values that are present: a view where all are. */
function pack<Some extends Numbers>(values: Some, { present, levels }: Presence, into: Scratch<Some>): Some {
  if (levels === null) return values.subarray(0, present) as Some;
  const packed = into.of(present);
  for (let row = 0, at = 0; at < present; row += 1)
    if (levels[row] === 1) {
      packed[at] = values[row] as number;
      at += 1;
    }
  return packed;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Numbers): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

function valuesOf(vector: Vector, presence: Presence): Values {
  const { present } = presence;
  if (present === 0) return { dictionary: null, page: new Uint8Array(), min: undefined, max: undefined };
  if (vector.type === 'text') return words(vector.words, pack(vector.codes, presence, INTEGERS));
  if (vector.type === 'integer') return integers(pack(vector.values, presence, INTEGERS));
  if (vector.type === 'double') {
    const values = pack(vector.values, presence, DOUBLES);
    const { min, max } = extremes(values);
    // The format wants the sign of zero so.
    return { dictionary: null, page: bytesOf(values), min: min === 0 ? -0 : min, max: max === 0 ? 0 : max };
  }
  const flags = pack(vector.values, presence, FLAGS);
  const page = bitmap(present, (at) => flags[at] === 1);
  return { dictionary: null, page, min: flags.every((flag) => flag === 1), max: flags.includes(1) };
}

function extremes(values: Float64Array | Int32Array): { min: number; max: number } {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as number;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { min, max };
}

/** Integers that lie nearer together are written by a dictionary. */
const SPREAD_MAX = 4_096;

function integers(values: Int32Array): Values {
  const { min, max } = extremes(values);
  if (max - min >= SPREAD_MAX) return { dictionary: null, page: bytesOf(values), min, max };
  const { distinct, page } = indexed(values, min, max);
  return {
    dictionary: { bytes: bytesOf(Int32Array.from(distinct)), values: distinct.length },
    page,
    min,
    max,
  };
}

function words(all: readonly string[], codes: Int32Array): Values {
  const { min, max } = extremes(codes);
  const { distinct, page } = indexed(codes, min, max);
  const texts = distinct.map((code) => all[code] ?? '');
  const bytes = new ByteWriter();
  for (const text of texts) {
    const encoded = Buffer.from(text);
    bytes.appendUint32(encoded.length);
    bytes.appendBytes(encoded);
  }
  // Bounds follow the order of bytes.
  const sorted = texts.map((text) => Buffer.from(text)).sort(Buffer.compare);
  const dictionary = { bytes: bytes.getBytes(), values: texts.length };
  return { dictionary, page, min: String(sorted[0]), max: String(sorted.at(-1)) };
}

const INDEX_OF = new Scratch(Int32Array);
const INDICES = new Scratch(Int32Array);
const INDEX_RUNS = new Scratch(Uint8Array);

/** Numbers as indices into those that occur. */
function indexed(values: Int32Array, min: number, max: number): { distinct: number[]; page: Uint8Array } {
  const distinct: number[] = [];
  const indexOf = INDEX_OF.of(max - min + 1).fill(-1);
  const indices = INDICES.of(values.length);
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as number;
    let index = indexOf[value - min] as number;
    if (index === -1) {
      index = distinct.push(value) - 1;
      indexOf[value - min] = index;
    }
    indices[at] = index;
  }
  const bitWidth = 32 - Math.clz32(distinct.length - 1);
  const page = INDEX_RUNS.of(1 + runBytesMax(values.length, bitWidth));
  page[0] = bitWidth;
  return { distinct, page: page.subarray(0, 1 + writeRuns(indices, bitWidth, page.subarray(1))) };
}

/** Which cells of a column have a value. */
interface Presence {
  rows: number;
  /** How many have one. */
  present: number;
  /** By row: 1 where there is a value. Null where all have one, or none. */
  levels: Uint8Array | null;
}

const LEVELS = new Scratch(Uint8Array);
const LEVEL_RUNS = new Scratch(Uint8Array);

function presenceOf(vector: Vector, rows: number): Presence {
  const levels = LEVELS.of(rows);
  const present = vector.type === 'double' ? markNumbers(vector.values, levels) : markCodes(vector, levels);
  return { rows, present, levels: present === rows || present === 0 ? null : levels };
}

// Two plain loops: a call for each cell takes six times as long.

/** @returns how many are present */
function markNumbers(values: Float64Array, levels: Uint8Array): number {
  let present = 0;
  for (let row = 0; row < levels.length; row += 1) {
    const level = Number.isNaN(values[row]) ? 0 : 1;
    levels[row] = level;
    present += level;
  }
  return present;
}

/** @returns how many are present */
function markCodes(vector: Exclude<Vector, { type: 'double' }>, levels: Uint8Array): number {
  const [codes, missing] =
    vector.type === 'text'
      ? [vector.codes, NO_WORD]
      : [vector.values, vector.type === 'boolean' ? NO_FLAG : vector.nullAs];
  if (missing === null) return levels.length;
  let present = 0;
  for (let row = 0; row < levels.length; row += 1) {
    const level = codes[row] === missing ? 0 : 1;
    levels[row] = level;
    present += level;
  }
  return present;
}

/** In the hybrid of runs and packed bits; most columns are one run. */
function definitionLevels({ rows, present, levels }: Presence): Uint8Array {
  const into = LEVEL_RUNS.of(runBytesMax(rows, 1));
  const written =
    levels === null
      ? writeRun({ value: present === 0 ? 0 : 1, count: rows }, 1, into, 0)
      : writeRuns(levels, 1, into);
  return into.subarray(0, written);
}
