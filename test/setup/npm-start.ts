/** `npm start` and other commands as a person runs them, in a data directory of their own, and all processes of them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { sendSignal, signalGroup } from '../signals.ts';

const ROOT = join(import.meta.dirname, '../..');
const SETTINGS = {
  PORT: '0',
  WORKERS: '2',
  REDIS_URL: '',
  PROVIDER_MIRROR: '',
  SNAPSHOT_DIR: '',
  LAKE_DIR: '',
  NIGHTLY_CRON: 'off',
  // What npm has to say about its own settings on this machine does not count.
  npm_config_loglevel: 'error',
};
/** Ends the start-up banner of a service with data. */
const LAST_LINE = /format=csv'\r?\n/;

/** A terminal's sequence for going up, without its escape character: progress bars overwrite themselves so. */
const UP = /\[(\d+)A/g;

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface Start {
  /** Leads a process group, as from a shell. */
  child: ChildProcess;
  output(): string;
  /** Whether the service is ready, as its banner says, before that time is over. */
  servesWithin(time_ms: number): Promise<boolean>;
}

/** The lines that stay on a terminal. */
export const lineCount = (output: string): number =>
  [...output.matchAll(UP)].reduce((lines, [, up]) => lines - Number(up), output.split('\n').length - 1);

export class StartDirectory implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<StartDirectory> {
    return new StartDirectory(await mkdtemp(join(tmpdir(), 'alm-start-')));
  }

  start(settings: Record<string, string>, command = ['npm', 'start']): Start {
    const changes = Object.entries({ ...SETTINGS, VAR_DIR: this.path, ...settings });
    const child = spawn('env', [...changes.map(([name, value]) => `${name}=${value}`), ...command], {
      cwd: ROOT,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let output = '';
    const served = new Promise<true>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (piece: string) => {
          output += piece;
          if (LAST_LINE.test(output)) resolve(true);
        });
      }
    });
    return {
      child,
      output: () => output,
      async servesWithin(time_ms) {
        const { promise: late, resolve } = Promise.withResolvers<false>();
        const timeout = setTimeout(resolve, time_ms, false);
        return Promise.race([served, late]).finally(() => clearTimeout(timeout));
      },
    };
  }

  /**
   * Starts it and sends a signal after that time: SIGTERM to npm alone, others to all of the group, as a terminal does.
   * Nothing of the start may be left then, nor complain, but for a publication: it says that it was cancelled.
   * @returns whether it served before.
   */
  async interrupt(
    signal: StopSignal,
    after_ms: number,
    settings: Record<string, string> = {},
  ): Promise<boolean> {
    const started = this.start(settings);
    const hasServed = await started.servesWithin(after_ms);
    await this.#end(started, signal, `${after_ms} ms`);
    return hasServed;
  }

  /** Sends a signal to a command whose Redis starts and never answers. Nothing may be left, nor complain. */
  async interruptCommand(npm: string, signal: StopSignal): Promise<void> {
    const bin = join(this.path, 'bin');
    const begun = join(this.path, 'redis-begun');
    await mkdir(bin, { recursive: true });
    const silent = `#!/bin/sh\ntouch '${begun}'\nexec sleep 600\n`;
    await writeFile(join(bin, 'redis-server'), silent, { mode: 0o755 });
    await rm(begun, { force: true });
    const started = this.start({}, ['sh', '-c', `PATH="${bin}:$PATH" exec ${npm}`]);
    await expect.poll(() => existsSync(begun)).toBe(true);
    await this.#end(started, signal, 'the start of Redis');
  }

  async #end({ child, output }: Start, signal: StopSignal, moment: string): Promise<void> {
    const exit = once(child, 'exit');
    if (signal === 'SIGTERM') child.kill(signal);
    else signalGroup(child.pid, signal);
    await exit;
    const told = { message: `${signal} after ${moment}:\n${output()}` };
    await expect.poll(() => this.processes(), { ...told, timeout: 20_000 }).toEqual([]);
    if (!output().includes('publishing the starter data'))
      expect(output(), told.message).not.toMatch(/error|warn|while it was starting|setup: failed|^ {4}at /im);
  }

  /** Processes that have this directory in their environment, or in their title: Redis overwrites its environment with it. */
  async processes(): Promise<{ pid: number; command: string }[]> {
    const found = (await readdir('/proc')).map(async (pid) => {
      const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '');
      const [environment, command] = await Promise.all([read('environ'), read('cmdline')]);
      if (!`${environment}\0${command}`.includes(this.path)) return [];
      return [{ pid: Number(pid), command: command.replaceAll('\0', ' ').trim() }];
    });
    return (await Promise.all(found)).flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { pid } of await this.processes()) {
      try {
        sendSignal(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    await rm(this.path, { recursive: true, force: true });
  }
}
