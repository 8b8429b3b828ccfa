/** The gateway as a process, started as a user starts it, in a temporary directory. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signalGroup } from '../signals.ts';
import { publishFixture } from './fixture-snapshot.ts';

const OWN_GROUP: SpawnOptions = { stdio: ['ignore', 'pipe', 'inherit'], detached: true };
const WORKER = new URL('../../build/worker.ts', import.meta.url).pathname;
const MAIN = new URL('../../gateway/main.ts', import.meta.url).pathname;

export interface Started {
  child: ChildProcess;
  /** Standard output up to the end of the banner, or all of it when the process exits earlier. */
  startupBanner: string;
  url: string;
}

export class Program implements AsyncDisposable {
  readonly directory: string;
  readonly snapshots: string;
  readonly #children: ChildProcess[] = [];

  private constructor(directory: string) {
    this.directory = directory;
    this.snapshots = join(directory, 'snapshots');
  }

  /** Publishes the fixture as its snapshot. */
  static async prepare(): Promise<Program> {
    const program = new Program(await mkdtemp(join(tmpdir(), 'alm-main-')));
    await publishFixture(program.snapshots);
    return program;
  }

  /** Arguments of `env`: settings that override the inherited environment, then the program. */
  command(settings: Record<string, string>): string[] {
    const own = {
      REDIS_URL: '',
      METRICS_PORT: '',
      VAR_DIR: join(this.directory, 'var'),
      SNAPSHOT_DIR: this.snapshots,
      LOG_LEVEL: 'warn',
      ...settings,
    };
    const pairs = Object.entries(own).map(([name, value]) => `${name}=${value}`);
    return [...pairs, process.execPath, MAIN];
  }

  /**
   * Starts it as `npm start` does, with the worker beside it and both outputs in one stream.
   * @param terminal whether that stream is a terminal
   */
  async startWithWorker(terminal: boolean, settings: Record<string, string> = {}): Promise<Started> {
    const command = this.command({ PORT: '0', LOG_LEVEL: 'info', NIGHTLY_CRON: 'off', ...settings });
    const words = ['exec', 'env', ...command, '--beside', WORKER].map((word) => `'${word}'`);
    const line = `${words.join(' ').replace("'exec'", 'exec')} 2>&1`;
    const child = terminal
      ? spawn('script', ['--quiet', '--return', '--flush', '--command', line, '/dev/null'], {
          ...OWN_GROUP,
          stdio: ['pipe', 'pipe', 'inherit'],
        })
      : spawn('sh', ['-c', line], OWN_GROUP);
    return this.#untilBanner(child);
  }

  /** Starts in a process group of its own, as from a shell. */
  async start(settings: Record<string, string> = {}): Promise<Started> {
    return this.#untilBanner(spawn('env', this.command({ PORT: '0', ...settings }), OWN_GROUP));
  }

  async #untilBanner(child: ChildProcess): Promise<Started> {
    this.#children.push(child);
    let startupBanner = '';
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      startupBanner += piece;
    });
    while (!/format=csv'\r?\n/.test(startupBanner) && child.exitCode === null)
      await once(child.stdout ?? child, 'data');
    const [, url = ''] = /listens on (\S+)/.exec(startupBanner) ?? [];
    return { child, startupBanner, url };
  }

  /** Kills all processes that still run. */
  killAll(): void {
    for (const { pid } of this.#children.splice(0)) {
      try {
        signalGroup(pid, 'SIGKILL');
      } catch {
        // It has ended, and its group with it.
      }
    }
  }

  /** A program that was killed leaves the private Redis that it started, in a process group of its own. */
  async #killRedis(): Promise<void> {
    try {
      const pid = Number(await readFile(join(this.directory, 'var/redis/redis.pid'), 'utf8'));
      // 0 is the own process group.
      if (pid > 0) process.kill(pid, 'SIGKILL');
    } catch {
      // There is none, or it has ended.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.killAll();
    await this.#killRedis();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** @returns the exit code */
export async function end(child: ChildProcess, signal: 'SIGINT' | 'SIGTERM'): Promise<unknown> {
  const exit = once(child, 'exit');
  child.kill(signal);
  return (await exit)[0];
}

/** True for a connection that was refused because the server had stopped listening. */
export const isRefused = (outcome: object): boolean =>
  JSON.stringify((outcome as { reason?: { cause?: { code?: string } } }).reason?.cause?.code) ===
  '"ECONNREFUSED"';
