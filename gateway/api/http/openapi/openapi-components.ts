/** The components of the machine-readable description: schemas out of zod, and the headers and failures all share. */
import { z } from 'zod';
import * as records from '../../../../data/schema/records.ts';
import { ERRORS, type ErrorCode } from '../../core/errors.ts';
import {
  DATA_ANSWERS,
  detailWithAdditions,
  indicatorWithAdditions,
  isPriced,
  type Operation,
  validationBody,
  validationDetail,
} from '../../operations/operations.ts';

export type Json = Record<string, unknown>;

const errorBody = z.object({
  error: z.object({
    code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string().describe('For people; may change'),
  }),
});

const NAMED: Record<string, z.ZodType> = {
  Country: records.countryRecord,
  TopicItem: records.topicItem,
  CountryDetail: records.countryDetail,
  Indicator: indicatorWithAdditions,
  IndicatorDetail: detailWithAdditions,
  RelatedIndicator: records.relatedEntry,
  Topic: records.topicRecord,
  Freshness: records.freshnessRecord,
  Coverage: records.coverageRecord,
  Observation: records.observationRow,
  RankingRow: records.rankingRow,
  ErrorAnswer: errorBody,
  InvalidAnswer: validationBody,
  ValidationDetail: validationDetail,
  ...DATA_ANSWERS,
};

/** An operation as a path describes it. */
export interface Described extends Json {
  operationId: string;
  parameters: Json[];
  responses: Record<string, Json>;
}

export const schemaRef = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

/** JSON Schemas of the named records and of the answers; where one holds another, it refers to it. */
export function componentSchemas(answers: Record<string, z.ZodType>): Json {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries({ ...NAMED, ...answers })) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => {
      describeTuple(jsonSchema);
      // A safe integer's bounds say nothing that `integer` does not.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, bare(schema)]));
}

/** A tuple becomes a list of its length, because generators of clients know no tuples. Ours hold one type each. */
function describeTuple(schema: z.core.JSONSchema.BaseSchema): void {
  const { prefixItems } = schema;
  if (prefixItems === undefined) return;
  const { length } = prefixItems;
  delete schema.prefixItems;
  Object.assign(schema, { items: prefixItems[0], minItems: length, maxItems: length });
}

/** Within a document a component is named by its place. */
function bare(schema: Json): Json {
  const { $schema: _dialect, $id: _place, ...rest } = schema;
  return rest;
}

/** Of counts, sizes and times where the example is a number, otherwise of text. */
const header = (description: string, example?: string | number): Json => ({
  description,
  schema: typeof example === 'number' ? { type: 'integer', minimum: 0 } : { type: 'string' },
  ...(example === undefined ? {} : { example }),
});
/** On every answer whose description names it. */
const alwaysThere = (...words: Parameters<typeof header>): Json => ({ ...header(...words), required: true });

export const HEADERS: Json = {
  'X-Request-Id': alwaysThere("The request's id: the caller's own when it sent one that is safe to repeat"),
  'X-Server-Request-Id': header(
    'Our id of the request, as the ledger shows it; only when X-Request-Id is the caller’s own',
  ),
  'X-Snapshot': header('Id of the data set that the answer comes from: cite it', '20261120T020000Z-3f2a9c1b'),
  ETag: alwaysThere('Strong entity tag of these bytes; send it back as If-None-Match'),
  'Accept-Ranges': header('`bytes`: `Range` is understood', 'bytes'),
  'Content-Range': header(
    'Which bytes of how many are sent; with 416, of how many there are',
    'bytes 0-1023/146515',
  ),
  'Cache-Control': alwaysThere('`public` without a key, `private, no-store` with one, `no-store` on errors'),
  Vary: header('What else the answer depends on', 'Accept-Encoding, Authorization'),
  'X-Ignored-Parameters': header(
    'Names of query parameters that were ignored, percent-encoded, at most 20: unknown ones, and repeated ones, of which ' +
      'the last counts',
    'sort_by, limit',
  ),
  'X-Unmatched-Countries': header(
    'Codes sent in `countries` that no country has: they match nothing',
    'UK, ZZZ',
  ),
  'Preference-Applied': header('`handling=strict`, where `Prefer` asked for it', 'handling=strict'),
  'Idempotent-Replayed': header(
    '`true` where the call repeated an earlier one under its Idempotency-Key, and was free for that reason',
    'true',
  ),
  'RateLimit-Policy': header(
    'The quota (`q`) of each rate window of so many seconds (`w`), as the IETF draft has it; with a key only',
    '"minute";q=120;w=60, "day";q=10000;w=86400',
  ),
  RateLimit: header(
    'Requests left (`r`) in each window, and seconds until it ends (`t`); with a key only',
    '"minute";r=119;t=40, "day";r=9999;t=43180',
  ),
  'WWW-Authenticate': alwaysThere(
    '`Bearer`; with `error="invalid_token"` where a credential was sent (RFC 6750)',
    'Bearer error="invalid_token"',
  ),
  'X-RateLimit-Limit': header('Requests in the window that is nearer to running out; with a key only', 120),
  'X-RateLimit-Remaining': header('Requests left in that window; with a key only', 119),
  'X-RateLimit-Reset': header('When that window ends, in Unix seconds; with a key only', 1795140060),
  'X-Credits-Charged': header('What this request cost; with a key only', 0),
  'X-Credits-Remaining': header('The balance after it; with a key only', 1000),
  'Retry-After': alwaysThere('Seconds after which to try again', 30),
  'Content-Disposition': header('Of a file: its name', 'attachment; filename="who.WHOSIS_000001.csv"'),
  Link: header(
    'Of a file: the licences that have an address (`rel="license"`); for a former id, the same call by the id of today ' +
      '(`rel="successor-version"`); of an indicator and of lists, documents about them ' +
      '(`rel="describedby"`)',
    '<https://creativecommons.org/licenses/by/4.0/>; rel="license"',
  ),
  Deprecation: header('For a former id: the day of the rename, `@` and Unix seconds (RFC 9745)'),
  Sunset: header('For a former id: when it answers no more, if that is decided (RFC 8594)'),
  'X-Attribution': header(
    'Of a file: the credit lines to publish, joined by `; `, percent-encoded where they are not ASCII',
    'World Bank, World Development Indicators',
  ),
};

