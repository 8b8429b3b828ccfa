/** Tasks of the start that need Redis: done once, as soon as it answers, without a restart. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { JobService } from '../../../data/runtime/jobs.ts';
import { connectRedis, whenReady } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { JobQueue, openQueue } from '../../../gateway/commerce/notifications/jobs/queue.ts';
import { AccountError } from '../../../gateway/commerce/store/records.ts';
import { StartTasks } from '../../../gateway/process/start-tasks.ts';
import { silentLog, startRedis } from '../../redis.ts';
import { Program } from '../program.ts';

test('a gateway that starts without Redis makes demo key, first operator and schedules when it comes', async () => {
  const redis = await startRedis({ dedicated: true });
  await using program = await Program.prepare();
  await redis.kill();
  const settings = { REDIS_URL: redis.url, DEMO_KEY: 'true', WORKERS: '1', LOG_LEVEL: 'silent' };
  const { url, startupBanner } = await program.start(settings);
  expect(startupBanner).not.toContain('alm_live_');
  await redis.restart();
  const keyFile = join(program.directory, 'var', 'demo-key');
  const ping = async () => {
    const key = (await readFile(keyFile, 'utf8').catch(() => '')).trim();
    return (await fetch(`${url}/v1/ping`, { headers: { authorization: `Bearer ${key}` } })).status;
  };
  const within = { timeout: 20_000, interval: 100 };
  await expect.poll(ping, within).toBe(200);
  const client = connectRedis({ REDIS_URL: redis.url, REDIS_CLUSTER: false }, silentLog, 'tool');
  expect(await whenReady(client, 10_000)).toBe(true);
  await expect.poll(() => client.zcard(redisKeys.operators), within).toBe(1);
  const queue = openQueue(client, 'account');
  await expect.poll(() => queue.getJobSchedulersCount(), within).toBe(3);
  client.disconnect();
  await redis.stop();
});

test('queues that were opened without Redis take jobs once it answers', async () => {
  const redis = await startRedis({ dedicated: true });
  await redis.kill();
  const client = connectRedis({ REDIS_URL: redis.url, REDIS_CLUSTER: false }, silentLog, 'admin');
  const account = new JobQueue(client);
  const builds = new JobService(client, Date.now);
  const add = () => account.add('reset', { email: 'user@example.org' });
  const ingest = () => builds.ingest('gapminder');
  await expect(add()).rejects.toThrow();
  await expect(ingest()).rejects.toThrow();
  await redis.restart();
  expect(await whenReady(client, 10_000)).toBe(true);
  await add();
  expect(await ingest()).toMatchObject({ state: 'queued' });
  client.disconnect();
  await redis.stop();
});

/** Tasks whose waits end at once, and how long they were to be. */
function tasksWithoutWaiting(): { tasks: StartTasks; waits_ms: number[]; lines: string[] } {
  const waits_ms: number[] = [];
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const wait = async (ms: number): Promise<void> => {
    waits_ms.push(ms);
  };
  return { tasks: new StartTasks(log, wait), waits_ms, lines };
}

/** Fails `failures` times. */
const failing = (failures: number, error = new Error('away')) => {
  const calls = { count: 0 };
  const task = async (): Promise<string> => {
    calls.count += 1;
    if (calls.count <= failures) throw error;
    return 'done';
  };
  return { task, calls };
};

test('the first attempt gives the result; a failed task is repeated with growing waits until it succeeds', async () => {
  const { tasks, waits_ms, lines } = tasksWithoutWaiting();
  expect(await tasks.run('one', failing(0).task)).toBe('done');
  const { task, calls } = failing(9);
  expect(await tasks.run('other', task)).toBeNull();
  await expect.poll(() => calls.count).toBe(10);
  expect(waits_ms).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000]);
  await expect
    .poll(() => lines)
    .toEqual(['start task failed: it is repeated until it succeeds', 'start task done']);
});

test('what an operator must correct is not repeated', async () => {
  const { tasks, waits_ms } = tasksWithoutWaiting();
  const { task, calls } = failing(9, new AccountError('bad_input', 'A password is too short.'));
  expect(await tasks.run('one', task)).toBeNull();
  expect([calls.count, waits_ms]).toEqual([1, []]);
});

test('nothing is tried after the stop', async () => {
  const waiting = Promise.withResolvers<void>();
  const tasks = new StartTasks(silentLog, () => waiting.promise);
  const { task, calls } = failing(9);
  await tasks.run('one', task);
  const stopped = tasks.stop();
  waiting.resolve();
  await stopped;
  expect(calls.count).toBe(1);
});
