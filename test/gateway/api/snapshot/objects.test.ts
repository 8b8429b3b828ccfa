/** Files of every size against their hash, wherever the damage lies. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, symlink, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { FileRef } from '../../../../data/schema/snapshot.ts';
import { Objects, SnapshotUnreadable } from '../../../../gateway/api/snapshot/files/snapshot-files.ts';
import { directoryOfTest } from '../../../after-tests.ts';

const BLOCK = 256 * 1024;
/** Around the size of the block that is read at once. */
const SIZES = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK];

describe('a stored file', () => {
  let objects: Objects;
  let damaged: string[];
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
    const directory = await directoryOfTest();
    damaged = [];
    objects = new Objects(directory, null, ({ sha256 }) => damaged.push(sha256));
  });

  it.each(SIZES)('of %i bytes is verified and read', async (size) => {
    const ref = refOf(content(size));
    await write(ref, content(size));
    expect(await objects.verify(ref)).toBe(true);
    expect(await objects.read(ref)).toEqual(content(size));
    expect(await readFile(await objects.open(ref))).toEqual(content(size));
    expect(damaged).toEqual([]);
  });

  it('that the file system refuses to look at is not sound, and no other error', async () => {
    const ref = refOf(content(1));
    await mkdir(dirname(objects.path(ref)), { recursive: true });
    await symlink(objects.path(ref), objects.path(ref));
    expect(await objects.verify(ref)).toBe(false);
  });

  it.each(SIZES.filter((size) => size > 0))(
    'with a changed last byte is damaged (%i bytes)',
    async (size) => {
      const ref = refOf(content(size));
      const bytes = content(size);
      bytes[size - 1] = 0;
      await write(ref, bytes);
      for (let time = 0; time < 2; time += 1) {
        await expect(objects.open(ref)).rejects.toBeInstanceOf(SnapshotUnreadable);
        await expect(objects.read(ref)).rejects.toBeInstanceOf(SnapshotUnreadable);
        expect(await objects.verify(ref)).toBe(false);
      }
      // Told once.
      expect(damaged).toEqual([ref.sha256]);
    },
  );

  it.each([0, 3 * BLOCK])('with an extra byte is damaged (%i bytes)', async (size) => {
    const ref = refOf(content(size));
    await write(ref, Buffer.concat([content(size), Buffer.from('x')]));
    expect(await objects.hasSize(ref)).toBe(false);
    expect(await objects.verify(ref)).toBe(false);
    expect(damaged).toEqual([ref.sha256]);
  });

  it('is sound again once it is replaced', async () => {
    const ref = refOf(content(BLOCK));
    await write(ref, content(1));
    expect(await objects.verify(ref)).toBe(false);
    await write(ref, content(BLOCK));
    expect(await objects.verify(ref)).toBe(true);
    expect(await objects.open(ref)).toBe(objects.path(ref));
  });

  it('is hashed when it is first opened, and again only once it was changed', async () => {
    const ref = refOf(content(BLOCK));
    const opened = vi.spyOn(objects, 'verify');
    await write(ref, content(BLOCK));
    await Promise.all([objects.open(ref), objects.open(ref)]);
    opened.mockClear();
    await objects.open(ref);
    expect(opened).not.toHaveBeenCalled();
    const changed = content(BLOCK);
    changed[BLOCK >> 1] = 0;
    await write(ref, changed);
    await expect(objects.open(ref)).rejects.toBeInstanceOf(SnapshotUnreadable);
    expect(damaged).toEqual([ref.sha256]);
  });

  it('that is missing is neither sound nor damaged: it may be back at once', async () => {
    const ref = refOf(content(1));
    await write(ref, content(1));
    await unlink(objects.path(ref));
    expect(await objects.verify(ref)).toBe(false);
    await expect(objects.open(ref)).rejects.toThrow('ENOENT');
    expect(damaged).toEqual([]);
  });
});
