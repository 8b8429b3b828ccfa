/**
 * Starts the gateway: settings, Redis (a private one when none is named), snapshots, then the port. Ends it in the
 * reverse order on SIGINT or SIGTERM, when everything in flight has been answered. `--beside PROGRAM` runs another
 * program along with it.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import type { Logger } from 'pino';
import type { AdminDependencies } from '../admin/area.ts';
import { ensureOperator, type SignIn } from '../admin/first-operator.ts';
import { OperatorStore } from '../admin/operators.ts';
import { createLog } from '../data/runtime/log.ts';
import { PrivateRedisError, startPrivateRedis } from '../data/runtime/private-redis.ts';
import { connectRedis, type RedisClient, whenReady } from '../data/runtime/redis.ts';
import { readSettings, type Settings, SettingsError } from '../data/runtime/settings.ts';
import { ensureDemoKey } from './account/demo.ts';
import { openAccountService } from './account/service.ts';
import { AccountStore } from './account/store.ts';
import { buildApp } from './app.ts';
import { startCompanion } from './companion.ts';
import { greeting } from './greeting.ts';
import { createMetrics, type Metrics, metricsServer } from './http/metrics.ts';
import { createMetering } from './metering/redis-metering.ts';
import { SnapshotStore } from './snapshot/store.ts';

/** A start does not wait longer than this for Redis: the free routes can go ahead. */
const REDIS_WAIT_MS = 3_000;
/** A stop does not wait longer than this for slow readers. */
const STOP_WITHIN_MS = 20_000;

/** npm hands on a Ctrl-C that the terminal has sent already: two signals this close together are one. */
const SAME_SIGNAL_MS = 1_000;

/** Long enough for callers on a fast network to see that their connection ends. */
const DRAIN_MS = 300;

/** Ends one part of the service; parts end in the reverse order of their start. */
type Stop = () => Promise<unknown>;

async function start(settings: Settings, log: Logger, stops: Stop[]): Promise<void> {
  const redisUrl = settings.REDIS_URL ?? (await privateRedis(settings, stops));
  const redis = connectRedis({ ...settings, REDIS_URL: redisUrl }, log, 'metering');
  stops.push(async () => redis.disconnect());
  const [snapshots] = await Promise.all([
    SnapshotStore.open({
      directory: settings.SNAPSHOT_DIR,
      pollMs: settings.SNAPSHOT_POLL_MS,
      hotCacheMb: settings.HOT_CACHE_MB,
      queryTimeoutMs: settings.QUERY_TIMEOUT_MS,
      log,
    }),
    whenReady(redis, REDIS_WAIT_MS),
  ]);
  stops.push(() => snapshots.close());
  const now = Date.now;
  const metering = createMetering({ redis, settings, now, log });
  stops.push(() => metering.settle());
  const adminRedis = connectRedis({ ...settings, REDIS_URL: redisUrl }, log, 'admin');
  stops.push(async () => adminRedis.disconnect());
  const admin: AdminDependencies = {
    redis: adminRedis,
    accounts: new AccountStore({ redis: adminRedis, now, random: randomBytes, packs: [], log }),
    now,
    log,
    snapshots,
    snapshotDir: settings.SNAPSHOT_DIR,
    curatedDir: settings.CURATED_DIR,
  };
  const place = { url: settings.PUBLIC_URL?.replace(/\/+$/, '') ?? '' };
  const account = await openAccountService({
    settings: { ...settings, REDIS_URL: redisUrl },
    redis: adminRedis,
    now,
    log,
    publicUrl: () => place.url,
  });
  stops.push(() => account.stop());
  const metrics = settings.METRICS_PORT === undefined ? null : createMetrics(snapshots, now);
  if (metrics) stops.push(await serveMetrics(metrics, settings));
  const app = buildApp({
    settings,
    metering,
    snapshots,
    now,
    log,
    randomId: requestIds(),
    drainMs: DRAIN_MS,
    admin,
    account: account.pages,
    ...(metrics && { metrics }),
  });
  await app.listen({ port: settings.PORT, host: settings.HOST });
  stops.push(() => app.close());
  const demoKey = await demo(settings, redis, log);
  const operator = await firstOperator(settings, redis, log);
  const { port } = app.server.address() as AddressInfo;
  const url = `http://${visibleHost(settings.HOST)}:${port}`;
  place.url ||= url;
  account.work();
  await account.schedule();
  const mail = account.mailer.says;
  process.stdout.write(await greeting(url, snapshots.current(), { demoKey, operator, mail }));
  const { beside } = parseArgs({ options: { beside: { type: 'string' } } }).values;
  if (beside !== undefined) stops.push(startCompanion(beside, log));
}

