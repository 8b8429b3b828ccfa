/**
 * Pictures as PNG. Drawing one takes some 40 ms of processor time, so it happens in one thread of low priority,
 * one after the other. The queue is bounded: a flood of pictures is refused, and calls of the API do not feel it. The
 * thread starts with the first picture and ends when none was wanted for a while.
 */
import { Worker } from 'node:worker_threads';
import { QueueFull } from '../../../errors.ts';

const QUEUE_MAX = 16;
const IDLE_MS = 60_000;

interface Job {
  svg: string;
  resolve(png: Buffer): void;
  reject(reason: Error): void;
}

export class PngRenderer {
  readonly #queueMax: number;
  readonly #idleMs: number;
  readonly #waiting: Job[] = [];
  #running: Job | null = null;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;

  constructor({ queueMax = QUEUE_MAX, idleMs = IDLE_MS } = {}) {
    this.#queueMax = queueMax;
    this.#idleMs = idleMs;
  }

  /** For callers that have work to do before they know what is drawn. @throws {QueueFull} */
  check(): void {
    if (this.#waiting.length >= this.#queueMax)
      throw new QueueFull(`${this.#queueMax} pictures wait to be drawn`);
  }

  /** @throws {QueueFull} */
  async render(svg: string): Promise<Buffer> {
    this.check();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ svg, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#running !== null) return;
    this.#running = this.#waiting.shift() ?? null;
    if (this.#running === null) {
      this.#rest();
      return;
    }
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    // A process waits for a picture that it draws, and not for a thread that has nothing to do.
    this.#worker.ref();
    this.#worker.postMessage(this.#running.svg);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./png-thread.ts', import.meta.url));
    worker.on('message', (png: Uint8Array) => {
      const job = this.#running;
      this.#running = null;
      job?.resolve(Buffer.from(png.buffer, png.byteOffset, png.byteLength));
      this.#next();
    });
    // The thread ends after an error.
    worker.on('error', (error) => {
      this.#worker = null;
      const job = this.#running;
      this.#running = null;
      job?.reject(error);
      this.#next();
    });
    return worker;
  }

  #rest(): void {
    const worker = this.#worker;
    worker?.unref();
    this.#idle = setTimeout(() => {
      this.#worker = null;
      void worker?.terminate();
    }, this.#idleMs).unref();
  }
}
