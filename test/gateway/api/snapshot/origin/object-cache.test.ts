/** Which objects of history stay under the limit. */
import { access, mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { objectPath } from '../../../../../data/schema/snapshot.ts';
import { ObjectCache } from '../../../../../gateway/api/snapshot/origin/object-cache.ts';
import { directoryOfTest } from '../../../../after-tests.ts';

const NOON = Date.UTC(2026, 10, 22, 12);
const HOUR_MS = 3_600_000;
const hashOf = (digit: string): string => digit.repeat(64);

describe('the cache of history', () => {
  let directory: string;
  let cache: ObjectCache;
  let now: number;

  /** Objects of 100 bytes, the first used longest ago. */
  async function store(digits: string): Promise<void> {
    for (const [age, digit] of [...digits].reverse().entries()) {
      const path = join(directory, objectPath(hashOf(digit)));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, Buffer.alloc(100));
      const used = new Date(NOON - (age + 1) * HOUR_MS);
      await utimes(path, used, used);
    }
  }
  const held = async (): Promise<string> =>
    (await readdir(join(directory, 'objects'), { recursive: true }))
      .filter((name) => name.length > 64)
      .map((name) => name[0])
      .sort()
      .join('');

  beforeEach(async () => {
    directory = await directoryOfTest();
    now = NOON;
    cache = new ObjectCache({ directory, most_bytes: 250, now: () => now });
  });

  it('loses what was not used for longest until it fits', async () => {
    await store('12345');
    cache.protect(new Set([hashOf('5')]));
    expect(await cache.evict()).toBe(2);
    expect(await held()).toBe('345');
    expect(await cache.evict()).toBe(0);
  });

  it('never loses objects of the served edition, however many there are', async () => {
    await store('123456');
    cache.protect(new Set([...'123456'].map(hashOf)));
    expect(await cache.evict()).toBe(0);
  });

  it('keeps those of the edition before, but not of the one before that', async () => {
    await store('12345678');
    for (const objects of ['1234', '5', '6']) cache.protect(new Set([...objects].map(hashOf)));
    await cache.evict();
    expect(await held()).toBe('5678');
  });

  it('keeps what was used a quarter of an hour ago or less', async () => {
    await store('12345');
    cache.protect(new Set([hashOf('5')]));
    now = NOON - 5 * HOUR_MS;
    expect(await cache.evict()).toBe(0);
    now += 16 * 60_000;
    expect(await cache.evict()).toBe(1);
  });

  it('removes nothing while no edition is known to be served', async () => {
    await store('12345');
    expect(await cache.evict()).toBe(0);
    await access(join(directory, objectPath(hashOf('1'))));
  });
});