/** Request headers that an operation takes. */
const HEADER_PARAMETERS: Record<string, Json> = {
  Prefer: header(
    '`handling=strict` refuses parameters that would be ignored: unknown or repeated ones (RFC 7240)',
    'handling=strict',
  ),
  'If-None-Match': header(
    'Entity tags of answers that the caller has: where one still holds, the answer is 304',
  ),
  'Idempotency-Key': {
    description:
      'Under it the same call is answered again without a charge, from the same snapshot: up to 5 times within 10 minutes. ' +
      'Another call under it is 422',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  },
  'X-Request-Id': header(
    "The caller's own id of the request, 1 to 64 of `A-Z a-z 0-9 . _ -`, to be logged and sent back; any other is ignored",
  ),
};

/** Request headers that an operation takes, besides the key. */
export function headerParameters(operation: Operation): Json[] {
  const takes: Record<string, boolean> = {
    'If-None-Match': operation.isCacheable,
    'Idempotency-Key': isPriced(operation),
  };
  return Object.entries(HEADER_PARAMETERS).flatMap(([name, described]) =>
    (takes[name] ?? true) ? [{ name, in: 'header', required: false, ...described }] : [],
  );
}

/** A media type without its parameters. */
export const bareType = (mediaType: string): string => mediaType.split(';', 1)[0] ?? mediaType;

export const headerRefs = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const KEYED_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Credits-Charged',
  'X-Credits-Remaining',
  'RateLimit-Policy',
  'RateLimit',
] as const;

/** One failure response for all codes that share a status, each with its example. */
function failureResponse(status: number, codes: readonly ErrorCode[], keyed: boolean): Json {
  const examples = codes.map(
    (code) => [code, { value: { error: { code, message: ERRORS[code].message } } }] as const,
  );
  const names = ['X-Request-Id', 'X-Server-Request-Id', 'Cache-Control', ...(keyed ? KEYED_HEADERS : [])];
  if (status === 401) names.push('WWW-Authenticate');
  if (status === 400 || status === 403 || status === 404) names.push('X-Snapshot');
  if (status === 429 || status === 503) names.push('Retry-After');
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join('\n\n'),
    headers: headerRefs(names),
    content: {
      'application/json': { schema: schemaRef('ErrorAnswer'), examples: Object.fromEntries(examples) },
    },
  };
}

/** The failure responses of these codes, by status. */
export function failureResponses(codes: readonly ErrorCode[]): Described['responses'] {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, same]) => [status, failureResponse(status, same, status !== 401)]),
  );
}

/** Responses as they answer a HEAD. */
export const withoutContent = (responses: Described['responses']): Described['responses'] =>
  Object.fromEntries(
    Object.entries(responses).map(([status, { content: _, ...response }]) => [status, response]),
  );

export const INVALID_RESPONSE: Json = {
  description: 'A parameter fails validation.',
  headers: headerRefs([
    ...['X-Request-Id', 'X-Server-Request-Id', 'Cache-Control', 'Preference-Applied', 'Vary'],
    ...KEYED_HEADERS,
  ]),
  content: {
    'application/json': {
      schema: schemaRef('InvalidAnswer'),
      example: {
        detail: [
          {
            loc: ['query', 'limit'],
            msg: 'Input should be greater than or equal to 1',
            type: 'greater_than_equal',
            input: '0',
            ctx: { ge: 1 },
          },
        ],
      },
    },
  },
};
