/** Reads the parameters of an operation as they stand in a URL. */
import { isPriced, type Operation } from '../operations/operation.ts';
import {
  type ParameterReader,
  type ParameterReading,
  parameterReader,
} from '../operations/parameters/parameter-reader.ts';
import { parseQueryString } from '../operations/parameters/parameters.ts';

const readers = new Map<Operation, ParameterReader<unknown>>();

/** @param query without `?` */
export function readQuery(operation: Operation, query: string): ParameterReading<unknown> {
  // Made once: a reader describes its parameters first.
  const reader = readers.get(operation) ?? parameterReader(operation.query, isPriced(operation));
  readers.set(operation, reader);
  return reader(parseQueryString(query));
}
