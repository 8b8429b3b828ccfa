/** Two workers act as one gateway. */
import { afterAll, describe, expect, test } from 'vitest';
import { stopAfterTests } from '../../after-tests.ts';
import { freePort } from '../../free-ports.ts';
import { metricsAt, run, statuses, WorkerWorld, workersOf } from './worker-harness.ts';

const world = await stopAfterTests(WorkerWorld.open());

describe('two workers', async () => {
  const metricsPort = await freePort();
  const gateway = await world.start({ METRICS_PORT: String(metricsPort) });
  afterAll(() => world.program.killAll());

  test('reject a revoked key from the next request on', async () => {
    const { url } = gateway;
    await workersOf(url, 2);
    const { account_id } = await world.accounts.create({
      email: 'w@example.org',
      verified: true,
      by: 'test',
    });
    const { key, key_id } = await world.accounts.keys.mint(account_id, {});
    const headers = { authorization: `Bearer ${key}` };
    expect(await statuses(`${url}/v1/ping`, 40, headers)).toEqual({ 200: 40 });
    await world.accounts.keys.revoke(key_id);
    expect(await statuses(`${url}/v1/ping`, 40, headers)).toEqual({ 401: 40 });
  });

  test('report the sum of their metrics', async () => {
    const { url } = gateway;
    const seen = await workersOf(url, 2);
    const more = await statuses(`${url}/v1/meta/coverage`, 30);
    const metrics = () => metricsAt(metricsPort);
    expect(seen.size).toBe(2);
    expect(more).toEqual({ 200: 30 });
    // A request is counted after its answer was sent.
    const counted = 'almanac_requests_total{route="/v1/meta/coverage",status="200"} 30\n';
    await expect.poll(metrics).toContain(counted);
    const text = await metrics();
    expect(text).toContain('almanac_workers 2\n');
    expect(text.match(/^# HELP almanac_snapshot_age_seconds /gm)).toHaveLength(1);
  });

  test('claim their port: a second gateway on it does not start', async () => {
    const { url } = gateway;
    const settings = { REDIS_URL: world.redis.url, WORKERS: '2', PORT: new URL(url).port };
    await expect(run('env', world.program.command(settings))).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('EADDRINUSE'),
    });
  });
});
