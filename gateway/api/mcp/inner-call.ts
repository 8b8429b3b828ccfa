/** Asks other operations on behalf of a tool: their plans decide prices and refusals. */
import type { Content, Operation, Planned } from '../operations/operation.ts';
import type { Edition } from '../snapshot/editions/edition.ts';
import { readQuery } from './query-reading.ts';

export interface InnerCall {
  operation: Operation;
  path?: Readonly<Record<string, string>>;
  /** Without parameters that are undefined. */
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** In addition, for parameters that are repeated. */
  repeated?: readonly (readonly [string, string])[];
}

/** As in a URL, without `?`. */
function queryText({ query = {}, repeated = [] }: InnerCall): string {
  const sent = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return [...sent, ...repeated].map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
}

/** The path under which the same can be asked for over HTTP. */
export function pathOf(call: InnerCall): string {
  const resource = call.operation.path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    encodeURIComponent(call.path?.[name] ?? ''),
  );
  const query = queryText(call);
  return `/v1${resource}${query === '' ? '' : `?${query}`}`;
}

/** What a tool is asked of, and where callers reach the service. */
export interface Asking {
  edition: Edition;
  publicUrl: string;
}

/** @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function planInner({ edition: snapshot, publicUrl }: Asking, call: InnerCall): Promise<Planned> {
  const reading = readQuery(call.operation, queryText(call));
  if (!reading.ok) return { kind: 'invalid', detail: reading.detail };
  return call.operation.plan({ snapshot, path: call.path ?? {}, query: reading.values, publicUrl });
}

/** A JSON document. The call is one that is answered by such, not by a stored file. */
export async function documentOf<Body>(content: Content | Promise<Content>): Promise<Body> {
  const made = await content;
  if (made.kind !== 'document') throw new Error(`a document was expected, not a ${made.kind}`);
  return JSON.parse(made.json.toString());
}
