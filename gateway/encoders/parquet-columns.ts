/**
 * Column chunks of Parquet, a page each, from vectors. The library's own take arrays of JavaScript values and search them for
 * what a vector knows: its distinct words, its type, and which cells are missing. Headers, runs and footer are the library's.
 */
import { ByteWriter, type ParquetWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js';
import { compressSync } from 'snappy';
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
function writeDictionary(writer: ByteWriter, { bytes, values }: NonNullable<Values['dictionary']>): number {
  const compressed = compressSync(bytes);
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
  presence: Presence;
}

/** @returns the size before compression, with the header */
function writePage(writer: ByteWriter, { page, encoding, presence }: Page): number {
  const defined = definitionLevels(presence);
  const compressed = compressSync(page);
  const start = writer.offset;
  writePageHeader(writer, {
    type: 'DATA_PAGE_V2',
    uncompressed_page_size: defined.offset + page.length,
    compressed_page_size: defined.offset + compressed.length,
    data_page_header_v2: {
      num_values: presence.rows,
      num_nulls: presence.rows - presence.present,
      num_rows: presence.rows,
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

/** Which cells of a column have a value. */
interface Presence {
  rows: number;
  /** How many have one. */
  present: number;
  /** By row: 1 where there is a value. Null where all have one, or none. */
  levels: Uint8Array | null;
}

function presenceOf(vector: Vector, rows: number): Presence {
  const levels = levelsOf(vector, rows);
  if (levels === null) return { rows, present: rows, levels };
  let present = 0;
  for (let row = 0; row < rows; row += 1) present += levels[row] as number;
  return { rows, present, levels: present === rows || present === 0 ? null : levels };
}

/** Null where no cell can be missing. */
function levelsOf(vector: Vector, rows: number): Uint8Array | null {
  const levels = new Uint8Array(rows);
  if (vector.type === 'double') {
    const { values } = vector;
    for (let row = 0; row < rows; row += 1) levels[row] = Number.isNaN(values[row]) ? 0 : 1;
    return levels;
  }
  const [codes, missing] =
    vector.type === 'text'
      ? [vector.codes, NO_WORD]
      : [vector.values, vector.type === 'boolean' ? NO_FLAG : vector.nullAs];
  if (missing === null) return null;
  for (let row = 0; row < rows; row += 1) levels[row] = codes[row] === missing ? 0 : 1;
  return levels;
}

/** In the hybrid of runs and packed bits; most columns are one run. */
function definitionLevels({ rows, present, levels }: Presence): ByteWriter {
  const bytes = new ByteWriter();
  if (levels !== null) {
    writeRleBitPackedHybrid(bytes, levels, 1);
    return bytes;
  }
  bytes.appendVarInt(rows << 1);
  bytes.appendUint8(present === 0 ? 0 : 1);
  return bytes;
}

type Numbers = Float64Array | Int32Array | Uint8Array;

/** The values that are present: a view where all are. */
function pack<Some extends Numbers>(values: Some, { present, levels }: Presence): Some {
  if (levels === null) return values.subarray(0, present) as Some;
  const packed = values.slice(0, present) as Some;
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
  if (vector.type === 'text') return words(vector.words, pack(vector.codes, presence));
  if (vector.type === 'integer') return integers(pack(vector.values, presence));
  if (vector.type === 'double') {
    const values = pack(vector.values, presence);
    const { min, max } = extremes(values);
    // The format wants the sign of zero so.
    return { dictionary: null, page: bytesOf(values), min: min === 0 ? -0 : min, max: max === 0 ? 0 : max };
  }
  const flags = pack(vector.values, presence);
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
