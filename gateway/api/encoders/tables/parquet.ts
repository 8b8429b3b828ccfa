/** Parquet: a row group a batch, so that neither memory nor the time between two turns of the event loop grows. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ParquetWriter } from 'hyparquet-writer';
import { PieceWriter, TYPES, writeRowGroup } from './parquet-columns.ts';
import { type Column, type Encoder, fileMetadata } from './table.ts';

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
