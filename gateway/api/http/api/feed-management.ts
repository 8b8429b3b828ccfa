/** Feed links of a key: `POST`, `GET` and `DELETE` of `/v1/feeds`. They are free and counted like any call of the key. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { z } from 'zod';
import { formatTimestamp, timestamp } from '../../../../data/schema/records.ts';
import type { ApiError } from '../../core/errors.ts';
import { type Call, checkFeed, type Executor, type Result, UNAVAILABLE } from '../../core/execute.ts';
import { FEED_FORMATS, type Feed, type RedisMetering } from '../../metering/metering.ts';
import {
  type Caller,
  free,
  toDetail,
  unlistedOperation,
  type ValidationDetail,
} from '../../operations/operations.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import type { LoadShedder } from '../server/overload.ts';
import { JSON_TYPE, type Representation } from './representation.ts';
import { sendError, sendResult } from './response.ts';

export const FEEDS_PATH = '/feeds';
const ROUTE = `/v1${FEEDS_PATH}`;
const BODY_MAX_BYTES = 16 * 1024;

export interface FeedDependencies {
  executor: Pick<Executor, 'execute'>;
  metering: Pick<RedisMetering, 'feeds' | 'resolveFeed'>;
  loadShedder: Pick<LoadShedder, 'shouldRefuseKeyed' | 'enter' | 'leave'>;
  addressOf: (request: IncomingMessage) => string;
  /** Where callers reach the service, without a slash at its end. */
  publicUrl: string;
  log: Logger;
}

const moment = timestamp.nullable();

/** A link as its holder sees it. */
export const feedRecord = z.object({
  id: z.string(),
  name: z.string(),
  query: z.string().describe('Path and query of the call that the link answers'),
  format: z.enum(FEED_FORMATS),
  secret_ends_with: z.string(),
  state: z.enum(['active', 'revoked', 'expired']),
  monthly_cap: z.int().describe('Credits in a calendar month (UTC)'),
  month_credits: z.int().describe('Spent in this one'),
  fetches: z.int(),
  fetched_at: moment.describe('When it was fetched last'),
  edition: z.string().nullable().describe('Snapshot of the last answer'),
  created_at: timestamp,
  expires_at: moment,
  revoked_at: moment,
});

export const madeFeed = feedRecord.extend({
  url: z.string().describe('The link. Shown once: whoever has it gets the figures'),
  price: z.int().describe('What the answer costs today, in credits'),
});

const momentOf = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

function toRecord(feed: Feed): z.infer<typeof feedRecord> {
  const { feed_id, last4, created_at_ms, expires_at_ms, revoked_at_ms, fetched_at_ms } = feed;
  const { name, query, format, state, monthly_cap, month_credits, fetches, edition } = feed;
  return {
    id: feed_id,
    name,
    query,
    format,
    secret_ends_with: last4,
    state,
    monthly_cap,
    month_credits,
    fetches,
    fetched_at: momentOf(fetched_at_ms),
    edition,
    created_at: formatTimestamp(created_at_ms),
    expires_at: momentOf(expires_at_ms),
    revoked_at: momentOf(revoked_at_ms),
  };
}

/** What became of a request whose key may be used. */
type Outcome =
  | { kind: 'made'; data: object; meta: object }
  | { kind: 'error'; error: ApiError }
  | { kind: 'invalid'; detail: ValidationDetail[] };

/** What is asked for, once the key of the caller may be used. */
interface Asked {
  caller: Caller;
  request: FastifyRequest;
  snapshot: Snapshot;
}

type Act = (asked: Asked, dependencies: FeedDependencies) => Promise<Outcome>;

export function installFeedManagement(
  app: FastifyInstance,
  prefix: string,
  dependencies: FeedDependencies,
): void {
  const url = prefix + FEEDS_PATH;
  const handle = (act: Act) => (request: FastifyRequest, reply: FastifyReply) =>
    void manage(request, reply, dependencies, act);
  app.get(url, handle(list));
  app.delete(`${url}/:feed_id`, handle(revoke));
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const asText = { parseAs: 'string', bodyLimit: BODY_MAX_BYTES } as const;
    scope.addContentTypeParser('*', asText, (_request, body, done) => done(null, body));
    scope.post(url, handle(create));
  });
  app.route({
    method: ['PUT', 'PATCH', 'DELETE'],
    url,
    handler: (_request, reply) => sendError(reply, ONLY_GET_AND_POST),
  });
}

const ONLY_GET_AND_POST: ApiError = {
  code: 'method_not_allowed',
  message: 'Only GET and POST are allowed here.',
  allowed: 'GET, POST',
};

