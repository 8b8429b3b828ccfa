/** What the machine-readable description says of feed links. Their schemas are inline: generated clients have no use for them. */
import { z } from 'zod';
import { timestamp } from '../../../../data/schema/records.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { feedRequest } from '../../core/execute.ts';
import { FEED_FORMATS } from '../../metering/metering.ts';
import { FEED_PATH } from '../api/feed-links.ts';
import { FEEDS_PATH, feedRecord, madeFeed } from '../api/feed-management.ts';
import {
  type Described,
  failureResponses,
  headerRefs,
  INVALID_RESPONSE,
  type Json,
  KEYED_HEADERS,
  withoutContent,
} from './openapi-components.ts';

const COMMON = ['X-Request-Id', 'X-Server-Request-Id', 'Cache-Control', 'Vary'];

const schemaOf = (schema: z.ZodType, io: 'input' | 'output' = 'output'): Json => {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-2020-12' });
  return rest;
};

const answerOf = (description: string, data: z.ZodType, meta: z.ZodRawShape = {}): Json => ({
  description,
  headers: headerRefs([...COMMON, ...KEYED_HEADERS]),
  content: {
    'application/json': {
      schema: schemaOf(z.object({ data, meta: z.strictObject({ generated_at: timestamp, ...meta }) })),
    },
  },
});

const KEYED: ErrorCode[] = [
  ...(['unauthorized', 'invalid_key', 'key_restricted', 'key_scope'] as const),
  ...(['rate_limited', 'internal_error', 'unavailable'] as const),
];
/** Of the call that a link answers. */
const OF_CALL: ErrorCode[] = [
  ...(['not_rankable', 'export_restricted', 'indicator_not_found', 'country_not_found'] as const),
  ...(['edition_not_found', 'not_in_edition'] as const),
];

const managed = (operationId: string, summary: string, description: string) => ({
  operationId,
  tags: ['Account'],
  summary,
  description: `${description}\n\n**Price**: free.`,
  security: [{ bearer: [] }],
});

const FEED_ID = {
  name: 'feed_id',
  in: 'path',
  required: true,
  description: 'Id of the link',
  schema: { type: 'string', minLength: 1 },
};

const list = (): Json => ({
  ...managed('listFeeds', 'Feed links of the key', 'Live and ended links with their use, oldest first.'),
  parameters: [],
  responses: {
    200: answerOf('Feed links of the key', z.array(feedRecord), { count: z.int() }),
    ...failureResponses(KEYED),
  },
});

const create = (): Json => ({
  ...managed(
    'createFeed',
    'New feed link',
    'Freezes a call as a link for tools that cannot send a header, such as sheets. A link pays when its rows have changed, not when ' +
      'it is fetched. Its secret is shown once.',
  ),
  parameters: [],
  requestBody: {
    required: true,
    content: {
      'application/json': { schema: { ...schemaOf(feedRequest, 'input'), additionalProperties: false } },
    },
  },
  responses: {
    200: answerOf('The link', madeFeed),
    ...failureResponses([...KEYED, ...OF_CALL, 'bad_request']),
    422: INVALID_RESPONSE,
  },
});

const revoke = (): Json => ({
  ...managed('revokeFeed', 'End of a feed link', 'The link is dead at its next fetch.'),
  parameters: [FEED_ID],
  responses: {
    200: answerOf('The link', feedRecord),
    ...failureResponses([...KEYED, 'not_found']),
  },
});

const UNLISTED = {
  'X-Robots-Tag': {
    description: '`noindex`: search engines keep it out',
    required: true,
    schema: { type: 'string' },
  },
};
const headersOf = (names: readonly string[]): Json => ({ ...headerRefs([...COMMON, ...names]), ...UNLISTED });

/** By status. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: 'A parameter was sent; or what the link asks for has no answer',
  402: 'The cap of the link, the limit of its key or the balance does not allow the price',
  403: "The provider's licence lets the figures be shown but not exported",
  404: 'No such link: it was revoked, has expired, or its key is no longer valid; or its figures are gone',
  422: 'What the link asks for is no longer understood, or has too many rows',
  429: 'The limit of the key, or the bytes that a link sends in a UTC day, are used up',
  500: 'Something failed on our side; nothing was charged',
  503: 'The service is briefly unavailable; nothing was charged',
};

const refusals = (): Described['responses'] =>
  Object.fromEntries(
    Object.entries(REFUSALS).map(([status, description]) => {
      const headers = headersOf(status === '429' || status === '503' ? ['Retry-After'] : []);
      return [status, { description, headers, content: { 'text/plain': { schema: { type: 'string' } } } }];
    }),
  );

const FETCHED = [
  ...['X-Snapshot', 'Content-Disposition', 'Link', 'X-Attribution', 'X-Unmatched-Countries'],
  ...['Deprecation', 'Sunset', 'ETag'],
];

const fetched = () => ({
  operationId: 'fetchFeed',
  tags: ['Data'],
  summary: 'Figures of a feed link',
  description:
    'The rows of the call that the link froze, as its format. Text that a sheet would take for a formula begins with an apostrophe in CSV. ' +
    'When a new content cannot be paid, the last one is given again from its snapshot, while that is kept. Takes no parameters.' +
    '\n\n**Price**: that of the call when its rows have changed since the link paid; otherwise free.',
  security: [{}],
  parameters: [
    {
      name: 'file',
      in: 'path',
      required: true,
      description: 'The secret of the link, a dot and its format',
      schema: { type: 'string', pattern: `^alm_feed_[0-9A-Za-z]{40}\\.(${FEED_FORMATS.join('|')})$` },
    },
  ],
  responses: {
    200: {
      description: 'The figures',
      headers: headersOf(FETCHED),
      content: {
        'text/csv': { schema: { type: 'string' } },
        'application/json': { schema: { type: 'object' } },
        'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': {
          schema: { type: 'string', format: 'binary' },
        },
      },
    },
    304: { description: 'The caller has these bytes already', headers: headersOf(FETCHED) },
    ...refusals(),
  },
});

function head({ responses, ...get }: ReturnType<typeof fetched>): Json {
  const { 304: _same, ...others } = responses;
  return {
    ...get,
    operationId: 'headFeed',
    summary: 'Whether a feed link works',
    description: 'Free.',
    responses: withoutContent(others),
  };
}

/** @param prefix of the paths of the API */
export function feedPaths(prefix: string): Json {
  const get = fetched();
  return {
    [prefix + FEEDS_PATH]: { get: list(), post: create() },
    [`${prefix}${FEEDS_PATH}/{feed_id}`]: { delete: revoke() },
    [FEED_PATH]: { get, head: head(get) },
  };
}
