/**
 * Pictures as PNG, kept as long as their edition is served. Each is read, drawn as SVG and turned into pixels, which takes
 * some 40 ms of processor time in a thread of low priority. All of that happens to one picture after the other, with a rest
 * after each: a flood of pictures moved the p99 of paid calls by half without it, because reading a picture holds up what is
 * asked for meanwhile. The queue is bounded: what it cannot hold is refused before any work. The thread starts with the first
 * picture and ends when none was wanted for a while.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import { QueueFull } from '../api/core/errors.ts';
import { ByteCache, type Edition } from '../api/snapshot/snapshot.ts';
import type { Asset, PageInput } from './page.ts';

const QUEUE_MAX = 16;
const IDLE_MS = 60_000;
/** A rest is so many times as long as the picture before took, and at most `REST_MAX_MS`. */
const REST_FACTOR = 3;
const REST_MAX_MS = 500;

/** Gives an SVG document, when its turn has come; undefined where there is nothing to show. */
type Draw = () => Promise<string | undefined>;

/** What tests replace. */
interface Clock {
  /** Monotonic milliseconds. */
  now(): number;
  rest(ms: number): Promise<void>;
}

const CLOCK: Clock = {
  now: () => performance.now(),
  rest: (ms) => delay(ms, undefined, { ref: false }),
};

export class PngRenderer {
  readonly #queueMax: number;
  readonly #idleMs: number;
  readonly #oneByOne = pLimit(1);
  readonly #clock: Clock;
  #waiting: PromiseWithResolvers<Buffer> | null = null;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;

  constructor({ queueMax = QUEUE_MAX, idleMs = IDLE_MS, clock = CLOCK } = {}) {
    this.#queueMax = queueMax;
    this.#idleMs = idleMs;
    this.#clock = clock;
  }

  /** Undefined where there is nothing to show. @throws {QueueFull} */
  async render(draw: Draw): Promise<Buffer | undefined> {
    const { activeCount, pendingCount } = this.#oneByOne;
    if (activeCount + pendingCount > this.#queueMax)
      throw new QueueFull(`${this.#queueMax} pictures wait to be drawn`);
    return new Promise((resolve, reject) => {
      void this.#oneByOne(async () => {
        const begun = this.#clock.now();
        await this.#drawn(draw).then(resolve, reject);
        await this.#clock.rest(Math.min(REST_MAX_MS, REST_FACTOR * (this.#clock.now() - begun)));
      });
    });
  }

  async #drawn(draw: Draw): Promise<Buffer | undefined> {
    const svg = await draw();
    if (svg === undefined) return undefined;
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    const worker = this.#worker;
    // A process waits for a picture that it draws, and not for a thread that has nothing to do.
    worker.ref();
    try {
      this.#waiting = Promise.withResolvers();
      worker.postMessage(svg);
      return await this.#waiting.promise;
    } finally {
      worker.unref();
      this.#idle = setTimeout(() => this.#end(), this.#idleMs).unref();
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./charts/png-thread.ts', import.meta.url));
    worker.on('message', (png: Uint8Array) => {
      this.#waiting?.resolve(Buffer.from(png.buffer, png.byteOffset, png.byteLength));
    });
    // The thread ends after an error.
    worker.on('error', (error) => {
      this.#worker = null;
      this.#waiting?.reject(error);
    });
    return worker;
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = null;
    void worker?.terminate();
  }
}

const MEDIA_TYPE = 'image/png';
/** Some hundred pictures. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** What an entry takes besides its picture. */
const ENTRY_BYTES = 512;

const renderer = new PngRenderer();
const kept = new WeakMap<Edition, ByteCache<{ png: Buffer | undefined }>>();

/**
 * One picture for all who ask for it at the same time.
 * @param name of the kind of picture
 * @param draw called when its turn has come
 * @throws {QueueFull} before anything is read or drawn
 */
export async function pngAsset(
  name: string,
  { edition, path, query }: PageInput<unknown>,
  draw: Draw,
): Promise<Asset | undefined> {
  const cache = kept.get(edition) ?? new ByteCache<{ png: Buffer | undefined }>(KEPT_BYTES, bytesOf);
  kept.set(edition, cache);
  const key = JSON.stringify([name, path, query]);
  const { png } = await cache.getOrMake(key, async () => ({ png: await renderer.render(draw) }));
  return png && { bytes: png, mediaType: MEDIA_TYPE };
}

const bytesOf = ({ png }: { png: Buffer | undefined }): number => ENTRY_BYTES + (png?.length ?? 0);
