/** Files of every size against their manifest: hashed whole, and damage found wherever it lies. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Manifest } from '../../../data/schema/snapshot.ts';
import { SnapshotDamaged, verifyFiles } from '../../../gateway/snapshot/verify.ts';

const MEGABYTE = 1024 * 1024;
/** Around the size of the block that is read at once. */
const SIZES = [0, 1, MEGABYTE - 1, MEGABYTE, MEGABYTE + 1, 3 * MEGABYTE];

describe('files against their manifest', () => {
  let directory: string;
  let manifest: Manifest;
  const content = (size: number): Buffer => Buffer.alloc(size, `${size} `);
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'almanac-verify-'));
    const files: Manifest['files'] = {};
    for (const size of SIZES) {
      const bytes = content(size);
      await writeFile(join(directory, `of-${size}`), bytes);
      files[`of-${size}`] = { bytes: size, sha256: createHash('sha256').update(bytes).digest('hex') };
    }
    manifest = {
      format: 1,
      id: '20261120T020000Z-00000001',
      generated_at: '2026-11-20T02:00:00+00:00',
      counts: { providers: 0, indicators: 0, countries: 0, observations: 0 },
      runs: {},
      files,
    };
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('verify as written', async () => {
    await expect(verifyFiles(directory, manifest)).resolves.toBeUndefined();
  });

  it.each(SIZES.filter((size) => size > 0))('fail with a changed last byte (%i bytes)', async (size) => {
    const bytes = content(size);
    bytes[size - 1] = 0;
    await writeFile(join(directory, `of-${size}`), bytes);
    const told = new SnapshotDamaged(`of-${size} has another content than published`);
    await expect(verifyFiles(directory, manifest)).rejects.toThrow(told);
  });

  it.each([0, 3 * MEGABYTE])('fail with an extra byte (%i bytes)', async (size) => {
    await writeFile(join(directory, `of-${size}`), Buffer.concat([content(size), Buffer.from('x')]));
    const told = `of-${size} has ${size + 1} bytes, not ${size}`;
    await expect(verifyFiles(directory, manifest)).rejects.toThrow(told);
  });

  it('fail when one is missing', async () => {
    await unlink(join(directory, 'of-1'));
    await expect(verifyFiles(directory, manifest)).rejects.toThrow(/^of-1: ENOENT/);
  });
});
