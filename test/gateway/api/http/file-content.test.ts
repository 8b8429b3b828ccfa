/** Parts of files as they are read for an answer: whole, cut anywhere, and where the disk has less than was published. */
import { createHash, randomBytes } from 'node:crypto';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPart } from '../../../../gateway/api/http/api/file-content.ts';
import type { WholeFile } from '../../../../gateway/api/operations/operation.ts';
import { useDirectory } from '../../../after-tests.ts';

const folder = await useDirectory();

async function fileOf(bytes: Buffer): Promise<WholeFile & { place: string }> {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const place = join(folder, sha256);
  await writeFile(place, bytes);
  return { sha256, bytes: bytes.length, path: async () => place, place };
}

async function read(file: WholeFile, from: number, to: number): Promise<Buffer> {
  const part = await readPart(file, { from, to });
  if (Buffer.isBuffer(part)) return part;
  const pieces: Buffer[] = [];
  for await (const piece of part) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

describe.each([
  ['small', 100_000],
  ['large', 1_600_000],
])('a %s file', (_size, length) => {
  const bytes = randomBytes(length);

  test('is read in any part', async () => {
    const file = await fileOf(bytes);
    const place = fc.integer({ min: 0, max: length });
    await fc.assert(
      fc.asyncProperty(place, place, async (a, b) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        fc.pre(from < to);
        expect((await read(file, from, to)).equals(bytes.subarray(from, to))).toBe(true);
      }),
      { numRuns: 40 },
    );
    expect((await read(file, 0, length)).equals(bytes)).toBe(true);
  });

  test('that was cut short fails instead of giving less', async () => {
    const file = await fileOf(randomBytes(length));
    await truncate(file.place, length - 1);
    await expect(read(file, 0, length)).rejects.toThrow('ends early');
  });
});
