/** Starts gateways with several workers, calls them, and watches their processes. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import { startRedis, type TestRedis } from '../../redis.ts';
import { pidFrom } from '../../signals.ts';
import { Program, type Started } from '../program.ts';

export const run = promisify(execFile);

/** One Redis and one snapshot for all gateways of a test file. */
export class WorkerWorld implements AsyncDisposable {
  readonly program: Program;
  readonly redis: TestRedis;
  readonly accounts: AccountStore;

  private constructor(program: Program, redis: TestRedis, accounts: AccountStore) {
    this.program = program;
    this.redis = redis;
    this.accounts = accounts;
  }

  static async open(): Promise<WorkerWorld> {
    const program = await Program.prepare();
    const redis = await startRedis();
    const client = await redis.connect();
    const accounts = new AccountStore({ redis: client, now: Date.now, random: randomBytes, packs: [] });
    return new WorkerWorld(program, redis, accounts);
  }

  /** Starts a gateway with two workers and rate limits that no test reaches by accident. */
  start(settings: Record<string, string> = {}): Promise<Started> {
    return this.program.start({
      REDIS_URL: this.redis.url,
      DEMO_KEY: 'true',
      WORKERS: '2',
      ANONYMOUS_PER_MINUTE: '1000000',
      ANONYMOUS_PER_DAY: '1000000000',
      ...settings,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
    await this.redis.stop();
  }
}

/** A call over a connection of its own, so that any worker may get it. */
export const call = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { headers: { connection: 'close', ...headers } });

/** The worker that answered: request ids start with a prefix of their process. */
export const workerOf = (answer: Response): string =>
  (answer.headers.get('x-request-id') ?? '').replace(/-[^-]*$/, '');

/** Calls until this many workers have answered. */
export async function workersOf(url: string, wanted: number): Promise<Set<string>> {
  const seen = new Set<string>();
  while (seen.size < wanted) seen.add(workerOf(await call(`${url}/v1/topics`)));
  return seen;
}

export const childrenOf = async (pid: number | undefined): Promise<number[]> => {
  const { stdout } = await run('pgrep', ['-P', String(pid), '-f', 'gateway/main.ts']);
  return stdout.trim().split('\n').map(pidFrom);
};

/** Those of the processes that have not exited; zombies have. */
export async function living(pids: readonly number[]): Promise<string[]> {
  // `ps` fails when it knows none of them.
  const ps = await run('ps', ['-o', 'pid=,stat=', '-p', pids.join()]).catch(() => ({ stdout: '' }));
  return ps.stdout.split('\n').filter((line) => line !== '' && !line.includes('Z'));
}

/** Sends calls at once, each over its own connection. @returns the number of answers by status. */
export async function statuses(url: string, calls: number, headers = {}): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: calls }, () => call(url, headers)));
  const byStatus = Object.groupBy(answers, ({ status }) => status);
  return Object.fromEntries(Object.entries(byStatus).map(([status, of]) => [status, of?.length ?? 0]));
}

export const metricsAt = async (port: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

/** Anonymous calls that all workers together have admitted uncounted. */
export async function uncounted(port: number): Promise<number> {
  const count = /^almanac_anonymous_uncounted_total (\d+)$/m.exec(await metricsAt(port))?.[1];
  if (count === undefined) throw new Error('the metric of uncounted calls is missing');
  return Number(count);
}
