/** Compression of bodies: lossless in every coding, with a bounded queue. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, zstdDecompress } from 'node:zlib';
import { expect, test } from 'vitest';
import { QueueFull } from '../../../../gateway/api/core/errors.ts';
import { compress } from '../../../../gateway/api/http/api/negotiation.ts';

const DECODERS = {
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
  gzip: promisify(gunzip),
};

const chunksOf = (rows: number): Buffer[] =>
  Array.from({ length: rows }, (_, row) => Buffer.from(`{"row":${row},"value":${Math.sqrt(row)}},`));

/** Bytes that do not compress. */
const noiseOf = (size: number): Buffer =>
  createHash('shake256', { outputLength: size }).update('noise').digest();

test.each(['br', 'zstd', 'gzip'] as const)(
  '%s is lossless for any body, also where nothing is gained',
  async (coding) => {
    for (const chunks of [...[1, 100, 20_000].map(chunksOf), [noiseOf(3_000)], [noiseOf(100_000)]]) {
      const coded = await compress(chunks, coding);
      expect((await DECODERS[coding](coded)).equals(Buffer.concat(chunks))).toBe(true);
    }
  },
);

test.each(['br', 'zstd', 'gzip'] as const)('%s holds no more memory than the body took', async (coding) => {
  for (const rows of [2_000, 20_000]) {
    const chunks = chunksOf(rows);
    const { buffer } = await compress(chunks, coding);
    expect(buffer.byteLength).toBeLessThanOrEqual(Buffer.concat(chunks).length);
  }
});

test('a full queue rejects further bodies and compresses all accepted ones', async () => {
  const chunks = chunksOf(2_000);
  const compressed = await Promise.allSettled(
    Array.from({ length: 600 }, async () => compress(chunks, 'gzip')),
  );
  const rejected = compressed.filter(({ status }) => status === 'rejected');
  expect(rejected).toHaveLength(600 - 512 - 3);
  for (const one of rejected) expect(one).toMatchObject({ reason: expect.any(QueueFull) });
  const last = await compress(chunks, 'gzip');
  expect((await DECODERS.gzip(last)).equals(Buffer.concat(chunks))).toBe(true);
});
