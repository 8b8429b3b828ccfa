import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hashFile } from '../../../data/runtime/durable-files.ts';

const BLOCK = 256 * 1024;

test.each([0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])(
  'a file of %d bytes has the hash of all of them',
  async (bytes) => {
    const directory = await mkdtemp(join(tmpdir(), 'alm-hash-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const content = Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 31) % 251));
    const [path, shorter] = [join(directory, 'file'), join(directory, 'shorter')];
    await writeFile(path, content);
    await writeFile(shorter, 'another');
    const sha256 = createHash('sha256').update(content).digest('hex');
    const [found] = await Promise.all([hashFile(path), hashFile(shorter)]);
    expect(found).toEqual({ bytes, sha256 });
  },
);
