/**
 * SDMX-CSV 2.0.0 data messages. Rows of the long layout only: an indicator, a country and a year identify a figure. Licence,
 * credit line, unit and edition are attributes of every row, because a message has no other place for them.
 */
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { type Batch, type Column, type Encoder, NO_WORD, type Table, type TextVector } from './table.ts';
import { csv } from './text-formats.ts';

/** Names that SDMX has for our columns; the others are in upper case. */
const CONCEPTS: Readonly<Record<string, string>> = {
  iso3: 'REF_AREA',
  year: 'TIME_PERIOD',
  value: 'OBS_VALUE',
  status: 'OBS_STATUS',
  unit: 'UNIT_MEASURE',
};

const DIMENSIONS = ['indicator', 'iso3', 'year'] as const;

/** The same in every row. `I`: the rows inform, and ask for no change. */
const TARGET = { STRUCTURE: 'dataflow', STRUCTURE_ID: 'ALMANAC:OBSERVATIONS(1.0.0)', ACTION: 'I' } as const;

const ATTRIBUTES: Readonly<Record<string, (record: IndicatorRecord) => string | null>> = {
  UNIT_MEASURE: ({ unit }) => unit,
  LICENCE: ({ licence }) => licence,
  LICENCE_URL: ({ licence_url }) => licence_url,
  ATTRIBUTION: ({ attribution }) => attribution,
};

const concept = (name: string): string => CONCEPTS[name] ?? name.toUpperCase();
const text = (name: string): Column => ({ name, type: 'text' });

export const sdmxCsv: Encoder = {
  name: 'sdmx-csv',
  mediaType: 'application/vnd.sdmx.data+csv; version=2.0.0',
  extension: 'csv',
  isText: true,
  isCompressible: true,
  documentation:
    'SDMX-CSV 2.0.0, UTF-8. Dimensions `INDICATOR`, `REF_AREA`, `TIME_PERIOD`; measure `OBS_VALUE`; the other columns are ' +
    'attributes, among them unit, licence, attribution and edition. Not with `layout=wide`.',
  namesIndicator: true,
  columnsNeeded: DIMENSIONS,
  stream: (table) => csv.stream(asMessage(table)),
};

/** The table with the columns of a message. */
function asMessage(table: Table): Table {
  const own = table.columns.map(({ name, type }) => ({ name: concept(name), type }));
  const attributes = Object.entries(ATTRIBUTES).filter(([name]) =>
    own.every((column) => column.name !== name),
  );
  const indicatorAt = table.columns.findIndex(({ name }) => name === 'indicator');
  const records = new Map(table.indicators.map((record) => [record.id, record]));
  const extended = ({ rows, vectors }: Batch): Batch => {
    const indicators = vectors[indicatorAt];
    if (indicators?.type !== 'text') throw new Error('rows without an indicator');
    const added = attributes.map(([, pick]) => attributeOf(indicators, records, pick));
    const edition = constant(table.edition, rows);
    return { rows, vectors: [...targetOf(rows), ...vectors, ...added, edition] };
  };
  return {
    ...table,
    columns: [
      ...Object.keys(TARGET).map(text),
      ...own,
      ...attributes.map(([name]) => text(name)),
      text('EDITION'),
    ],
    async *batches() {
      for await (const batch of table.batches()) yield extended(batch);
    },
  };
}

const constant = (word: string, rows: number): TextVector => ({
  type: 'text',
  words: [word],
  codes: new Int32Array(rows),
});

const targetOf = (rows: number): TextVector[] => Object.values(TARGET).map((word) => constant(word, rows));

/** An attribute of each row's indicator. */
function attributeOf(
  { words, codes }: TextVector,
  records: ReadonlyMap<string, IndicatorRecord>,
  pick: (record: IndicatorRecord) => string | null,
): TextVector {
  const texts = words.map((id) => {
    const record = records.get(id);
    return record === undefined ? null : pick(record);
  });
  return {
    type: 'text',
    words: texts.map((one) => one ?? ''),
    codes: codes.map((code) => (texts[code] === null ? NO_WORD : code)),
  };
}
