/**
 * The machine-readable description, OpenAPI 3.1, generated from the definitions that validate and answer.
 *
 * Run by itself it prints the document: `node gateway/api/http/openapi/openapi.ts > openapi.json`.
 */
import { z } from 'zod';
import type { ErrorCode } from '../../core/errors.ts';
import { ENCODERS } from '../../encoders/encoders.ts';
import {
  controls,
  dryRunAnswer,
  isPriced,
  OPERATIONS,
  type Operation,
  PAIRS_MAX,
  type QuerySchema,
} from '../../operations/operations.ts';
import { DOCUMENTED_PREFIX } from '../api/public-api.ts';
import {
  bareType,
  componentSchemas,
  type Described,
  failureResponses,
  HEADERS,
  headerParameters,
  headerRefs,
  INVALID_RESPONSE,
  type Json,
  KEYED_HEADERS,
  schemaRef,
} from './openapi-components.ts';
import type { Examples, OperationExamples } from './openapi-examples.ts';
import { feedPaths } from './openapi-feeds.ts';
import { describeFile, describeHead, fileResponse } from './openapi-files.ts';

const DESCRIPTION = `Comparative country statistics as one exact, metered, read-only API.

Every route is served under \`/v1\` and \`/data/api/v1\` alike: \`/v1/openapi.json\` lists the former, \`/openapi.json\` the latter.
Only GET is accepted, HEAD of files, OPTIONS of a browser that asks before a script's call, and what makes and revokes feed
links; any other method is answered 405 \`method_not_allowed\`. A success is \`{ data, meta }\`, a failure \`{ error: { code, message } }\`, a parameter that fails
validation 422 \`{ detail: [...] }\`.

**Credits.** Catalogue routes are free and need no key. Routes that return figures need \`Authorization: Bearer <key>\`
and cost what each one says. A refused request costs nothing.

**Rate.** Every request counts: per key's account, or per address without a key. At the limit: 429 \`rate_limited\`.

**Parameters.** A boolean is \`true\` or \`false\`; \`1\`, \`yes\`, \`on\`, \`0\`, \`no\` and \`off\` are understood, too. Lists are
separated by commas, but for \`claim\`, which is repeated. A query has at most ${PAIRS_MAX} parameters.

**What cannot be read** as HTTP is 400 \`bad_request\`, 417 or 431, with the body of a failure.

**Credit.** Data carries its provider's licence: publish the \`attribution\` that comes with it.`;

const TAGS = [
  {
    name: 'Catalogue',
    description: 'What there is: countries, indicators, topics, freshness, coverage. Free.',
  },
  { name: 'Data', description: 'The figures. They need a key and cost credits.' },
  { name: 'Account', description: 'What a key may know of itself. Free.' },
];

/** @param examples from the snapshot that is served. @param prefix of the paths. @param publicUrl of the service. */
export function buildOpenApi(
  examples: Examples = {},
  prefix: string = DOCUMENTED_PREFIX,
  publicUrl?: string,
): Json {
  const answering = OPERATIONS.filter(({ isFile }) => !isFile);
  const answers = answering.map((operation) => [answerName(operation), operation.answer] as const);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Almanac',
      version: '1.0',
      summary: 'Comparative country data',
      description: DESCRIPTION,
      contact: {
        name: 'The operator of this service',
        ...(publicUrl === undefined ? {} : { url: publicUrl }),
      },
      license: {
        name: 'Apache-2.0 (the software; data under its providers’ licences)',
        identifier: 'Apache-2.0',
      },
    },
    servers: [{ url: '/', description: 'This service' }],
    tags: TAGS,
    paths: {
      ...Object.fromEntries(
        OPERATIONS.map((operation) => [
          prefix + operation.path,
          describePath(operation, examples[operation.name] ?? NO_EXAMPLES),
        ]),
      ),
      ...feedPaths(prefix),
    },
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: `alm_live_…`' },
      },
      headers: HEADERS,
      schemas: componentSchemas({ ...Object.fromEntries(answers), [DRY_RUN]: dryRunAnswer }),
    },
  };
}

/** `listCountries` answers with `ListCountriesAnswer`. */
const answerName = ({ name }: Operation): string => `${name[0]?.toUpperCase()}${name.slice(1)}Answer`;

/** The answer of every priced operation to `dry_run`. */
const DRY_RUN = 'DryRunAnswer';

const NO_EXAMPLES: OperationExamples = { parameters: {}, answers: {} };

function describePath(operation: Operation, examples: OperationExamples): Json {
  const get = describeOperation(operation, examples);
  return operation.isFile ? { get: describeFile(get), head: describeHead(get, operation) } : { get };
}

