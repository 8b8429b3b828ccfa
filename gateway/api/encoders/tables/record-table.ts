/** Tables of records, whose columns follow from the schema of a record. */
import { z } from 'zod';
import {
  BATCH_ROWS,
  type Batch,
  type Cell,
  type Column,
  type ColumnType,
  NO_FLAG,
  NO_INTEGER,
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

/** A record as JSON has it. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** @param rows gives some of the records: from `start` up to, not including, `end`. */
export async function* recordBatches(
  columns: readonly Column[],
  count: number,
  rows: (start: number, end: number) => readonly JsonRecord[],
): AsyncGenerator<Batch> {
  for (let start = 0; start < count; start += BATCH_ROWS) {
    const records = rows(start, Math.min(count, start + BATCH_ROWS));
    yield { rows: records.length, vectors: columns.map((column) => vectorOf(column, records)) };
  }
}

function vectorOf({ name, type }: Column, records: readonly JsonRecord[]): Vector {
  const path = name.split('.');
  const cells = records.map((record) => toCell(path.reduce(member, record)));
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
  Object.fromEntries(columns.map(({ name }) => [name, toCell(name.split('.').reduce(member, record))]));

const member = (value: unknown, field: string): unknown =>
  typeof value === 'object' && value !== null ? (value as JsonRecord)[field] : null;

const isScalar = (value: unknown): value is Cell =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);

/** Words of a list are separated by semicolons; what is nested deeper is JSON. */
function toCell(value: unknown): Cell {
  if (value === undefined || isScalar(value)) return value ?? null;
  return Array.isArray(value) && value.every(isScalar) ? value.join(';') : JSON.stringify(value);
}
