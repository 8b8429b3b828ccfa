/**
 * Serves the operator area on its own port: `npm run admin`. Gateways with the same `ADMIN_PORT` then serve no `/admin`.
 *
 * Needs Redis, the published snapshots and the curated data.
 */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { createLog } from '../data/runtime/log.ts';
import { connectRedis, whenReady } from '../data/runtime/redis.ts';
import { readSettings, type Settings, SettingsError } from '../data/runtime/settings.ts';
import { runUntilStopped, type ShutdownHook } from '../data/runtime/stop-signals.ts';
import { claimStore } from '../data/runtime/store-version.ts';
import {
  createHttpServer,
  createRequestIds,
  installErrorHandlers,
  installHealth,
  requestObserver,
} from '../gateway/api/http/http.ts';
import { redisFault } from '../gateway/api/metering/metering.ts';
import { SnapshotStore } from '../gateway/api/snapshot/snapshot.ts';
import { AccountStore } from '../gateway/commerce/accounts/accounts.ts';
import { Archive, AuditLog } from '../gateway/commerce/history/history.ts';
import { createMailer, OperatorAlerts } from '../gateway/commerce/notifications/notifications.ts';
import { salesTermsOf } from '../gateway/commerce/orders/orders.ts';
import { openPrivacy } from '../gateway/commerce/privacy/privacy.ts';
import { resolveRedisUrl, startFailureReason } from '../gateway/process/lifecycle.ts';
import { StartTasks } from '../gateway/process/start-tasks.ts';
import { installAssets } from '../gateway/site/assets.ts';
import { ensureFirstOperator } from './first-operator.ts';
import { OperatorStore } from './operators.ts';
import { ADMIN_ROOT, registerAdmin } from './plugin.ts';

const REDIS_WAIT_MS = 3_000;

/** Starts the server and returns the message for the terminal. */
async function start(
  settings: Settings,
  log: Logger,
  shutdownHooks: ShutdownHook[],
  stopping: AbortSignal,
): Promise<string> {
  if (settings.ADMIN_PORT === undefined)
    throw new SettingsError('ADMIN_PORT: set the port of the operator area');
  const redisUrl = await resolveRedisUrl(settings, shutdownHooks, stopping);
  const redis = connectRedis({ ...settings, REDIS_URL: redisUrl }, log, 'admin');
  shutdownHooks.push(async () => redis.disconnect());
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
  shutdownHooks.push(() => snapshots.close());
  await claimStore(redis);
  const now = Date.now;
  const app = createHttpServer({
    settings,
    log,
    randomId: createRequestIds(),
    observe: requestObserver(log, null),
  });
  installErrorHandlers(app, { headTemplates: [], templates: ['/healthz', '/readyz'], log });
  installHealth(app, { snapshots, metering: { fault: () => redisFault(redis) } });
  installAssets(app);
  const archive = new Archive(settings.ARCHIVE_DIR);
  shutdownHooks.push(() => archive.close());
  const accounts = new AccountStore({
    redis,
    now,
    random: randomBytes,
    packs: [],
    archive,
    terms: salesTermsOf(settings),
  });
  const mailer = createMailer(settings, { now, log });
  let areaUrl = settings.ADMIN_URL?.replace(/\/+$/, '') ?? '';
  registerAdmin(app, {
    redis,
    accounts,
    now,
    log,
    snapshots,
    settings,
    archive,
    erasures: openPrivacy({ settings, redis, accounts, archive, now, log }).privacy.erasures,
    mailer,
    operatorAlerts: new OperatorAlerts({ redis, settings, mailer, now, random: randomBytes }),
    areaUrl: () => areaUrl,
  });
  await app.listen({ port: settings.ADMIN_PORT, host: settings.HOST });
  shutdownHooks.push(() => app.close());
  const tasks = new StartTasks(log);
  shutdownHooks.push(() => tasks.stop());
  const operators = new OperatorStore(redis, now);
  await tasks.run('first operator', () =>
    ensureFirstOperator(operators, new AuditLog(redis, now), settings, false),
  );
  const { port } = app.server.address() as AddressInfo;
  const url = `http://${settings.HOST}:${port}${ADMIN_ROOT}`;
  areaUrl ||= url;
  return `Operator area: ${url}/\n`;
}

try {
  const settings = readSettings();
  const log = createLog(settings);
  await runUntilStopped(log, async (shutdownHooks, stopping) => {
    const message = await start(settings, log, shutdownHooks, stopping);
    stopping.throwIfAborted();
    process.stdout.write(message);
  });
} catch (error) {
  const reason = startFailureReason(error);
  if (reason === null) console.error(error);
  else process.stderr.write(`${reason}\n`);
  process.exit(1);
}
