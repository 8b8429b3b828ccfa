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
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import type { buildApi } from '../../gateway/api/api.ts';
import { createMetrics, type Metrics } from '../../gateway/api/http/server/metrics.ts';
import { LOAD_LIMITS, LoadShedder } from '../../gateway/api/http/server/overload.ts';
import { RedisMetering } from '../../gateway/api/metering/redis-metering.ts';
import { SnapshotStore } from '../../gateway/api/snapshot/editions/store.ts';
import type { ObjectOrigin } from '../../gateway/api/snapshot/files/snapshot-files.ts';
import { buildApp } from '../../gateway/app.ts';
import { AccountStore } from '../../gateway/commerce/accounts/account-store.ts';
import type { NewKeyOptions } from '../../gateway/commerce/accounts/key-store.ts';
import { readPacks } from '../../gateway/commerce/orders/order-store.ts';
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

export class Service {
  readonly url: string;
  readonly port: number;
  readonly redis: TestRedis;
  readonly client: RedisClient;
  readonly accounts: AccountStore;
  readonly snapshots: SnapshotStore;
  readonly metering: RedisMetering;
  readonly metrics: Metrics;
  /** Directory of the published snapshots. */
  readonly directory: string;
  /** The clock of the service. */
  readonly clock: { ms: number };
  readonly #agent = new Agent({ connections: 32 });
  readonly #stop: () => Promise<void>;
  #accountNumber = 0;

  private constructor(parts: Parts) {
    this.port = parts.port;
    this.url = `http://127.0.0.1:${parts.port}`;
    this.redis = parts.redis;
    this.client = parts.client;
    this.accounts = parts.accounts;
    this.snapshots = parts.snapshots;
    this.metering = parts.metering;
    this.metrics = parts.metrics;
    this.directory = parts.directory;
    this.clock = parts.clock;
    this.#stop = parts.stop;
  }

  static async start(options: ServiceOptions = {}): Promise<Service> {
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
    const stop = async (): Promise<void> => {
      await app.close();
      await snapshots.close();
      await redis.stop();
      await rm(temporary, { recursive: true, force: true });
    };
    const { port } = app.server.address() as AddressInfo;
    return new Service({
      port,
      redis,
      client,
      accounts,
      snapshots,
      metering,
      metrics,
      directory,
      clock,
      stop,
    });
  }

  /** Sends one request. Does not follow redirects or decode bodies. */
  async get(path: string, options: GetOptions = {}): Promise<Answer> {
    const headers = {
      ...options.headers,
      ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
    };
    const response = await request(this.url + path, {
      dispatcher: this.#agent,
      method: (options.method ?? 'GET') as 'GET',
      headers,
      body: options.body ?? null,
    });
    const bytes = Buffer.from(await response.body.arrayBuffer());
    const plain = response.headers['content-encoding'] === undefined;
    const text = plain ? bytes.toString('utf8') : '';
    const isJson = plain && /^application\/([\w.-]+\+)?json\b/.test(String(response.headers['content-type']));
    const answer = {
      status: response.statusCode,
      headers: response.headers,
      bytes,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : undefined,
    };
    if (headers !== undefined && (options.method ?? 'GET') === 'GET') checkAnswer(path, answer);
    return answer;
  }

  /** Creates an account with one key. Default: verified, 1,000 credits. */
  async account({ credits = 1000, verified = true, ...request }: AccountOptions = {}): Promise<TestKey> {
    this.#accountNumber += 1;
    const email = `user-${this.#accountNumber}@example.org`;
    const { account_id } = await this.accounts.create({ email, verified, credits, by: 'test' });
    const { key, key_id } = await this.accounts.keys.mint(account_id, request);
    return { key, key_id, account_id };
  }

  async balance({ account_id }: TestKey): Promise<number> {
    return (await this.accounts.get(account_id)).credits.balance;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async stop(): Promise<void> {
    await this.#agent.close();
    await this.#stop();
  }
}

interface Parts {
  port: number;
  redis: TestRedis;
  client: RedisClient;
  accounts: AccountStore;
  snapshots: SnapshotStore;
  metering: RedisMetering;
  metrics: Metrics;
  directory: string;
  clock: { ms: number };
  stop: () => Promise<void>;
}

/** The error code of a response. */
export const codeOf = (answer: Answer): unknown => answer.json?.error?.code;
