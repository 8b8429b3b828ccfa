/**
 * The primary process when there are several workers. It serves no requests: it claims the port, holds the private
 * Redis, starts, replaces and stops the workers, and adds up their metrics.
 *
 * A worker that cannot start while the service starts ends the service. A worker that ends later is restarted with
 * exponential backoff while the others go on.
 *
 * Workers share the port with `SO_REUSEPORT`: the kernel distributes connections. Measured against `node:cluster` on two
 * cores (keep-alive connections of the two workers; new connections a second): SO_REUSEPORT 15 to 17, 9,000; one shared
 * listening socket 25 to 7, 14,000; distributed by the primary 29 to 3, 3,400.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Logger } from 'pino';
import type { Settings } from '../../data/runtime/settings.ts';
import { type ShutdownHook, STOP_SIGNALS, unlessStopped } from '../../data/runtime/stop-signals.ts';
import { type RestartBackoff, restartBackoff } from './child-process.ts';
import { resolveRedisUrl, WorkerFailure } from './lifecycle.ts';
import { canReusePort, findPort } from './ports.ts';

/** How a worker starts. */
export interface StartMessage {
  kind: 'start';
  /** From 0. A replacement has the number of the worker it replaces. */
  worker: number;
  workerCount: number;
  redisUrl: string;
  port: number;
  reusePort: boolean;
}

/** Messages between the primary and its workers. Other messages on the channel belong to libraries. */
export type ToWorker =
  | StartMessage
  /** Another worker has switched to another snapshot. */
  | { kind: 'check_pointer' }
  /** Another worker found a file of the served snapshot to be damaged. */
  | { kind: 'verify_file'; file: string }
  | { kind: 'stop' };

export type ToPrimary =
  /** The worker serves requests. Only the leader sends a start-up banner. */
  | { kind: 'ready'; startupBanner: string | null }
  | { kind: 'failed'; reason: string }
  | { kind: 'switched' }
  | { kind: 'damaged'; file: string };

/** Resolves to the start-up banner when all workers are ready. @param program the script that a worker runs. */
export async function startWorkers(
  program: string,
  settings: Settings,
  log: Logger,
  shutdownHooks: ShutdownHook[],
  stopping: AbortSignal,
): Promise<string> {
  const port = await findPort(settings.PORT, settings.HOST);
  const reusePort = await canReusePort(port, settings.HOST);
  // The processes load while Redis starts.
  const group = new WorkerGroup(program, settings.WORKERS, log);
  shutdownHooks.push(() => group.stop());
  const redisUrl = await resolveRedisUrl(settings, shutdownHooks, stopping);
  const startupBanner = await unlessStopped(group.start({ port, reusePort, redisUrl }), stopping);
  if (settings.METRICS_PORT !== undefined) {
    const { groupMetrics, serveMetrics } = await import('../api/http/server/metrics.ts');
    const metrics = groupMetrics(() => group.readyCount);
    shutdownHooks.push(await serveMetrics(metrics, settings.METRICS_PORT, settings.HOST));
  }
  return startupBanner;
}

const BACKOFF = { first_ms: 100, longest_ms: 30_000, steady_ms: 60_000 };
/** A little longer than a worker's own limit. */
const STOP_TIMEOUT_MS = 22_000;

/** The part of the start message that is the same for every worker. */
type WorkerOptions = Omit<StartMessage, 'kind' | 'worker' | 'workerCount'>;

/** One worker, or its latest replacement. */
interface Slot {
  number: number;
  worker: Worker;
  started_ms: number;
  isReady: boolean;
  backoff: RestartBackoff;
  restartTimer?: NodeJS.Timeout;
}

class WorkerGroup {
  readonly #log: Logger;
  readonly #slots: Slot[];
  #options: WorkerOptions | null = null;
  #isStopping = false;
  /** Settles when all workers are ready or the first one fails. */
  #started = Promise.withResolvers<string>();
  #startupBanner = '';
  #hasStarted = false;

