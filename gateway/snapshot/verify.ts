/** Holds a snapshot against its manifest: every file is there, with its size and its SHA-256. */
import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MANIFEST, type Manifest, manifest as manifestSchema } from '../../data/schema/snapshot.ts';

/** A snapshot that must not be served: its message says which file and why. */
export class SnapshotDamaged extends Error {
  override name = 'SnapshotDamaged';
}

/** Files hashed at a time; more only queue up for the same threads. */
const CONCURRENCY = 8;
const BLOCK_BYTES = 1024 * 1024;

/** Reads and checks the manifest alone. @throws {SnapshotDamaged} */
export async function readManifest(directory: string, id: string): Promise<Manifest> {
  const text = await readFile(join(directory, MANIFEST), 'utf8').catch((error: Error) => {
    throw new SnapshotDamaged(`no manifest: ${error.message}`);
  });
  const parsed = manifestSchema.safeParse(parseJson(text));
  if (!parsed.success) throw new SnapshotDamaged(`bad manifest: ${parsed.error.issues[0]?.message}`);
  if (parsed.data.id !== id) throw new SnapshotDamaged(`the manifest is of ${parsed.data.id}`);
  return parsed.data;
}

/** Hashes every file. @throws {SnapshotDamaged} at the first one that differs. */
export async function verifyFiles(directory: string, manifest: Manifest): Promise<void> {
  const files = Object.entries(manifest.files)[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const [path, { bytes, sha256 }] of files) {
      const actual = await digestOf(join(directory, path)).catch((error: Error) => {
        throw new SnapshotDamaged(`${path}: ${error.message}`);
      });
      if (actual.bytes !== bytes)
        throw new SnapshotDamaged(`${path} has ${actual.bytes} bytes, not ${bytes}`);
      if (actual.sha256 !== sha256) throw new SnapshotDamaged(`${path} has another content than published`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

async function digestOf(path: string): Promise<{ bytes: number; sha256: string }> {
  const file = await open(path);
  try {
    const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, Math.max(1, (await file.stat()).size)));
    const hash = createHash('sha256');
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(block, 0, block.length);
      if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') };
      hash.update(block.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
