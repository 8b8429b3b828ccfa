/**
 * Column chunks of Parquet, a page each, from vectors. The library's own take arrays of JavaScript values and search them for
 * what a vector knows: its distinct words, its type, and which cells are missing. Headers, levels, footer and compression are
 * the library's.
 */
import { ByteWriter, type ParquetWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js';
import { snappyCompress } from 'hyparquet-writer/src/snappy.js';
import { type Batch, type Column, type ColumnType, NO_FLAG, NO_WORD, type Vector } from './table.ts';

type RowGroup = ParquetWriter['row_groups'][number];
type ColumnChunk = RowGroup['columns'][number];
type Bound = string | number | boolean | undefined;

export const TYPES = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT32' },
  double: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
} as const satisfies Record<ColumnType, object>;

/** What is present in a column, as its pages hold it. */
interface Values {
  /** Distinct values, plainly encoded, and their number; null where the page has no dictionary. */
  dictionary: { bytes: Uint8Array; values: number } | null;
  page: Uint8Array;
  /** Least and greatest; undefined without any value. */
  min: Bound;
  max: Bound;
}

/** Writes a batch as a row group, and enters it into the footer. */
export function writeRowGroup(
  file: ParquetWriter,
  columns: readonly Column[],
  { rows, vectors }: Batch,
): void {
  const writer = file.writer as ByteWriter;
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

function writeChunk(writer: ByteWriter, name: string, vector: Vector, rows: number): ColumnChunk {
  const levels = levelsOf(vector, rows);
  const present = countOf(levels);
  const { dictionary, page, min, max } = valuesOf(vector, levels, present);
  const encoding = dictionary === null ? 'PLAIN' : 'RLE_DICTIONARY';
  const start = writer.offset;
  const dictionaryBytes = dictionary === null ? 0 : writeDictionary(writer, dictionary);
  const pageStart = writer.offset;
  const pageBytes = writePage(writer, { page, encoding, levels, nulls: rows - present });
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
        null_count: BigInt(rows - present),
      },
    },
    file_offset: BigInt(start),
  };
}

/** @returns the size before compression, with the header */
function writeDictionary(writer: ByteWriter, { bytes, values }: NonNullable<Values['dictionary']>): number {
  const compressed = snappyCompress(bytes);
  const start = writer.offset;
  writePageHeader(writer, {
    type: 'DICTIONARY_PAGE',
    uncompressed_page_size: bytes.length,
    compressed_page_size: compressed.length,
    dictionary_page_header: { num_values: values, encoding: 'PLAIN' },
  });
  const header = writer.offset - start;
  writer.appendBytes(compressed);
  return header + bytes.length;
}

interface Page {
  page: Uint8Array;
  encoding: 'PLAIN' | 'RLE_DICTIONARY';
  levels: Uint8Array;
  nulls: number;
}

/** @returns the size before compression, with the header */
function writePage(writer: ByteWriter, { page, encoding, levels, nulls }: Page): number {
  const defined = new ByteWriter();
  writeRleBitPackedHybrid(defined, levels, 1);
  const compressed = snappyCompress(page);
  const start = writer.offset;
  writePageHeader(writer, {
    type: 'DATA_PAGE_V2',
    uncompressed_page_size: defined.offset + page.length,
    compressed_page_size: defined.offset + compressed.length,
    data_page_header_v2: {
      num_values: levels.length,
      num_nulls: nulls,
      num_rows: levels.length,
      encoding,
      definition_levels_byte_length: defined.offset,
      repetition_levels_byte_length: 0,
      is_compressed: true,
    },
  });
  const header = writer.offset - start;
  writer.appendBytes(defined.getBytes());
  writer.appendBytes(compressed);
  return header + defined.offset + page.length;
}

/** By row: 1 where there is a value. */
function levelsOf(vector: Vector, rows: number): Uint8Array {
  const levels = new Uint8Array(rows).fill(1);
  if (vector.type === 'double') {
    const { values } = vector;
    for (let row = 0; row < rows; row += 1) if (Number.isNaN(values[row])) levels[row] = 0;
    return levels;
  }
  const [codes, missing] =
    vector.type === 'text'
      ? [vector.codes, NO_WORD]
      : [vector.values, vector.type === 'boolean' ? NO_FLAG : vector.nullAs];
  if (missing !== null) for (let row = 0; row < rows; row += 1) if (codes[row] === missing) levels[row] = 0;
  return levels;
}

function countOf(levels: Uint8Array): number {
  let count = 0;
  for (let row = 0; row < levels.length; row += 1) count += levels[row] as number;
  return count;
}

type Numbers = Float64Array | Int32Array | Uint8Array;

/** Copies the values that are present. */
function pack<Some extends Numbers>(values: Some, levels: Uint8Array, packed: Some): Some {
  if (packed.length === levels.length) packed.set(values.subarray(0, levels.length));
  else
    for (let row = 0, at = 0; row < levels.length; row += 1)
      if (levels[row] === 1) {
        packed[at] = values[row] as number;
        at += 1;
      }
  return packed;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Numbers): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

function valuesOf(vector: Vector, levels: Uint8Array, present: number): Values {
  if (present === 0) return { dictionary: null, page: new Uint8Array(), min: undefined, max: undefined };
  if (vector.type === 'text') return words(vector.words, pack(vector.codes, levels, new Int32Array(present)));
  if (vector.type === 'integer') return integers(pack(vector.values, levels, new Int32Array(present)));
  if (vector.type === 'double') {
    const values = pack(vector.values, levels, new Float64Array(present));
    const { min, max } = extremes(values);
    // The format wants the sign of zero so.
    return { dictionary: null, page: bytesOf(values), min: min === 0 ? -0 : min, max: max === 0 ? 0 : max };
  }
  const flags = pack(vector.values, levels, new Uint8Array(present));
  const page = new Uint8Array(Math.ceil(present / 8));
  for (let at = 0; at < present; at += 1)
    if (flags[at] === 1) page[at >> 3] = (page[at >> 3] ?? 0) | (1 << (at & 7));
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

/** Numbers as indices into those that occur. */
function indexed(values: Int32Array, min: number, max: number): { distinct: number[]; page: Uint8Array } {
  const distinct: number[] = [];
  const indexOf = new Int32Array(max - min + 1).fill(-1);
  const indices = new Int32Array(values.length);
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as number;
    let index = indexOf[value - min] as number;
    if (index === -1) {
      index = distinct.push(value) - 1;
      indexOf[value - min] = index;
    }
    indices[at] = index;
  }
  const bitWidth = Math.ceil(Math.log2(distinct.length));
  const page = new ByteWriter();
  page.appendUint8(bitWidth);
  writeRleBitPackedHybrid(page, indices, bitWidth);
  return { distinct, page: page.getBytes() };
}
