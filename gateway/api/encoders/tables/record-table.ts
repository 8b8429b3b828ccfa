/** Tables of records, whose columns follow from the schema of a record. */
import { z } from 'zod';
import {
  BATCH_ROWS,
  type Cell,
  type Column,
  type ColumnType,
  NO_FLAG,
  NO_INTEGER,
  type Table,
  textVector,
  type Vector,
} from './table.ts';

interface Described {
  type?: string | string[];
  anyOf?: Described[];
  properties?: Record<string, Described>;
}

const TYPES: Readonly<Record<string, ColumnType>> = {
  string: 'text',
  integer: 'integer',
  number: 'double',
  boolean: 'boolean',
};

/** A column for each field; the fields of a nested record are dotted. Lists and maps are text. */
export const columnsOf = (record: z.ZodType): Column[] => flattened(z.toJSONSchema(record) as Described, '');

function flattened({ properties = {} }: Described, prefix: string): Column[] {
  return Object.entries(properties).flatMap(([field, described]): Column[] => {
    const name = prefix + field;
    const held = described.anyOf?.find(({ type }) => type !== 'null') ?? described;
    if (held.properties !== undefined) return flattened(held, `${name}.`);
    const type = [held.type].flat().find((one) => one !== 'null') ?? '';
    return [{ name, type: TYPES[type] ?? 'text' }];
  });
}

/**
 * A table of records.
 * @param toRecord makes a record of what is given, when it is written.
 */
export const recordTable = <Item>(
  columns: readonly Column[],
  items: readonly Item[],
  about: Omit<Table, 'columns' | 'rows' | 'batches'>,
  toRecord: (item: Item) => object,
): Table => ({
  columns,
  rows: items.length,
  async *batches() {
    for (let start = 0; start < items.length; start += BATCH_ROWS) {
      const records = items.slice(start, start + BATCH_ROWS).map(toRecord);
      yield { rows: records.length, vectors: columns.map((column) => toVector(column, records)) };
    }
  },
  ...about,
});

function toVector({ name, type }: Column, records: readonly object[]): Vector {
  const path = name.split('.');
  const cells = records.map((record) => toCell(path.reduce<unknown>(member, record)));
  if (type === 'text') return textVector(cells.map((cell) => (cell === null ? null : String(cell))));
  if (type === 'double')
    return { type, values: Float64Array.from(cells, (cell) => (cell === null ? Number.NaN : Number(cell))) };
  if (type === 'boolean')
    return { type, values: Uint8Array.from(cells, (cell) => (cell === null ? NO_FLAG : Number(cell))) };
  const values = Int32Array.from(cells, (cell) => (cell === null ? NO_INTEGER : Number(cell)));
  return { type, values, nullAs: NO_INTEGER };
}

/** A record as a row of these columns. */
export const recordCells = (columns: readonly Column[], record: object): Record<string, Cell> =>
  Object.fromEntries(
    columns.map(({ name }) => [name, toCell(name.split('.').reduce<unknown>(member, record))]),
  );

const member = (value: unknown, field: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[field] : null;

const isScalar = (value: unknown): value is Cell =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);

/** Words of a list are separated by semicolons; what is nested deeper is JSON. */
function toCell(value: unknown): Cell {
  if (value === undefined || isScalar(value)) return value ?? null;
  return Array.isArray(value) && value.every(isScalar) ? value.join(';') : JSON.stringify(value);
}
