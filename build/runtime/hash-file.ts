/** Hashes files. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

export interface FileDigest {
  bytes: number;
  /** In lower-case hex. */
  sha256: string;
}

/** Size and SHA-256 of a file; reads it as a stream. */
export async function hashFile(path: string): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const block of createReadStream(path, { highWaterMark: 1 << 20 })) {
    hash.update(block);
    bytes += block.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}
