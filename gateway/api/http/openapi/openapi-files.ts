/** What the machine-readable description says of files: parts, heads and conditional calls. */
import type { Operation } from '../../operations/operations.ts';
import { headerRefs, type Json, KEYED_HEADERS } from './openapi-components.ts';

const FILE_HEADERS = ['Accept-Ranges', 'Content-Disposition', 'Link', 'X-Attribution'];

/** Absent from a dry run. */
const ENTITY_TAG: Json = {
  ETag: {
    description: 'Strong entity tag: the SHA-256 of the file',
    schema: { type: 'string' },
  },
};

const parameter = (name: string, description: string, pattern?: string): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string', ...(pattern === undefined ? {} : { pattern }) },
});

const PARAMETERS: readonly Json[] = [
  parameter('Range', 'A part of the file, `bytes=0-1023`. Several ranges give the whole file.'),
  parameter(
    'If-Range',
    'The entity tag of the file that `Range` is about: of another file the whole is sent.',
  ),
  parameter('If-None-Match', 'The entity tag of a copy: 304, free, where it is still the file.'),
];

/** A success of a file: its bytes, or what they would cost. @param dryRun null where it is free. */
export const fileResponse = (
  { summary, mediaType = '', answer }: Operation,
  names: readonly string[],
  dryRun: Json | null,
): Json => ({
  description: summary,
  headers: { ...headerRefs([...new Set([...names, ...FILE_HEADERS, ...KEYED_HEADERS])]), ...ENTITY_TAG },
  content: {
    [mediaType]: { schema: { type: 'string', format: 'binary', description: answer.description } },
    ...(dryRun !== null && { 'application/json': { schema: dryRun } }),
  },
});

interface Described {
  operationId: string;
  parameters: Json[];
  responses: Record<string, Json>;
}

/** @param get described like other operations. */
export function describeFile(get: Json): Json {
  const { parameters, responses } = get as unknown as Described;
  const { '200': whole = {} } = responses;
  const { content } = whole as { content: Record<string, Json> };
  const { 'application/json': _, ...bytes } = content;
  const { headers } = whole as { headers: Json };
  const part = {
    description: 'The part that `Range` asks for',
    headers: { ...headers, ...headerRefs(['Content-Range']) },
    content: bytes,
  };
  const same = { description: 'The caller has this file already. Free.', headers };
  const { '416': none = {}, ...others } = responses;
  const unsatisfiable = { ...none, headers: { ...(none.headers as Json), ...headerRefs(['Content-Range']) } };
  return {
    ...get,
    parameters: [...parameters, ...PARAMETERS],
    responses: { ...others, '206': part, '304': same, '416': unsatisfiable },
  };
}

/** @param get described like other operations. */
export function describeHead(get: Json, { needsKey }: Operation): Json {
  const { operationId, parameters, responses } = get as unknown as Described;
  const { '416': _, ...others } = responses;
  const heads = Object.entries(others).map(([status, { content: __, ...response }]) => [status, response]);
  return {
    ...get,
    operationId: operationId.replace(/^get/, 'head'),
    description: `Size and entity tag of the file. ${needsKey ? 'Needs a key. ' : ''}Free.`,
    parameters: parameters.filter(({ name }) => name !== 'Idempotency-Key'),
    responses: Object.fromEntries(heads),
  };
}
