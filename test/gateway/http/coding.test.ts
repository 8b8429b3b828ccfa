/** Coding of bodies: whole, right in every coding, and in a line of bounded length. */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, zstdDecompress } from 'node:zlib';
import { expect, test } from 'vitest';
import { code } from '../../../gateway/http/coding.ts';
import { QueueFull } from '../../../gateway/queue-full.ts';

const DECODERS = {
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
  gzip: promisify(gunzip),
};

const chunksOf = (rows: number): Buffer[] =>
  Array.from({ length: rows }, (_, row) => Buffer.from(`{"row":${row},"value":${Math.sqrt(row)}},`));

test.each(['br', 'zstd', 'gzip'] as const)(
  '%s gives back the very bytes, small and large',
  async (coding) => {
    for (const rows of [1, 100, 20_000]) {
      const chunks = chunksOf(rows);
      const coded = await code(chunks, coding);
      expect((await DECODERS[coding](coded)).equals(Buffer.concat(chunks))).toBe(true);
    }
  },
);

test('beyond the length of the line a body is refused, and all that were taken on are coded', async () => {
  const chunks = chunksOf(2_000);
  const coded = await Promise.allSettled(Array.from({ length: 600 }, async () => code(chunks, 'gzip')));
  const refused = coded.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(600 - 512 - 3);
  for (const one of refused) expect(one).toMatchObject({ reason: expect.any(QueueFull) });
  const last = await code(chunks, 'gzip');
  expect((await DECODERS.gzip(last)).equals(Buffer.concat(chunks))).toBe(true);
});