const made = (data: object, { now_ms }: Caller, more: object = {}): Outcome => ({
  kind: 'made',
  data,
  meta: { generated_at: formatTimestamp(now_ms), ...more },
});

const ownFeeds = async (
  { feeds }: FeedDependencies['metering'],
  { account_id, key_id }: Caller,
): Promise<Feed[]> => (await feeds.list(account_id)).filter((feed) => feed.key_id === key_id);

const list: Act = async ({ caller }, { metering }) => {
  const own = await ownFeeds(metering, caller);
  return made(own.map(toRecord), caller, { count: own.length });
};

const revoke: Act = async ({ caller, request }, { metering }) => {
  const { feed_id } = request.params as { feed_id: string };
  await metering.feeds.revoke(caller.account_id, feed_id, caller.key_id);
  const feed = (await ownFeeds(metering, caller)).find((one) => one.feed_id === feed_id);
  if (feed !== undefined) return made(toRecord(feed), caller);
  return { kind: 'error', error: { code: 'not_found', message: 'This key has no feed link with this id.' } };
};

const create: Act = async ({ caller, request, snapshot }, { metering, publicUrl }) => {
  const sent = readBody(request.body);
  if (sent === null) return unusable('the body is an object in JSON');
  const checked = await checkFeed(sent, { snapshot, publicUrl, now_ms: caller.now_ms });
  if (checked.kind !== 'terms') return checked;
  const created = await metering.feeds.create(caller, checked.terms);
  if (created.kind === 'inactive') return { kind: 'error', error: { code: 'invalid_key' } };
  if (created.kind === 'full')
    return unusable('the account has as many feed links as it may have: revoke one first');
  const { feed, secret } = created;
  const url = `${publicUrl}/feed/${secret}.${feed.format}`;
  return made({ ...toRecord(feed), url, price: checked.price }, caller);
};

const unusable = (error: string): Outcome => ({
  kind: 'invalid',
  detail: [toDetail({ type: 'value_error', ctx: { error } }, ['body'], undefined)],
});

/** Members as texts; null where the body is none of JSON's objects, or nests. */
function readBody(body: unknown): Record<string, string> | null {
  let sent: unknown;
  try {
    sent = JSON.parse(String(body));
  } catch {
    return null;
  }
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return null;
  const members = Object.entries(sent).filter(([, value]) => value !== null);
  return members.some(([, value]) => typeof value === 'object')
    ? null
    : Object.fromEntries(members.map(([name, value]) => [name, String(value)]));
}

const MANAGED = unlistedOperation('manageFeeds', FEEDS_PATH, 'Account', true);

/** The executor checks the key and its limits, and counts the call; then the key's holder gets what is asked for. */
async function manage(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: FeedDependencies,
  act: Act,
): Promise<void> {
  const { executor, loadShedder, addressOf, publicUrl } = dependencies;
  reply.facts = { route: ROUTE, keyId: null, creditsCharged: 0 };
  if (loadShedder.shouldRefuseKeyed()) return sendError(reply, UNAVAILABLE);
  const { raw, id } = request;
  let holder: Caller | null = null;
  const plan = () =>
    free((caller) => {
      holder = caller;
      return { kind: 'object', value: {} };
    });
  const call: Call<Outcome> = {
    operation: { ...MANAGED, plan },
    route: ROUTE,
    requestId: id,
    authorization: raw.headers.authorization,
    path: {},
    publicUrl,
    address: () => addressOf(raw),
    origin: () => raw.headers.origin,
    readQuery: () => ({ ok: true, values: {}, controls: {}, ignored: [] }),
    cached: () => null,
    render(_content, snapshot) {
      if (holder === null) throw new Error('a feed link needs a key');
      return act({ caller: holder, request, snapshot }, dependencies);
    },
  };
  loadShedder.enter();
  try {
    const result = await executor.execute(call);
    reply.facts = { route: ROUTE, keyId: result.key_id, creditsCharged: 0 };
    sendResult(reply, toAnswer(result), { namesSnapshot: false, headers: [] });
  } finally {
    loadShedder.leave();
  }
}

function toAnswer(result: Result<Outcome>): Result<Representation> {
  if (result.kind !== 'success') return result;
  const { rendered: outcome, key_id, quota, snapshot } = result;
  const about = { key_id, quota, snapshot };
  if (outcome.kind !== 'made') return { ...outcome, ...about };
  const { data, meta } = outcome;
  const body = [Buffer.from(JSON.stringify({ data, meta }))];
  const form = { type: JSON_TYPE, headers: [], encoding: 'identity', tag: null, edition: null } as const;
  return { kind: 'success', rendered: { status: 200, ...form, body }, ...about };
}
