/** Several workers are one gateway: limits, revocation, metrics, ends; and what becomes of one that dies. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { AccountStore } from '../../../gateway/accounts/account-store.ts';
import { freePort } from '../../free-ports.ts';
import { startRedis, type TestRedis } from '../../redis.ts';
import { pidFrom, sendSignal, signalGroup } from '../../signals.ts';
import { isRefused, Program, type Started } from '../program.ts';

const run = promisify(execFile);
const ENDS_WITHIN = { timeout: 120_000, interval: 50 };

let program: Program;
let redis: TestRedis;
let accounts: AccountStore;
beforeAll(async () => {
  program = await Program.prepare();
  redis = await startRedis();
  const client = await redis.connect();
  accounts = new AccountStore({ redis: client, now: Date.now, random: randomBytes, packs: [] });
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await redis.stop();
});

const start = (settings: Record<string, string> = {}): Promise<Started> =>
  program.start({
    REDIS_URL: redis.url,
    DEMO_KEY: 'true',
    WORKERS: '2',
    ANONYMOUS_PER_MINUTE: '1000000',
    ANONYMOUS_PER_DAY: '1000000000',
    ...settings,
  });

/** A call over a connection of its own, so that any worker may get it. */
const call = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { headers: { connection: 'close', ...headers } });

/** The worker that answered: ids of requests begin with a word of their process. */
const workerOf = (answer: Response): string =>
  (answer.headers.get('x-request-id') ?? '').replace(/-[^-]*$/, '');

/** Calls until so many workers have answered. */
async function workersOf(url: string, wanted: number): Promise<Set<string>> {
  const seen = new Set<string>();
  while (seen.size < wanted) seen.add(workerOf(await call(`${url}/v1/topics`)));
  return seen;
}

const childrenOf = async (pid: number | undefined): Promise<number[]> => {
  const { stdout } = await run('pgrep', ['-P', String(pid), '-f', 'gateway/main.ts']);
  return stdout.trim().split('\n').map(pidFrom);
};

/** Those of the processes that have not ended; a zombie has. */
async function living(pids: readonly number[]): Promise<string[]> {
  // It fails when it knows none of them.
  const ps = await run('ps', ['-o', 'pid=,stat=', '-p', pids.join()]).catch(() => ({ stdout: '' }));
  return ps.stdout.split('\n').filter((line) => line !== '' && !line.includes('Z'));
}

/** Of so many calls at once, over connections of their own, how many were answered with each status. */
async function statuses(url: string, calls: number, headers = {}): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: calls }, () => call(url, headers)));
  return Object.fromEntries(
    Object.entries(Object.groupBy(answers, ({ status }) => status)).map(([status, of]) => [
      status,
      of?.length ?? 0,
    ]),
  );
}

const metricsAt = async (port: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

/** Calls without a key that went uncounted at all workers. */
async function uncounted(port: number): Promise<number> {
  const count = /^almanac_anonymous_uncounted_total (\d+)$/m.exec(await metricsAt(port))?.[1];
  if (count === undefined) throw new Error('the metrics do not tell how many calls went uncounted');
  return Number(count);
}

describe('two workers', () => {
  let metricsPort: number;
  let gateway: Started;
  beforeAll(async () => {
    metricsPort = await freePort();
    gateway = await start({ METRICS_PORT: String(metricsPort) });
  });
  afterAll(() => program.killAll());

  test('a key that is revoked opens nothing at any worker from the next request on', async () => {
    const { url } = gateway;
    await workersOf(url, 2);
    const { account_id } = await accounts.create({ email: 'w@example.org', verified: true, by: 'test' });
    const { key, key_id } = await accounts.keys.mint(account_id, {});
    const headers = { authorization: `Bearer ${key}` };
    expect(await statuses(`${url}/v1/ping`, 40, headers)).toEqual({ 200: 40 });
    await accounts.keys.revoke(key_id);
    expect(await statuses(`${url}/v1/ping`, 40, headers)).toEqual({ 401: 40 });
  });

  test('metrics are those of all workers together', async () => {
    const { url } = gateway;
    const seen = await workersOf(url, 2);
    const more = await statuses(`${url}/v1/meta/coverage`, 30);
    const metrics = () => metricsAt(metricsPort);
    expect(seen.size).toBe(2);
    expect(more).toEqual({ 200: 30 });
    // A request is counted when its answer has left, which may be after it has arrived.
    const counted = 'almanac_requests_total{route="/v1/meta/coverage",status="200"} 30\n';
    await expect.poll(metrics).toContain(counted);
    const text = await metrics();
    expect(text).toContain('almanac_workers 2\n');
    expect(text.match(/^# HELP almanac_snapshot_age_seconds /gm)).toHaveLength(1);
  });

  test('two gateways never share a port by accident', async () => {
    const { url } = gateway;
    const settings = { REDIS_URL: redis.url, WORKERS: '2', PORT: new URL(url).port };
    await expect(run('env', program.command(settings))).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('EADDRINUSE'),
    });
  });
});

describe('each with a gateway of its own', () => {
  afterEach(() => program.killAll());

  test.each([
    ['each request is asked for by itself', 40, 1],
    ['several are asked for at a time', 200, 2],
  ])('the limit of an address holds over all workers, to the request, where %s', async (_how, limit, db) => {
    const port = await freePort();
    const { url } = await start({
      ANONYMOUS_PER_MINUTE: String(limit),
      REDIS_URL: `${redis.url}?db=${db}`,
      TRUST_PROXY: '127.0.0.1',
      METRICS_PORT: String(port),
    });
    // Calls on both sides of a minute's end have two limits, and of a Redis that the machine held back none: then
    // another address calls.
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

  test('a worker that is killed is replaced, and meanwhile the others answer', async () => {
    const { child, url } = await start({ LOG_LEVEL: 'silent' });
    const before = await workersOf(url, 2);
    const [victim] = await childrenOf(child.pid);
    sendSignal(victim, 'SIGKILL');
    const after = new Set<string>();
    while ([...after].every((worker) => before.has(worker)) || after.size < 2) {
      // Only a connection that the dead one had been dealt may break.
      const answer = await call(`${url}/v1/topics`).catch(() => null);
      if (answer?.status === 200) after.add(workerOf(answer));
    }
    expect(child.exitCode).toBeNull();
    expect(await childrenOf(child.pid)).toHaveLength(2);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s to the whole group: no request of an open connection fails',
    async (signal) => {
      const { child, url } = await start();
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

  test('workers end when the process that started them is killed', async () => {
    const { child, url } = await start();
    const workers = await childrenOf(child.pid);
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    await vi.waitFor(async () => {
      await expect(call(`${url}/healthz`)).rejects.toThrow();
      expect(await living(workers)).toEqual([]);
    }, ENDS_WITHIN);
  });

  test('what keeps a worker from starting ends the service, and is said once', async () => {
    const missing = `${program.directory}/nowhere`;
    const settings = { REDIS_URL: redis.url, WORKERS: '2', PORT: '0', CURATED_DIR: missing };
    const outcome = await run('env', program.command(settings)).catch((error: unknown) => error);
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect((outcome as { stderr: string }).stderr.match(/packs\.yaml:1: the file is missing/)).toHaveLength(
      1,
    );
  });
});
