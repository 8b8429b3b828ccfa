/**
 * Pictures as PNG, kept as long as their edition is served. Each is read, drawn as SVG and turned into pixels, which takes
 * some 40 ms of processor time in a thread of low priority. All of that happens to one picture after the other, with a rest
 * after each: a flood of pictures moved the p99 of paid calls by half without it, because reading a picture holds up what is
 * asked for meanwhile. The queue is bounded: what it cannot hold is refused before any work. The thread starts with the first
 * picture and ends when none was wanted for a while.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { JobThread } from '../../data/runtime/job-thread.ts';
import { QueueFull } from '../api/core/errors.ts';
import { ByteCache, type Edition } from '../api/snapshot/snapshot.ts';
import type { Asset, PageInput } from './page.ts';

const QUEUE_MAX = 16;
/** A rest is so many times as long as the picture before took, and at most `REST_MAX_MS`. */
const REST_FACTOR = 3;
const REST_MAX_MS = 500;

/** Gives an SVG document, when its turn has come; undefined where there is nothing to show. */
type Draw = () => Promise<string | undefined>;

export class PngRenderer {
  readonly #oneByOne = pLimit(1);
  readonly #thread = new JobThread<string, Uint8Array>(new URL('./charts/png-thread.ts', import.meta.url));

  /** Undefined where there is nothing to show. @throws {QueueFull} */
  async render(draw: Draw): Promise<Buffer | undefined> {
    const { activeCount, pendingCount } = this.#oneByOne;
    if (activeCount + pendingCount > QUEUE_MAX) throw new QueueFull(`${QUEUE_MAX} pictures wait to be drawn`);
    return new Promise((resolve, reject) => {
      void this.#oneByOne(async () => {
        const begun = performance.now();
        await this.#drawn(draw).then(resolve, reject);
        const rest_ms = Math.min(REST_MAX_MS, REST_FACTOR * (performance.now() - begun));
        await delay(rest_ms, undefined, { ref: false });
      });
    });
  }

  async #drawn(draw: Draw): Promise<Buffer | undefined> {
    const svg = await draw();
    return svg === undefined ? undefined : Buffer.from(await this.#thread.run(svg));
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
