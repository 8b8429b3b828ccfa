/**
 * Kept files of JSON, which are stored for ever, are compressed with zstd. Other JSON of a snapshot is plain text; the first
 * bytes tell which of the two a file is.
 */
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompressSync } from 'node:zlib';

const compress = promisify(zstdCompress);

/** Begins every zstd frame, and no JSON. */
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** Beyond it, compression takes several times as long for a few per cent. */
const LEVEL = 12;

export function packJson(text: string): Promise<Buffer> {
  const bytes = Buffer.from(text);
  return compress(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: LEVEL },
    pledgedSrcSize: bytes.length,
  });
}

/** The text of a file in either form. @throws {Error} when it is damaged. */
export function unpackJson(bytes: Buffer): string {
  const isPacked = bytes.subarray(0, ZSTD_MAGIC.length).equals(ZSTD_MAGIC);
  return (isPacked ? zstdDecompressSync(bytes) : bytes).toString();
}
