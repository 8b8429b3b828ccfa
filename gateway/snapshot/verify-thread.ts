/**
 * The worker thread of `verify.ts`: hashes the files of a snapshot and posts what is wrong with the first bad one, or null.
 * It reads synchronously, which is fastest on a thread of its own.
 */
import { createHash, hash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { Manifest } from '../../data/schema/snapshot.ts';

export interface VerifyOrder {
  directory: string;
  files: Manifest['files'];
}

const block = Buffer.allocUnsafeSlow(1024 * 1024);

/** Fills the block from the file's position. @returns bytes read; fewer than a block only at the end. */
function readBlock(file: number): number {
  let filled = 0;
  while (filled < block.length) {
    const read = readSync(file, block, filled, block.length - filled, null);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}

function digestOf(path: string): { bytes: number; sha256: string } {
  const file = openSync(path, 'r');
  try {
    const first = readBlock(file);
    // Most files are small: one call is cheaper than a hash object.
    if (first < block.length) return { bytes: first, sha256: hash('sha256', block.subarray(0, first)) };
    const whole = createHash('sha256');
    let bytes = 0;
    for (let read = first; read > 0; read = readBlock(file)) {
      whole.update(block.subarray(0, read));
      bytes += read;
    }
    return { bytes, sha256: whole.digest('hex') };
  } finally {
    closeSync(file);
  }
}

function damageOf(
  directory: string,
  path: string,
  expected: { bytes: number; sha256: string },
): string | null {
  try {
    const { bytes, sha256 } = digestOf(join(directory, path));
    if (bytes !== expected.bytes) return `${path} has ${bytes} bytes, not ${expected.bytes}`;
    return sha256 === expected.sha256 ? null : `${path} has another content than published`;
  } catch (error) {
    return `${path}: ${(error as Error).message}`;
  }
}

function firstDamage({ directory, files }: VerifyOrder): string | null {
  for (const [path, expected] of Object.entries(files)) {
    const damage = damageOf(directory, path, expected);
    if (damage !== null) return damage;
  }
  return null;
}

parentPort?.postMessage(firstDamage(workerData as VerifyOrder));
