/**
 * The whole service for one test file: a real Redis, a real snapshot, accounts, and the gateway on a free port. Each
 * response is validated against the OpenAPI document.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { Agent, request } from 'undici';
import { readSettings } from '../../data/runtime/settings.ts';
import type { buildApi } from '../../gateway/api/api.ts';
import { createMetrics } from '../../gateway/api/http/server/metrics.ts';
import { LOAD_LIMITS, LoadShedder } from '../../gateway/api/http/server/overload.ts';
import { RedisMetering } from '../../gateway/api/metering/redis-metering.ts';
import { SnapshotStore } from '../../gateway/api/snapshot/editions/store.ts';
import type { ObjectOrigin } from '../../gateway/api/snapshot/files/snapshot-files.ts';
import { buildApp } from '../../gateway/app.ts';
import { AccountStore } from '../../gateway/commerce/accounts/account-store.ts';
import type { NewKeyOptions } from '../../gateway/commerce/accounts/key-store.ts';
import { readPacks } from '../../gateway/commerce/orders/order-store.ts';
import { stopAfterTests } from '../after-tests.ts';
import { startRedis, type TestRedis } from '../redis.ts';
import { publishFixture } from './fixture-snapshot.ts';
import { checkAnswer } from './openapi-check.ts';

/** In the middle of a UTC day and of a minute, so that no rate window ends by chance. */
export const NOON = Date.UTC(2026, 10, 21, 12, 0, 20);

export interface ServiceOptions {
  /** Directory of published snapshots. Default: one with the fixture. */
  snapshots?: string;
  /** Where objects come from that the directory lacks. */
  origin?: ObjectOrigin;
  /** Settings by environment variable. */
  settings?: Record<string, string>;
  /** Default: silent. */
  log?: Logger;
  /** Stops with the service. Default: the Redis of the worker. */
  redis?: TestRedis;
  /** Makes what is served. Default: the API and its site. */
  build?: typeof buildApi;
  /** Default: the limits of production. */
  loadShedder?: LoadShedder;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the very shape is what the test looks at, and the description checks it
  json: any;
}

export interface GetOptions {
  key?: string;
  headers?: Record<string, string>;
  method?: string;
  body?: string;
}

export interface TestKey {
  key: string;
  key_id: string;
  account_id: string;
}

export interface AccountOptions extends NewKeyOptions {
  credits?: number;
  verified?: boolean;
}

/** Where callers reach the service, as its settings say by default. */
export const PUBLIC_URL = 'https://almanac.test';

/** Rate limits that no test reaches by default. */
const WIDE = {
  ANONYMOUS_PER_MINUTE: '100000',
  ANONYMOUS_PER_DAY: '1000000',
  PAGES_PER_MINUTE: '100000',
  PAGES_PER_DAY: '1000000',
  FREE_PER_MINUTE: '100000',
  FREE_PER_DAY: '1000000',
};

/** Sends one request. Does not follow redirects or decode bodies. */
async function send(dispatcher: Agent, address: string, path: string, options: GetOptions): Promise<Answer> {
  const { key, method = 'GET', body = null } = options;
  const headers = { ...options.headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  const sent = { dispatcher, method: method as 'GET', headers, body };
  const response = await request(address + path, sent);
  const bytes = Buffer.from(await response.body.arrayBuffer());
  const plain = response.headers['content-encoding'] === undefined;
  const text = plain ? bytes.toString('utf8') : '';
  const isJson = plain && /^application\/([\w.-]+\+)?json\b/.test(String(response.headers['content-type']));
  const json = isJson && text !== '' ? JSON.parse(text) : undefined;
  const answer = { status: response.statusCode, headers: response.headers, bytes, text, json };
  if (method === 'GET') checkAnswer(path, answer);
  return answer;
}

async function start(options: ServiceOptions = {}) {
  const log = options.log ?? pino({ level: 'silent' });
  const temporary = await mkdtemp(join(tmpdir(), 'alm-gateway-'));
  const directory = options.snapshots ?? temporary;
  if (options.snapshots === undefined) await publishFixture(directory);
  const redis = options.redis ?? (await startRedis());
  const client = await redis.connect();
  const clock = { ms: NOON };
  const now = (): number => clock.ms;
  const settings = readSettings({ ...WIDE, PUBLIC_URL, LOG_LEVEL: 'silent', ...options.settings });
  const snapshots = await SnapshotStore.open({
    directory,
    pollMs: settings.SNAPSHOT_POLL_MS,
    hotCacheMb: settings.HOT_CACHE_MB,
    queryTimeoutMs: settings.QUERY_TIMEOUT_MS,
    ...(options.origin && { origin: options.origin }),
    log,
  });
  // A Redis that the machine holds back for a moment is not one that is away: what is to be counted is counted.
  const metering = new RedisMetering({ redis: client, settings, now, log, timeout_ms: 10_000 });
  let requests = 0;
  const randomId = (): string => `test-${requests++}`;
  const metrics = createMetrics({ snapshots, metering, now });
  const loadShedder = options.loadShedder ?? new LoadShedder(LOAD_LIMITS, log);
  const packs = await readPacks(settings.CURATED_DIR);
  const common = { settings, metering, snapshots, now, log, randomId };
  const parts = { ...common, metrics, loadShedder, statusRedis: client };
  const app = options.build?.(parts) ?? buildApp({ ...parts, packs });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const accounts = new AccountStore({ redis: client, now, random: randomBytes, packs: [] });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const agent = new Agent({ connections: 32 });
  let accountNumber = 0;
  const stop = async (): Promise<void> => {
    await agent.close();
    await app.close();
    await snapshots.close();
    await redis.stop();
    await rm(temporary, { recursive: true, force: true });
  };
  return {
    url,
    port,
    redis,
    client,
    accounts,
    snapshots,
    metering,
    metrics,
    /** Of the published snapshots. */
    directory,
    /** The clock of the service. */
    clock,
    get: (path: string, asked: GetOptions = {}) => send(agent, url, path, asked),
    /** Creates an account with one key. Default: verified, 1,000 credits. */
    async account({ credits = 1000, verified = true, ...rest }: AccountOptions = {}): Promise<TestKey> {
      accountNumber += 1;
      const email = `user-${accountNumber}@example.org`;
      const { account_id } = await accounts.create({ email, verified, credits, by: 'test' });
      const { key, key_id } = await accounts.keys.mint(account_id, rest);
      return { key, key_id, account_id };
    },
    balance: async ({ account_id }: TestKey) => (await accounts.get(account_id)).credits.balance,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

export type Service = Awaited<ReturnType<typeof start>>;
export const Service = { start };

/** Stops after the tests of the file or suite. */
export const useService = (options?: ServiceOptions): Promise<Service> => stopAfterTests(start(options));

/** The error code of a response. */
export const codeOf = (answer: Answer): unknown => answer.json?.error?.code;
