/** What the machine-readable description says of files: parts, heads and conditional calls. */
import type { Operation } from '../../operations/operations.ts';
import {
  type Described,
  headerRefs,
  type Json,
  KEYED_HEADERS,
  withoutContent,
} from './openapi-components.ts';

const FILE_HEADERS = ['Accept-Ranges', 'Content-Disposition', 'Link', 'X-Attribution'];

/** Absent from a dry run. */
const ENTITY_TAG: Json = {
  ETag: {
    description: 'Strong entity tag: the SHA-256 of the file',
    schema: { type: 'string' },
  },
};

const parameter = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
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

/** @param get described like other operations. */
export function describeFile(get: Described): Described {
  const { 200: whole, 416: none } = get.responses;
  const { headers, content } = whole as { headers: Json; content: Json };
  const { 'application/json': _, ...bytes } = content;
  const range = headerRefs(['Content-Range']);
  return {
    ...get,
    parameters: [...get.parameters, ...PARAMETERS],
    responses: {
      ...get.responses,
      206: {
        description: 'The part that `Range` asks for',
        headers: { ...headers, ...range },
        content: bytes,
      },
      304: { description: 'The caller has this file already. Free.', headers },
      416: { ...none, headers: { ...(none?.headers as Json), ...range } },
    },
  };
}

/** @param get described like other operations. */
export function describeHead(get: Described, { needsKey }: Operation): Described {
  const { 416: _, ...others } = get.responses;
  return {
    ...get,
    operationId: get.operationId.replace(/^get/, 'head'),
    description: `Size and entity tag of the file. ${needsKey ? 'Needs a key. ' : ''}Free.`,
    parameters: get.parameters.filter(({ name }) => name !== 'Idempotency-Key'),
    responses: withoutContent(others),
  };
}
