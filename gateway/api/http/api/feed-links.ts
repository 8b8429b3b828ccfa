/**
 * Feed links as tools fetch them that cannot send a header: `GET /feed/<secret>.<format>`. Each fetch passes the executor like any
 * call. An answer says nothing of the account: no balance, no limits, and the same sentence whatever ended the link. Errors are
 * plain text, because a sheet shows them.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ApiError, ERRORS, type ErrorCode } from '../../core/errors.ts';
import {
  type Call,
  type FeedFetch,
  feedEncoder,
  type Result,
  readFrozenCall,
  UNAVAILABLE,
  writeFeed,
} from '../../core/execute.ts';
import { type LiveFeed, MeteringUnavailable } from '../../metering/metering.ts';
import { unlistedOperation } from '../../operations/operations.ts';
import { errorOf } from '../server/error-handlers.ts';
import type { FeedDependencies } from './feed-management.ts';
import {
  downloadHeaders,
  lengthOf,
  type Representation,
  representBytes,
  requestHeaders,
} from './representation.ts';
import { sendPlainText, sendRepresentation } from './response.ts';

/** Names fetches in totals, metrics and the log, none of which learns a secret. */
const ROUTE = '/feed';
export const FEED_PATH = '/feed/{file}';
const FILE = /^([^.]*)\.([a-z]+)$/;

const PRIVATE = ['x-robots-tag', 'noindex', 'referrer-policy', 'no-referrer'] as const;
/** A copy has to be checked each time: whoever revokes a link ends it at once. */
const SERVED = ['cache-control', 'private, no-cache', ...PRIVATE];

const NO_LINK = 'There is no such link: it was revoked, or has expired, or its key is no longer valid.';
/** What callers of the API are told of their key is not for whoever has a link. */
const SENTENCES: Partial<Record<ErrorCode, { status: number; text: string }>> = {
  not_found: { status: 404, text: NO_LINK },
  invalid_key: { status: 404, text: NO_LINK },
  key_scope: { status: 404, text: NO_LINK },
  insufficient_credits: {
    status: 402,
    text: 'This link may spend no more credits now. Whoever made it can raise its cap or buy credits.',
  },
};

export function installFeedLinks(app: FastifyInstance, dependencies: FeedDependencies): void {
  const handler = (request: FastifyRequest, reply: FastifyReply): void =>
    void fetchFeed(request, reply, dependencies);
  app.route({ method: ['GET', 'HEAD'], url: '/feed/:file', handler });
}

async function fetchFeed(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: FeedDependencies,
): Promise<void> {
  const { loadShedder, executor, log } = dependencies;
  reply.facts = { route: ROUTE, keyId: null, creditsCharged: 0 };
  if (loadShedder.shouldRefuseKeyed()) return sendProblem(reply, UNAVAILABLE);
  loadShedder.enter();
  try {
    const call = await findCall(request, dependencies);
    if ('code' in call) sendProblem(reply, call);
    else send(reply, await executor.execute(call));
  } catch (error) {
    const isAway = error instanceof MeteringUnavailable;
    if (!isAway) log.error({ err: error, request_id: request.id }, 'request failed');
    sendProblem(reply, isAway ? UNAVAILABLE : { code: 'internal_error' });
  } finally {
    loadShedder.leave();
  }
}

async function findCall(
  request: FastifyRequest,
  { metering, addressOf, publicUrl }: FeedDependencies,
): Promise<Call<Representation> | ApiError> {
  const { file } = request.params as { file: string };
  const [, secret = '', format] = FILE.exec(file) ?? [];
  const found = await metering.resolveFeed(secret);
  const frozen = found && readFrozenCall(found.link.query);
  if (!found || !frozen || found.link.format !== format) return { code: 'not_found' };
  // What a link serves was decided when it was made.
  if (request.url.includes('?')) return { code: 'bad_request', message: 'This link takes no parameters.' };
  const isHead = request.method === 'HEAD';
  const { operation, path, reading } = frozen;
  return {
    operation: isHead ? HEAD_OPERATION : operation,
    feed: { ...found, make: isHead ? headOf(found.link) : maker(request, found.link) },
    route: ROUTE,
    requestId: request.id,
    authorization: undefined,
    path,
    publicUrl,
    address: () => addressOf(request.raw),
    origin: () => undefined,
    readQuery: () => reading,
    cached: () => null,
    render: () => {
      throw new Error('what a feed link serves is made before its charge');
    },
  };
}

type Make = FeedFetch<Representation>['make'];

const maker =
  ({ headers }: FastifyRequest, { query: url, format }: LiveFeed): Make =>
  async (content, edition) => {
    if (content.kind !== 'table') throw new Error('a feed link serves rows');
    const { digest, pieces, encoder } = await writeFeed(content, format);
    const own = [...requestHeaders(content, { url }), ...downloadHeaders({ ...content, encoder })];
    const { mediaType: type, isCompressible } = encoder;
    const form = { type, isCompressible, headers: own, edition: edition?.id ?? null };
    const { 'accept-encoding': acceptEncoding, 'if-none-match': ifNoneMatch } = headers;
    const rendered = await representBytes(pieces, form, { url, acceptEncoding, ifNoneMatch, isTagged: true });
    return { rendered, content: digest, bytes: lengthOf(rendered.body) };
  };

/** Whether the link works, and in which form it answers: free. */
const HEAD_OPERATION = unlistedOperation('headFeed', FEED_PATH, 'Data', true);

const headOf = ({ format }: LiveFeed): Make => {
  const form = { headers: [], encoding: 'identity', tag: null, edition: null } as const;
  const head = { status: 200, type: feedEncoder(format).mediaType, ...form, body: [] } as const;
  return async () => ({ rendered: head, content: '', bytes: 0 });
};

function send(reply: FastifyReply, result: Result<Representation>): void {
  const { quota, snapshot, key_id } = result;
  reply.facts = { route: ROUTE, keyId: key_id, creditsCharged: quota?.charged ?? 0 };
  if (result.kind === 'success') {
    const snapshotId = result.rendered.edition ?? snapshot?.id ?? null;
    sendRepresentation(reply, result.rendered, { quota: null, snapshotId }, SERVED, result.onFault);
  } else sendProblem(reply, errorOf(result));
}

function sendProblem(
  reply: FastifyReply,
  { code, message, retryAfter_s }: ApiError & { status?: number },
): void {
  const { status, text } = SENTENCES[code] ?? {
    status: ERRORS[code].status,
    text: message ?? ERRORS[code].message,
  };
  const retry = retryAfter_s === undefined ? [] : ['retry-after', String(retryAfter_s)];
  sendPlainText(reply, status, `${text}\n`, [...PRIVATE, ...retry]);
}
