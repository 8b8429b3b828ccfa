/** The IPC stream of Apache Arrow: a record batch a batch, plain types, nulls as such. */
import {
  Bool,
  type Data,
  type DataType,
  Field,
  Float64,
  Int32,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Utf8,
} from 'apache-arrow';
import {
  type Batch,
  bitmap,
  type ColumnType,
  type Encoder,
  fileMetadata,
  NO_FLAG,
  NO_WORD,
  type TextVector,
  type Vector,
} from './table.ts';

export const arrow: Encoder = {
  name: 'arrow',
  mediaType: 'application/vnd.apache.arrow.stream',
  extension: 'arrows',
  isText: false,
  isCompressible: true,
  documentation:
    'Apache Arrow IPC stream: utf8, int32, double and bool columns. The metadata of the schema has licence, attribution, units and edition.',
  namesIndicator: true,
  async *stream(table) {
    const fields = table.columns.map(({ name, type }) => new Field(name, TYPES[type], true));
    const schema = new Schema(fields, fileMetadata(table));
    const writer = new PieceWriter();
    writer.reset(undefined, schema);
    yield writer.taken();
    for await (const batch of table.batches()) {
      writer.write(recordBatch(schema, batch));
      yield writer.taken();
    }
    writer.finish();
    yield writer.taken();
  },
};

/** Hands over what was written so far, where the library's own queue would be read asynchronously. */
class PieceWriter extends RecordBatchStreamWriter {
  #pieces: Uint8Array[] = [];

  protected override _write(chunk: ArrayBufferView): this {
    const piece = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.#pieces.push(piece);
    this._position += piece.byteLength;
    return this;
  }

  taken(): Buffer {
    const taken = Buffer.concat(this.#pieces);
    this.#pieces = [];
    return taken;
  }
}

const TYPES = {
  text: new Utf8(),
  integer: new Int32(),
  double: new Float64(),
  boolean: new Bool(),
} as const satisfies Record<ColumnType, DataType>;

function recordBatch(schema: Schema, { rows, vectors }: Batch): RecordBatch {
  const children = vectors.map((vector) => toArrowData(vector, rows));
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: rows, children }));
}

function toArrowData(vector: Vector, length: number): Data {
  const props = { length, ...validityOf(vector, length) };
  if (vector.type === 'text') return makeData({ type: TYPES.text, ...props, ...utf8(vector, length) });
  if (vector.type === 'boolean')
    return makeData({
      type: TYPES.boolean,
      ...props,
      data: bitmap(length, (row) => vector.values[row] === 1),
    });
  if (vector.type === 'integer')
    return makeData({ type: TYPES.integer, ...props, data: vector.values.subarray(0, length) });
  return makeData({ type: TYPES.double, ...props, data: vector.values.subarray(0, length) });
}

function missingIn(vector: Vector): ((row: number) => boolean) | null {
  if (vector.type === 'text') return (row) => vector.codes[row] === NO_WORD;
  if (vector.type === 'double') return (row) => Number.isNaN(vector.values[row]);
  if (vector.type === 'boolean') return (row) => vector.values[row] === NO_FLAG;
  const { nullAs, values } = vector;
  return nullAs === null ? null : (row) => values[row] === nullAs;
}

/** No bitmap where nothing is missing. */
function validityOf(vector: Vector, rows: number): { nullCount: number; nullBitmap?: Uint8Array } {
  const isMissing = missingIn(vector);
  if (isMissing === null) return { nullCount: 0 };
  let nullCount = 0;
  for (let row = 0; row < rows; row += 1) if (isMissing(row)) nullCount += 1;
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap: bitmap(rows, (row) => !isMissing(row)) };
}

/** The bytes of all cells one after the other. */
function utf8({ words, codes }: TextVector, rows: number): { valueOffsets: Int32Array; data: Uint8Array } {
  const encoded = words.map((word) => Buffer.from(word));
  const valueOffsets = new Int32Array(rows + 1);
  let end = 0;
  for (let row = 0; row < rows; row += 1) {
    end += encoded[codes[row] ?? NO_WORD]?.length ?? 0;
    valueOffsets[row + 1] = end;
  }
  const data = new Uint8Array(end);
  for (let row = 0; row < rows; row += 1) {
    const word = encoded[codes[row] ?? NO_WORD];
    if (word !== undefined) data.set(word, valueOffsets[row]);
  }
  return { valueOffsets, data };
}
