/**
 * A thread that does jobs one after another, at a low priority. It starts with the first job, ends when there was none for a
 * while, and keeps the process alive only while it works.
 */
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';

const IDLE_MS = 60_000;

export class JobThread<Job, Result> {
  readonly #file: URL;
  readonly #idle_ms: number;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;

  /** @param file calls `serveJobs` */
  constructor(file: URL, idle_ms = IDLE_MS) {
    this.#file = file;
    this.#idle_ms = idle_ms;
  }

  /** Call it again only when it has settled. Rejects with the error of the thread, which then starts anew. */
  async run(job: Job): Promise<Result> {
    clearTimeout(this.#idle);
    this.#worker ??= new Worker(this.#file);
    const worker = this.#worker;
    worker.ref();
    try {
      worker.postMessage(job);
      const [result] = await once(worker, 'message');
      return result;
    } catch (error) {
      this.#worker = null;
      throw error;
    } finally {
      worker.unref();
      this.#idle = setTimeout(() => this.#end(), this.#idle_ms).unref();
    }
  }

  #end(): void {
    void this.#worker?.terminate();
    this.#worker = null;
  }
}

/** In the thread. @param priority of `constants.priority`: calls of the API come first wherever processors are short */
export function serveJobs<Job>(priority: number, work: (job: Job) => unknown): void {
  // On Linux a priority belongs to a thread.
  if (process.platform === 'linux') setPriority(0, priority);
  parentPort?.on('message', async (job: Job) => parentPort?.postMessage(await work(job)));
}
