/** Several workers over their life: limits, killed workers, shutdown, failed starts. Each test starts a gateway. */
import { once } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { stopAfterTests } from '../../after-tests.ts';
import { freePort } from '../../free-ports.ts';
import { sendSignal, signalGroup } from '../../signals.ts';
import { isRefused } from '../program.ts';
import {
  call,
  childrenOf,
  living,
  run,
  statuses,
  uncounted,
  WorkerWorld,
  workerOf,
  workersOf,
} from './worker-harness.ts';

const ENDS_WITHIN = { timeout: 120_000, interval: 50 };

const world = await stopAfterTests(WorkerWorld.open());

describe('a gateway with two workers', () => {
  afterEach(() => world.program.killAll());

  test.each([
    ['with a lease per request', 40, 1],
    ['with leases of several requests', 200, 2],
  ])('holds the limit of an address exactly over all workers, %s', async (_how, limit, db) => {
    const port = await freePort();
    const { url } = await world.start({
      ANONYMOUS_PER_MINUTE: String(limit),
      REDIS_URL: `${world.redis.url}?db=${db}`,
      TRUST_PROXY: '127.0.0.1',
      METRICS_PORT: String(port),
    });
    // The count is void when the minute ended or Redis was too slow meanwhile: another address tries again.
    const circumstances = async () => [Math.floor(Date.now() / 60_000), await uncounted(port)];
    let served = 0;
    for (let caller = 1, before: number[] = []; String(before) !== String(await circumstances()); caller++) {
      before = await circumstances();
      served = 0;
      for (let calls = 0; calls < 2 * limit; calls += 20) {
        const from = { 'x-forwarded-for': `192.0.2.${caller}` };
        const { 200: good = 0, 429: refused = 0 } = await statuses(`${url}/v1/topics`, 20, from);
        expect(good + refused).toBe(20);
        served += good;
      }
    }
    expect(served).toBe(limit);
  });

  test('replaces a killed worker while the others answer', async () => {
    const { child, url } = await world.start({ LOG_LEVEL: 'silent' });
    const before = await workersOf(url, 2);
    const [victim] = await childrenOf(child.pid);
    sendSignal(victim, 'SIGKILL');
    const after = new Set<string>();
    while ([...after].every((worker) => before.has(worker)) || after.size < 2) {
      // Only connections of the killed worker may break.
      const answer = await call(`${url}/v1/topics`).catch(() => null);
      if (answer?.status === 200) after.add(workerOf(answer));
    }
    expect(child.exitCode).toBeNull();
    expect(await childrenOf(child.pid)).toHaveLength(2);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'finishes requests in flight on %s to the process group',
    async (signal) => {
      const { child, url } = await world.start();
      const calls = Array.from({ length: 200 }, () =>
        fetch(`${url}/v1/indicators`).then((answer) => answer.text()),
      );
      await Promise.race(calls);
      const exit = once(child, 'exit');
      signalGroup(child.pid, signal);
      const outcomes = await Promise.allSettled(calls);
      expect(outcomes.filter((outcome) => outcome.status === 'rejected' && !isRefused(outcome))).toEqual([]);
      expect((await exit)[0]).toBe(0);
    },
  );

  test('ends its workers when the primary is killed', async () => {
    const { child, url } = await world.start();
    const workers = await childrenOf(child.pid);
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    await vi.waitFor(async () => {
      await expect(call(`${url}/healthz`)).rejects.toThrow();
      expect(await living(workers)).toEqual([]);
    }, ENDS_WITHIN);
  });

  test('does not start when a worker cannot, and prints the reason once', async () => {
    const missing = `${world.program.directory}/nowhere`;
    const settings = { REDIS_URL: world.redis.url, WORKERS: '2', PORT: '0', CURATED_DIR: missing };
    const outcome = await run('env', world.program.command(settings)).catch((error: unknown) => error);
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect((outcome as { stderr: string }).stderr.match(/packs\.yaml:1: the file is missing/)).toHaveLength(
      1,
    );
  });
});
