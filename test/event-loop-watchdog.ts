/**
 * Measures how long one turn of the event loop keeps everything else waiting: as CPU time of its thread, so that a
 * machine that is busy with something else makes no turn longer. Measures this process, or, with `ChildEventLoops`, the
 * processes that a test starts.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { isMainThread } from 'node:worker_threads';

/** A turn that takes longer blocks the process. */
export const TURN_MAX_MS = 100;
/** A measured turn contains at most this much of the turns before it. The clock advances in ticks, of 4 ms where it is coarse. */
const SAMPLED_EVERY_MS = 5;
/** Shorter turns of children are not written down. */
const NOTED_FROM_MS = 10;

/** CPU time of the calling thread. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

export interface Turn {
  pid: number;
  /** Unix milliseconds. */
  ended_at_ms: number;
  cpu_ms: number;
}

/** Watches the event loop of the thread that makes it. */
export class EventLoopWatchdog implements Disposable {
  #longest_ms = 0;
  #sampled_ms = threadCpuMs();
  readonly #onTurn: ((turn: Turn) => void) | null;
  readonly #timer: NodeJS.Timeout;

  /** @param onTurn is called with every turn. */
  constructor(onTurn: ((turn: Turn) => void) | null = null) {
    this.#onTurn = onTurn;
    this.#timer = setInterval(() => this.#sample(), SAMPLED_EVERY_MS).unref();
  }

  /** CPU time of the longest turn since `reset`, the one that has not ended included. */
  get longest_ms(): number {
    return Math.max(this.#longest_ms, threadCpuMs() - this.#sampled_ms);
  }

  /** Forgets all turns up to now. */
  reset(): void {
    this.#longest_ms = 0;
    this.#sampled_ms = threadCpuMs();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    const now_ms = threadCpuMs();
    const cpu_ms = now_ms - this.#sampled_ms;
    this.#sampled_ms = now_ms;
    this.#longest_ms = Math.max(this.#longest_ms, cpu_ms);
    this.#onTurn?.({ pid: process.pid, ended_at_ms: Date.now(), cpu_ms });
  }
}

const TURNS_FILE = 'turns';
const PRELOADED = new URL('event-loop-preload.ts', import.meta.url);

/** Watches the event loop of every Node process that is started with its environment, also of those that are killed. */
export class ChildEventLoops implements AsyncDisposable {
  readonly #directory: string;
  readonly #file: string;

  private constructor(directory: string) {
    this.#directory = directory;
    this.#file = join(directory, 'turns');
  }

  static async watch(): Promise<ChildEventLoops> {
    return new ChildEventLoops(await mkdtemp(join(tmpdir(), 'alm-turns-')));
  }

  /** Environment variables of the processes to watch. */
  get environment(): { NODE_OPTIONS: string } {
    const preloaded = new URL(PRELOADED);
    preloaded.searchParams.set(TURNS_FILE, this.#file);
    return { NODE_OPTIONS: `--import=${preloaded}` };
  }

  /**
   * The longest turn, null when none took 10 ms.
   * @param since_ms Unix milliseconds: leaves out turns that ended earlier, such as those of a start.
   */
  async longest(since_ms = 0): Promise<Turn | null> {
    const text = await readFile(this.#file, 'utf8').catch(() => '');
    const lines = text.split('\n').filter((line) => line !== '');
    const turns = lines.map((line) => JSON.parse(line) as Turn);
    return turns
      .filter(({ ended_at_ms }) => ended_at_ms >= since_ms)
      .reduce<Turn | null>((a, b) => (a !== null && a.cpu_ms >= b.cpu_ms ? a : b), null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/**
 * Called in a watched child: writes down its turns, each at once. Threads beside the main one keep nobody waiting.
 * @param url with which the module was preloaded
 */
export function noteTurns(url: string, append: (file: string, line: string) => void): void {
  if (!isMainThread) return;
  const file = new URL(url).searchParams.get(TURNS_FILE);
  if (file === null) throw new Error('no file for the turns');
  new EventLoopWatchdog((turn) => {
    if (turn.cpu_ms >= NOTED_FROM_MS) append(file, `${JSON.stringify(turn)}\n`);
  });
}
