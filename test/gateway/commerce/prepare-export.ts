/**
 * A program that prepares the privacy request of its argument, as the job does, and prints what it needed as JSON. It
 * reads the settings from the environment.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { connectRedis, whenReady } from '../../../data/runtime/redis.ts';
import { readSettings } from '../../../data/runtime/settings.ts';
import { openAccountService } from '../../../gateway/commerce/service.ts';
import { silentLog } from '../../redis-server.ts';

const settings = readSettings();
const redis = connectRedis(settings, silentLog, 'admin');
await whenReady(redis, 10_000);
const service = await openAccountService({
  settings,
  redis,
  now: Date.now,
  log: silentLog,
  publicUrl: () => '',
});
const base_mb = process.memoryUsage.rss() / 2 ** 20;
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const started_ms = performance.now();
const { status, plan } = await service.privacy.prepare(String(process.argv[2]));
const seconds = (performance.now() - started_ms) / 1_000;
delay.disable();
await service.stop();
redis.disconnect();
process.stdout.write(
  JSON.stringify({
    status,
    plan,
    seconds,
    base_mb,
    peak_mb: process.resourceUsage().maxRSS / 1024,
    /** Longest time that the event loop was held. */
    longest_ms: delay.max / 1e6,
    p99_ms: delay.percentile(99) / 1e6,
  }),
);
