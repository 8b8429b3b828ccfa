/** What a call costs, by the plan that the API would charge for. */
import type { Operation } from '../api/operations/operation.ts';
import { type ParameterReader, parameterReader } from '../api/operations/parameters/parameter-reader.ts';
import { parseQueryString } from '../api/operations/parameters/parameters.ts';
import type { Edition } from '../api/snapshot/editions/edition.ts';

export interface PlannedCall {
  operation: Operation;
  path?: Readonly<Record<string, string>>;
  /** As in a URL, without `?`. */
  query?: string;
}

/** `/v1/data?indicator=…` */
export function callPath({ operation, path = {}, query = '' }: PlannedCall): string {
  const resource = operation.path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    encodeURIComponent(path[name] ?? ''),
  );
  return `/v1${resource}${query === '' ? '' : `?${query}`}`;
}

const readers = new Map<Operation, ParameterReader<unknown>>();

/** Made once: a reader describes its parameters first, which takes as long as a small page. */
function readerOf(operation: Operation): ParameterReader<unknown> {
  const reader = readers.get(operation) ?? parameterReader(operation.query, true);
  readers.set(operation, reader);
  return reader;
}

/** No price depends on where the service is. */
const NO_ADDRESS = '';

export interface CallCost {
  /** In credits. */
  price: number;
  rows: number;
}

/** Null for a call that would be refused. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function callCost(
  edition: Edition,
  { operation, path = {}, query = '' }: PlannedCall,
): Promise<CallCost | null> {
  const reading = readerOf(operation)(parseQueryString(query));
  if (!reading.ok) return null;
  const call = { snapshot: edition, path, query: reading.values, publicUrl: NO_ADDRESS };
  const planned = await operation.plan(call);
  return planned.kind === 'plan' ? { price: planned.price, rows: planned.rows } : null;
}
