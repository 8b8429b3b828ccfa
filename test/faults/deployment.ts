/**
 * The service as it runs in production: real gateway processes with the shipped settings on a small snapshot, their
 * private Redis, and accounts.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Dispatcher, request } from 'undici';
import { connectRedis, type RedisClient, whenReady } from '../../data/runtime/redis.ts';
import { AccountStore } from '../../gateway/commerce/accounts/account-store.ts';
import { type Environment, type Gateway, startGateway } from '../bench/processes.ts';
import { PACKS } from '../gateway/api/metering/harness.ts';
import { movedBy } from '../gateway/fixture-data.ts';
import { publishFixture } from '../gateway/fixture-snapshot.ts';
import { silentLog } from '../redis.ts';
import { pidFrom } from '../signals.ts';

const CONNECT_WITHIN_MS = 30_000;
const CREDITS = 1_000_000_000;

/** Rate limits that no part reaches. */
const UNLIMITED: Environment = Object.fromEntries(
  ['ANONYMOUS', 'FREE', 'PAID'].flatMap((tier) => [
    [`${tier}_PER_MINUTE`, '1000000000'],
    [`${tier}_PER_DAY`, '1000000000'],
  ]),
);

/** For parts that need the limits of the settings. */
export const DEFAULT_LIMITS: Environment = Object.fromEntries(
  Object.keys(UNLIMITED).map((name) => [name, '']),
);

export interface Customer {
  account_id: string;
  key: string;
}

/** A directory with a published snapshot, and the processes that run on it. */
export class Deployment implements AsyncDisposable {
  readonly dir: string;
  readonly snapshots: string;
  readonly #stack: AsyncDisposableStack;
  readonly #redis: Environment;

  private constructor(dir: string, stack: AsyncDisposableStack, redis: Environment) {
    this.dir = dir;
    this.snapshots = join(dir, 'snapshots');
    this.#stack = stack;
    this.#redis = redis;
  }

  /**
   * @param redis `REDIS_URL` and `REDIS_CLUSTER`. Default: a private Redis, started by the gateway.
   * @param publish publishes into a directory. Default: the fixture.
   */
  static async open(
    redis: Environment = { REDIS_URL: '' },
    publish: (snapshots: string) => Promise<unknown> = publishFixture,
  ): Promise<Deployment> {
    const dir = await mkdtemp(join(tmpdir(), 'alm-dep-'));
    const stack = new AsyncDisposableStack();
    stack.defer(() => rm(dir, { recursive: true, force: true }));
    const deployment = new Deployment(dir, stack, redis);
    // A killed gateway leaves its Redis running.
    stack.defer(() => deployment.#endRedis());
    await publish(deployment.snapshots);
    return deployment;
  }

  /** Starts a gateway on a free port and waits until it is ready. */
  async gateway(settings: Environment = {}): Promise<Gateway> {
    const gateway = await startGateway({
      ...UNLIMITED,
      VAR_DIR: this.dir,
      SNAPSHOT_DIR: this.snapshots,
      LOG_LEVEL: 'fatal',
      DEMO_KEY: 'false',
      METRICS_PORT: '',
      ...this.#redis,
      ...settings,
    });
    return this.#stack.use(gateway);
  }

  /** The private Redis must have been started. */
  async redisUrl(): Promise<string> {
    if (this.#redis.REDIS_URL) return this.#redis.REDIS_URL;
    return `unix://${(await readFile(join(this.dir, 'redis', 'socket'), 'utf8')).trim()}`;
  }

  /** Process id of the private Redis. */
  async redisPid(): Promise<number> {
    return pidFrom(await readFile(join(this.dir, 'redis', 'redis.pid'), 'utf8'));
  }

  /** A connection as the command-line tools open it. */
  async connect(): Promise<RedisClient> {
    const { REDIS_CLUSTER, REDIS_WAIT_REPLICAS = '0' } = this.#redis;
    const settings = {
      REDIS_URL: await this.redisUrl(),
      REDIS_CLUSTER: REDIS_CLUSTER === 'true',
      REDIS_WAIT_REPLICAS: Number(REDIS_WAIT_REPLICAS),
    };
    const client = connectRedis(settings, silentLog, 'tool');
    this.#stack.defer(async () => client.disconnect());
    if (!(await whenReady(client, CONNECT_WITHIN_MS))) throw new Error('Redis is not ready');
    return client;
  }

  async #endRedis(): Promise<void> {
    const pid = await this.redisPid().catch(() => null);
    try {
      if (pid) process.kill(pid, 'SIGKILL');
    } catch {} // already ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** The fixture with other figures, published later. */
export const OTHER = {
  id: '20261121T020000Z-00000002',
  generatedAt: '2026-11-21T02:00:00+00:00',
  indicators: movedBy(1000),
};

/** An answer, of which snapshot it is, and what it cost. */
export interface Told {
  status: number;
  snapshot: string;
  charged: number;
  digest: string;
}

export async function ask(
  { port }: Gateway,
  path: string,
  key: string | undefined,
  options: { dispatcher?: Dispatcher } = {},
): Promise<Told> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await request(`http://127.0.0.1:${port}${path}`, { headers, ...options });
  const digest = createHash('sha256').update(Buffer.from(await answer.body.arrayBuffer()));
  return {
    status: answer.statusCode,
    digest: digest.digest('hex'),
    snapshot: String(answer.headers['x-snapshot']),
    charged: Number(answer.headers['x-credits-charged']),
  };
}

export const storeOn = (redis: RedisClient): AccountStore =>
  new AccountStore({ redis, now: Date.now, random: randomBytes, packs: PACKS });

/** Makes email addresses unique in this process. */
let people = 0;

/** Verified accounts, each with one key and, by default, more credits than any part spends. */
export async function createCustomers(
  store: AccountStore,
  count: number,
  credits = CREDITS,
): Promise<Customer[]> {
  const customers: Customer[] = [];
  for (let number = 0; number < count; number++) {
    const email = `faults-${people++}@example.org`;
    const { account_id } = await store.create({ email, verified: true, credits, by: 'faults' });
    const { key } = await store.keys.mint(account_id);
    customers.push({ account_id, key });
  }
  return customers;
}