/** Null when there is no sign-in to show. Redis being away is no reason not to start. */
async function firstOperator(settings: Settings, redis: RedisClient, log: Logger): Promise<SignIn | null> {
  const operators = new OperatorStore(redis, Date.now);
  try {
    return await ensureOperator(operators, settings, settings.DEMO_KEY ?? settings.REDIS_URL === undefined);
  } catch (error) {
    log.warn({ err: error }, 'no operator could be made sure of');
    return null;
  }
}

/** Null where nobody wants one. Redis being away then is no reason not to start. */
async function demo(settings: Settings, redis: RedisClient, log: Logger): Promise<string | null> {
  const wanted = settings.DEMO_KEY ?? settings.REDIS_URL === undefined;
  if (!wanted) return null;
  const store = new AccountStore({ redis, now: Date.now, random: randomBytes, packs: [], log });
  try {
    return await ensureDemoKey(store, settings.VAR_DIR);
  } catch (error) {
    log.warn({ err: error }, 'there is no demo key');
    return null;
  }
}

async function privateRedis(settings: Settings, stops: Stop[]): Promise<string> {
  const server = await startPrivateRedis(settings.REDIS_DIR);
  stops.push(() => server.stop());
  return server.url;
}

async function serveMetrics(metrics: Metrics, settings: Settings): Promise<Stop> {
  const server = metricsServer(metrics);
  server.listen(settings.METRICS_PORT, settings.HOST);
  await once(server, 'listening');
  return async () => {
    server.close();
    server.closeAllConnections();
  };
}

/** Addresses that mean "every interface", and the loopback ones, are reached as localhost. */
const visibleHost = (host: string): string =>
  ['0.0.0.0', '::', '127.0.0.1', '::1'].includes(host) ? 'localhost' : host;

/** A random word of this process, then a counter: cheap, and no two processes can meet. */
function requestIds(): () => string {
  const word = randomBytes(9).toString('base64url');
  let counter = 0;
  return () => `${word}-${(counter++).toString(36)}`;
}

/** Ends all parts in turn; a second signal, or too long a wait, ends the process at once. */
async function stop(stops: Stop[], log: Logger): Promise<void> {
  setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref();
  for (const end of stops.toReversed()) {
    await end().catch((error: unknown) => log.error({ err: error }, 'stopping failed'));
  }
}

/** Prints what a person must put right, and only that. */
function sayWhy(error: unknown): void {
  const known = error instanceof SettingsError || error instanceof PrivateRedisError;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (known || code === 'EADDRINUSE' || code === 'EACCES')
    process.stderr.write(`${(error as Error).message}\n`);
  else console.error(error);
}

async function main(): Promise<void> {
  const settings = readSettings();
  const log = createLog(settings);
  const stops: Stop[] = [];
  let stopping_since_ms: number | null = null;
  const onSignal = (): void => {
    if (stopping_since_ms !== null) {
      if (performance.now() - stopping_since_ms > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    stopping_since_ms = performance.now();
    void stop(stops, log).then(() => process.exit(0));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    await start(settings, log, stops);
  } catch (error) {
    await stop(stops, log);
    throw error;
  }
}

try {
  await main();
} catch (error) {
  sayWhy(error);
  process.exit(1);
}