  /** Starts the processes, which wait for `start`. @param program the script that each of them runs. */
  constructor(program: string, workers: number, log: Logger) {
    this.#log = log;
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ exec: program, args: [] });
    // `start` returns this promise; a failure before that must not be an unhandled rejection.
    this.#started.promise.catch(() => {});
    this.#slots = Array.from({ length: workers }, (_, number) => this.#fork(number, restartBackoff(BACKOFF)));
  }

  /** Resolves to the start-up banner when all workers are ready. @throws {WorkerFailure} */
  start(options: WorkerOptions): Promise<string> {
    this.#options = options;
    for (const slot of this.#slots) this.#sendStart(slot);
    return this.#started.promise;
  }

  /** Number of workers that serve requests. */
  get readyCount(): number {
    return this.#slots.filter(({ isReady }) => isReady).length;
  }

  /** Stops all workers; each finishes its requests in flight. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const exits = this.#slots.map(async ({ worker, restartTimer }) => {
      clearTimeout(restartTimer);
      if (worker.isDead()) return;
      const exited = once(worker, 'exit');
      send(worker, { kind: 'stop' });
      const timeout = setTimeout(() => worker.process.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(timeout);
    });
    await Promise.all(exits);
  }

  #fork(number: number, backoff: RestartBackoff): Slot {
    const worker = cluster.fork();
    const slot: Slot = { number, worker, started_ms: performance.now(), isReady: false, backoff };
    worker.on('message', (message: ToPrimary) => this.#onMessage(slot, message));
    worker.on('error', (error) => this.#log.error({ err: error, worker: number }, 'worker failed'));
    worker.once('exit', (code: number, signal: string) => this.#onExit(slot, signal ?? code));
    return slot;
  }

  #sendStart({ worker, number }: Slot): void {
    if (!this.#options) return;
    send(worker, { kind: 'start', worker: number, workerCount: this.#slots.length, ...this.#options });
  }

  #onMessage(slot: Slot, message: ToPrimary): void {
    if (message.kind === 'switched') {
      this.#sendToOthers(slot, { kind: 'check_pointer' });
    } else if (message.kind === 'damaged') {
      this.#sendToOthers(slot, { kind: 'verify_file', file: message.file });
    } else if (message.kind === 'failed') {
      const { reason } = message;
      if (this.#hasStarted) this.#log.error({ worker: slot.number, reason }, 'worker did not start');
      else this.#started.reject(new WorkerFailure(reason));
    } else if (message.kind === 'ready') {
      slot.isReady = true;
      this.#startupBanner = message.startupBanner ?? this.#startupBanner;
      if (this.readyCount < this.#slots.length) return;
      this.#hasStarted = true;
      this.#started.resolve(this.#startupBanner);
    }
  }

  #sendToOthers(slot: Slot, message: ToWorker): void {
    for (const { worker } of this.#slots) if (worker !== slot.worker) send(worker, message);
  }

  #onExit(slot: Slot, status: string | number): void {
    const { number, backoff, started_ms } = slot;
    slot.isReady = false;
    if (this.#isStopping) return;
    if (!this.#hasStarted) {
      // The end of a terminal kills a young worker, maybe before its signal is noticed here.
      const signal = STOP_SIGNALS.find((one) => one === status);
      if (signal !== undefined) process.emit(signal);
      else this.#started.reject(new WorkerFailure(`a worker exited while it was starting (${status})`));
      return;
    }
    const restart_in_ms = backoff(performance.now() - started_ms);
    this.#log.error({ worker: number, status, restart_in_ms }, 'worker exited');
    slot.restartTimer = setTimeout(() => {
      const replacement = this.#fork(number, backoff);
      this.#slots[number] = replacement;
      this.#sendStart(replacement);
    }, restart_in_ms);
  }
}

/** Sends nothing to a worker that is exiting. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
