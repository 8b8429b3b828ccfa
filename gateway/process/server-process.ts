/**
 * One process that answers: its connections to Redis, its open snapshot, accounts and their pages, the operator area,
 * the port. A gateway with one worker is such a process; with more, each worker is one.
 */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { AdminDependencies } from '../../admin/context.ts';
import { ensureFirstOperator, OperatorStore, type SignIn } from '../../admin/operators.ts';
import { connectRedis, type RedisClient, whenReady } from '../../data/runtime/redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { AccountStore } from '../accounts/account-store.ts';
import { AuditLog } from '../accounts/audit/audit-log.ts';
import { ensureDemoKey } from '../accounts/keys/demo-key.ts';
import { openAccountService } from '../accounts/service.ts';
import { buildApp } from '../app.ts';
import { Archive } from '../archive/archive.ts';
import { createMetrics, type Metrics } from '../http/metrics.ts';
import { createRequestIds } from '../http/request.ts';
import { createMetering } from '../metering/redis-metering.ts';
import { SnapshotStore } from '../snapshot/store.ts';
import type { ShutdownHook } from './lifecycle.ts';
import { startupBanner } from './startup-banner.ts';

/** A start does not wait longer than this for Redis: the free routes can go ahead. */
const REDIS_WAIT_MS = 3_000;
/** Long enough for callers on a fast network to see that their connection ends. */
const DRAIN_MS = 300;
/** Connections that come at once wait to be let in; one that finds no room tries again after a second, then three. */
const BACKLOG = 4_096;

/** What one process is told beyond the settings. */
export interface ServerProcessOptions {
  /** Of the Redis that is used, a private one too. */
  redisUrl: string;
  port: number;
  /** Whether the port is shared with others who say so too; the system deals out connections among them. */
  reusePort: boolean;
  /** How many processes like this one share the memory that the settings allow. */
  processCount: number;
  /** Told after each switch to another snapshot. */
  onSwitch?: () => void;
}

export interface ServerProcess {
  /** Null where metrics are off. */
  metrics: Metrics | null;
  /** Checks now whether another snapshot was published. */
  checkPointer(): Promise<void>;
  /** Starts what one process does for all: jobs and their schedule, the first accounts. Resolves to the start-up banner. */
  startLeaderTasks(): Promise<string>;
}

/** Starts to answer. What has to be ended is left on `shutdownHooks`, also when the start fails in the middle. */
export async function startServerProcess(
  settings: Settings,
  { redisUrl, port, reusePort, processCount, onSwitch }: ServerProcessOptions,
  log: Logger,
  shutdownHooks: ShutdownHook[],
): Promise<ServerProcess> {
  const redis = connectRedis({ ...settings, REDIS_URL: redisUrl }, log, 'metering');
  shutdownHooks.push(async () => redis.disconnect());
  const adminRedis = connectRedis({ ...settings, REDIS_URL: redisUrl }, log, 'admin');
  shutdownHooks.push(async () => adminRedis.disconnect());
  const [snapshots] = await Promise.all([
    SnapshotStore.open({
      directory: settings.SNAPSHOT_DIR,
      pollMs: settings.SNAPSHOT_POLL_MS,
      hotCacheMb: settings.HOT_CACHE_MB,
      queryTimeoutMs: settings.QUERY_TIMEOUT_MS,
      processCount,
      log,
      ...(onSwitch && { onSwitch }),
    }),
    whenReady(redis, REDIS_WAIT_MS),
    whenReady(adminRedis, REDIS_WAIT_MS),
  ]);
  shutdownHooks.push(() => snapshots.close());
  const now = Date.now;
  const metering = createMetering({ redis, settings, now, log });
  shutdownHooks.push(() => metering.flush());
  const archive = new Archive(settings.ARCHIVE_DIR);
  shutdownHooks.push(() => archive.close());
  const accounts = new AccountStore({
    ...{ redis: adminRedis, now, random: randomBytes, packs: [], archive },
  });
  const admin: AdminDependencies = {
    redis: adminRedis,
    accounts,
    now,
    log,
    snapshots,
    snapshotDir: settings.SNAPSHOT_DIR,
    curatedDir: settings.CURATED_DIR,
    archive,
    reconcileDir: `${settings.VAR_DIR}/reconcile`,
  };
  const place = { url: settings.PUBLIC_URL?.replace(/\/+$/, '') ?? '' };
  const account = await openAccountService({
    settings: { ...settings, REDIS_URL: redisUrl },
    redis: adminRedis,
    now,
    log,
    archive,
    publicUrl: () => place.url,
  });
  shutdownHooks.push(() => account.stop());
  const metrics = settings.METRICS_PORT === undefined ? null : createMetrics({ snapshots, metering, now });
  const app = buildApp({
    settings,
    metering,
    snapshots,
    now,
    log,
    randomId: createRequestIds(),
    drainMs: DRAIN_MS,
    // With a port of its own, the area is another process's.
    ...(settings.ADMIN_PORT === undefined && { admin }),
    account,
    ...(metrics && { metrics }),
  });
  await app.listen({ port, host: settings.HOST, backlog: BACKLOG, ...(reusePort && { reusePort }) });
  shutdownHooks.push(() => app.close());
  const url = `http://${visibleHost(settings.HOST)}:${(app.server.address() as AddressInfo).port}`;
  place.url ||= url;
  return {
    metrics,
    checkPointer: () => snapshots.check(),
    async startLeaderTasks() {
      await mkdir(settings.VAR_DIR, { recursive: true });
      const demoKey = await demo(settings, redis, log);
      const operator = settings.ADMIN_PORT === undefined ? await firstOperator(settings, redis, log) : null;
      account.startWorker();
      await account.scheduleJobs();
      const mail = account.mailer.description;
      return startupBanner(url, snapshots.current(), { demoKey, operator, mail });
    },
  };
}

/** Null when there is no sign-in to show. Redis being away is no reason not to start. */
async function firstOperator(settings: Settings, redis: RedisClient, log: Logger): Promise<SignIn | null> {
  const operators = new OperatorStore(redis, Date.now);
  try {
    return await ensureFirstOperator(
      operators,
      new AuditLog(redis, Date.now),
      settings,
      settings.DEMO_KEY ?? settings.REDIS_URL === undefined,
    );
  } catch (error) {
    log.warn({ err: error }, 'no operator could be made sure of');
    return null;
  }
}

/** Null where nobody wants one. Redis being away then is no reason not to start. */
async function demo(settings: Settings, redis: RedisClient, log: Logger): Promise<string | null> {
  const wanted = settings.DEMO_KEY ?? settings.REDIS_URL === undefined;
  if (!wanted) return null;
  const store = new AccountStore({ redis, now: Date.now, random: randomBytes, packs: [] });
  try {
    return await ensureDemoKey(store, settings.VAR_DIR);
  } catch (error) {
    log.warn({ err: error }, 'there is no demo key');
    return null;
  }
}

/** Addresses that mean "every interface", and the loopback ones, are reached as localhost. */
const visibleHost = (host: string): string =>
  ['0.0.0.0', '::', '127.0.0.1', '::1'].includes(host) ? 'localhost' : host;
