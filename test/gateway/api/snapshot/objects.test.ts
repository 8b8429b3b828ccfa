/** Files of every size against their hash, wherever the damage lies. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FileRef } from '../../../../data/schema/snapshot.ts';
import { Objects, SnapshotUnreadable } from '../../../../gateway/api/snapshot/files/snapshot-files.ts';

const BLOCK = 256 * 1024;
/** Around the size of the block that is read at once. */
const SIZES = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK];

describe('a stored file', () => {
  let directory: string;
  let objects: Objects;
  const content = (size: number): Buffer => Buffer.alloc(size, `${size} `);
  const refOf = (bytes: Buffer): FileRef => ({
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
  async function write(ref: FileRef, bytes: Buffer): Promise<void> {
    await mkdir(dirname(objects.path(ref)), { recursive: true });
    await writeFile(objects.path(ref), bytes);
  }
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'alm-objects-'));
    objects = new Objects(directory);
  });
  afterEach(() => rm(directory, { recursive: true }));

  it.each(SIZES)('of %i bytes is verified and read', async (size) => {
    const ref = refOf(content(size));
    await write(ref, content(size));
    const blocks: number[] = [];
    const pace = async (bytes: number) => void blocks.push(bytes);
    expect(await objects.verify(ref, pace)).toBe(true);
    expect(blocks.reduce((sum, bytes) => sum + bytes, 0)).toBe(size);
    expect(await objects.read(ref)).toEqual(content(size));
    expect(objects.isDamaged(ref)).toBe(false);
  });

  it.each(SIZES.filter((size) => size > 0))(
    'with a changed last byte is damaged (%i bytes)',
    async (size) => {
      const ref = refOf(content(size));
      const bytes = content(size);
      bytes[size - 1] = 0;
      await write(ref, bytes);
      await expect(objects.read(ref)).rejects.toBeInstanceOf(SnapshotUnreadable);
      expect(await new Objects(directory).verify(ref)).toBe(false);
      expect(objects.isDamaged(ref)).toBe(true);
    },
  );

  it.each([0, 3 * BLOCK])('with an extra byte is damaged (%i bytes)', async (size) => {
    const ref = refOf(content(size));
    await write(ref, Buffer.concat([content(size), Buffer.from('x')]));
    expect(await objects.hasSize(ref)).toBe(false);
    expect(await objects.verify(ref)).toBe(false);
    expect(objects.isDamaged(ref)).toBe(true);
  });

  it('is sound again once it is replaced, and hashed only then', async () => {
    const ref = refOf(content(BLOCK));
    await write(ref, content(1));
    expect(await objects.verify(ref)).toBe(false);
    let blocks = 0;
    const pace = async () => void blocks++;
    expect(await objects.verify(ref, pace)).toBe(false);
    expect(blocks).toBe(0);
    await write(ref, content(BLOCK));
    expect(await objects.verify(ref, pace)).toBe(true);
    expect(blocks).toBe(1);
    expect(objects.isDamaged(ref)).toBe(false);
  });

  it('that is missing is neither sound nor damaged: it may be back at once', async () => {
    const ref = refOf(content(1));
    await write(ref, content(1));
    await unlink(objects.path(ref));
    expect(await objects.verify(ref)).toBe(false);
    expect(objects.isDamaged(ref)).toBe(false);
  });
});
