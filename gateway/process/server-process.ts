/**
 * A process that serves requests: Redis connections, snapshots, metering, accounts and their pages, the operator area and
 * the port. A gateway without workers is one such process; otherwise each worker is one.
 */
import { mkdir } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { AdminDependencies } from '../../admin/context.ts';
import { ensureFirstOperator } from '../../admin/first-operator.ts';
import { OperatorStore, type SignIn } from '../../admin/operators.ts';
import { ADMIN_ROOT } from '../../admin/plugin.ts';
import { connectRedis, type RedisClient, whenReady } from '../../data/runtime/redis.ts';
import { isDemo, type Settings } from '../../data/runtime/settings.ts';
import type { ShutdownHook } from '../../data/runtime/stop-signals.ts';
import { claimStore } from '../../data/runtime/store-version.ts';
import { createMetrics, createRequestIds, localAddress, serviceAddress } from '../api/http/http.ts';
import { RedisMetering } from '../api/metering/metering.ts';
import { openOrigin, Scrub, SnapshotStore } from '../api/snapshot/snapshot.ts';
import { AvailabilityLog, monitorReadiness } from '../api/status/status.ts';
import { buildApp } from '../app.ts';
import { ensureDemoKey } from '../commerce/accounts/accounts.ts';
import { Archive, AuditLog } from '../commerce/history/history.ts';
import { openAccountService } from '../commerce/service.ts';
import { StartTasks } from './start-tasks.ts';
import { startupBanner } from './startup-banner.ts';

/** The start does not wait longer than this for Redis, because free routes work without it. */
const REDIS_WAIT_MS = 3_000;
/** Long enough for clients on a fast network to notice that their connection closes. */
const DRAIN_MS = 300;
/** Length of the accept queue. A client that finds it full retries after a second, then after three. */
const BACKLOG = 4_096;

/** Options beyond the settings. */
export interface ServerProcessOptions {
  redisUrl: string;
  /** Not 0: the service names it in its address. */
  port: number;
  /** Shares the port with other processes; the kernel distributes connections among them. */
  reusePort: boolean;
  /** Processes that share the memory budgets of the settings. */
  processCount: number;
  /** Called after each switch to another snapshot. */
  onSwitch?: () => void;
  /** Called with the name of a file of the served snapshot that the background check found to be damaged. */
  onDamage?: (file: string) => void;
}

export type ServerProcess = Awaited<ReturnType<typeof startServerProcess>>;

/** Starts to serve requests. Adds its shutdown hooks as it goes, so that a failed start can be cleaned up. */
export async function startServerProcess(
  given: Settings,
  { redisUrl, port, reusePort, processCount, onSwitch, onDamage = () => {} }: ServerProcessOptions,
  log: Logger,
  shutdownHooks: ShutdownHook[],
) {
  const settings = { ...given, PORT: port };
  const redis = connectRedis({ ...settings, REDIS_URL: redisUrl }, log, 'metering');
  shutdownHooks.push(async () => redis.disconnect());
  const adminRedis = connectRedis({ ...settings, REDIS_URL: redisUrl }, log, 'admin');
  shutdownHooks.push(async () => adminRedis.disconnect());
  const now = Date.now;
  const origin = await openOrigin(settings, now, log);
  if (origin) shutdownHooks.push(() => origin.close());
  const [snapshots] = await Promise.all([
    SnapshotStore.open({
      directory: settings.SNAPSHOT_DIR,
      pollMs: settings.SNAPSHOT_POLL_MS,
      hotCacheMb: settings.HOT_CACHE_MB,
      queryTimeoutMs: settings.QUERY_TIMEOUT_MS,
      processCount,
      log,
      ...(origin && { origin: origin.fetcher }),
    }),
    whenReady(redis, REDIS_WAIT_MS),
    whenReady(adminRedis, REDIS_WAIT_MS),
  ]);
  shutdownHooks.push(() => snapshots.close());
  await claimStore(adminRedis);
  if (onSwitch) snapshots.onSwitch(onSwitch);
  const metering = new RedisMetering({ redis, settings, now, log });
  shutdownHooks.push(() => metering.flush());
  const archive = new Archive(settings.ARCHIVE_DIR);
  shutdownHooks.push(() => archive.close());
  const publicUrl = serviceAddress(settings);
  const account = await openAccountService({
    settings: { ...settings, REDIS_URL: redisUrl },
    redis: adminRedis,
    now,
    log,
    archive,
    served: snapshots,
    publicUrl: () => publicUrl,
  });
  shutdownHooks.push(() => account.stop());
  const admin: AdminDependencies = {
    redis: adminRedis,
    accounts: account.accounts,
    now,
    log,
    snapshots,
    settings,
    archive,
    erasures: account.privacy.erasures,
    mailer: account.mailer,
    operatorAlerts: account.operatorAlerts,
    areaUrl: () => settings.ADMIN_URL?.replace(/\/+$/, '') ?? `${publicUrl}${ADMIN_ROOT}`,
  };
  const metrics = settings.METRICS_PORT === undefined ? null : createMetrics({ snapshots, metering, now });
  const app = buildApp({
    settings,
    metering,
    snapshots,
    now,
    log,
    randomId: createRequestIds(),
    drainMs: DRAIN_MS,
    // On a port of its own, the operator area runs in another process.
    ...(settings.ADMIN_PORT === undefined && { admin }),
    account,
    ...(metrics && { metrics }),
  });
  await app.listen({ port, host: settings.HOST, backlog: BACKLOG, ...(reusePort && { reusePort }) });
  shutdownHooks.push(() => app.close());
  return {
    /** Null where metrics are off. */
    metrics,
    /** Checks now whether a new snapshot was published. */
    checkPointer: () => snapshots.check(),
    /** Looks at a file of the served snapshot that another process found to be damaged. */
    verifyFile: (name: string) => snapshots.verifyFile(name),
    /** Starts the work of a single process: jobs, their schedule, the background check of files, demo key and first operator. Resolves to the banner. */
    async startLeaderTasks() {
      await mkdir(settings.VAR_DIR, { recursive: true });
      origin?.follow(() => snapshots.check());
      const scrub = new Scrub({ snapshots, onDamage });
      shutdownHooks.push(() => scrub.stop());
      const availability = new AvailabilityLog(adminRedis, now);
      shutdownHooks.push(monitorReadiness({ snapshots, metering, availability, log }));
      const tasks = new StartTasks(log);
      shutdownHooks.push(() => tasks.stop());
      const demoKey = isDemo(settings)
        ? await tasks.run('demo key', () => ensureDemoKey(account.accounts, settings.VAR_DIR))
        : null;
      const operator =
        settings.ADMIN_PORT === undefined
          ? await tasks.run('first operator', () => firstOperator(settings, adminRedis))
          : null;
      account.startWorker();
      await tasks.run('job schedules', () => account.scheduleJobs());
      const mail = account.mailer.description;
      return startupBanner(localAddress(settings), snapshots.current(), { demoKey, operator, mail });
    },
  };
}

/** The first operator's sign-in; null when there is none to show. */
function firstOperator(settings: Settings, redis: RedisClient): Promise<SignIn | null> {
  const operators = new OperatorStore(redis, Date.now);
  return ensureFirstOperator(operators, new AuditLog(redis, Date.now), settings, isDemo(settings));
}