function describeOperation(operation: Operation, { parameters, answers }: OperationExamples): Described {
  return {
    operationId: operation.name,
    tags: [operation.tag],
    summary: operation.summary,
    description: `${operation.description}\n\n**Price**: ${operation.priceText}.`,
    security: operation.needsKey ? [{ bearer: [] }] : [{}, { bearer: [] }],
    parameters: parametersOf(operation).map((parameter) => ({
      ...parameter,
      ...exampleOf(parameters[String(parameter.name)]),
    })),
    responses: responses(operation, answers),
  };
}

const exampleOf = (example: unknown): Json => (example === undefined ? {} : { example });

const parametersOf = (operation: Operation): Json[] => [
  ...pathParameters(operation),
  ...queryParameters(operation.query),
  ...(isPriced(operation) ? queryParameters(controls) : []),
  ...headerParameters(operation),
];

const pathParameters = ({ pathParameters: parameters }: Operation): Json[] =>
  Object.entries(parameters).map(([name, { description, schema }]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string', ...schema },
  }));

function queryParameters(query: QuerySchema<unknown>): Json[] {
  const schema = z.toJSONSchema(query, { io: 'input', target: 'draft-2020-12' });
  const required = new Set(schema.required);
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const { description, ...rest } = property as Json;
    const fallback = query.shape[name]?.meta()?.default;
    return {
      name,
      in: 'query',
      required: required.has(name),
      description,
      schema: fallback === undefined ? rest : { ...rest, default: fallback },
    };
  });
}

/** Headers of operations that ignore what they do not know. */
const STRICTNESS_HEADERS = ['X-Ignored-Parameters', 'Preference-Applied'];

const NOT_MODIFIED = {
  description: 'The caller has these bytes already.',
  headers: headerRefs([
    ...STRICTNESS_HEADERS,
    ...['ETag', 'Cache-Control', 'Vary', 'X-Request-Id', 'X-Server-Request-Id', 'X-Snapshot'],
    ...KEYED_HEADERS,
  ]),
};

const responses = (operation: Operation, answers: OperationExamples['answers']): Described['responses'] => ({
  200: successResponse(operation, answers),
  ...(operation.isCacheable && { 304: NOT_MODIFIED }),
  ...failureResponses(errorsOf(operation)),
  422: INVALID_RESPONSE,
});

function successResponse(operation: Operation, answers: OperationExamples['answers']): Json {
  const names = [
    ...['X-Request-Id', 'X-Server-Request-Id', 'Cache-Control', 'Vary'],
    ...(operation.tag === 'Account' ? [] : ['X-Snapshot']),
    ...(isPriced(operation) ? ['Preference-Applied', 'Idempotent-Replayed'] : STRICTNESS_HEADERS),
  ];
  if (operation.isCacheable) names.push('ETag');
  const formats = ENCODERS.filter(({ name }) => operation.formats?.includes(name));
  if (formats.some(({ extension }) => extension !== null)) {
    names.push('Content-Disposition', 'Link', 'X-Attribution');
  }
  const namesIndicators =
    operation.errors.includes('indicator_not_found') || 'claim' in operation.query.shape;
  if (namesIndicators) names.push('Deprecation', 'Sunset', 'Link');
  if ('countries' in operation.query.shape) names.push('X-Unmatched-Countries');
  if (operation.isFile)
    return fileResponse(operation, names, isPriced(operation) ? schemaRef(DRY_RUN) : null);
  const whole = schemaRef(answerName(operation));
  const schema = isPriced(operation) ? { anyOf: [whole, schemaRef(DRY_RUN)] } : whole;
  const json = { schema, ...exampleOf(answers.json) };
  const others = [...formats, ...(operation.otherFormats ?? [])].flatMap((format) => {
    const { name, mediaType, documentation: description } = format;
    // Of bytes no example is given.
    const binary = 'isText' in format && !format.isText && { format: 'binary' };
    const schema = { type: 'string', ...binary, description };
    return description === null ? [] : [[bareType(mediaType), { schema, ...exampleOf(answers[name]) }]];
  });
  return {
    description: operation.summary,
    headers: headerRefs([...names, ...KEYED_HEADERS]),
    content: {
      [bareType(operation.mediaType ?? 'application/json')]: json,
      ...Object.fromEntries(others),
    },
  };
}

/** The errors of one operation and those of all operations of its kind. */
export function errorsOf(operation: Operation): ErrorCode[] {
  const codes: ErrorCode[] = [...operation.errors];
  if (operation.needsKey) codes.push('unauthorized');
  codes.push('invalid_key', 'key_restricted', 'key_scope', 'rate_limited', 'internal_error', 'unavailable');
  if (isPriced(operation)) codes.push('insufficient_credits', 'max_credits_exceeded');
  if (isPriced(operation) || operation.isFile) codes.push('range_not_satisfiable');
  return codes;
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(buildOpenApi(), null, 2)}\n`);
