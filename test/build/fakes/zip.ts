/** Builds zips for tests, with wrong sizes and checksums on request, and reads zips independently of the connectors. */
import { strFromU8, unzipSync, zipSync } from 'fflate';

export interface ZipEntry {
  name: string;
  body: string | Uint8Array;
  /** A false size in the directory. */
  claimed_bytes?: number;
  crc?: number;
}

const CENTRAL = 'PK\x01\x02';
/** The first that a zip can state, so that equal files are equal archives. */
const EPOCH = new Date(1980, 0, 1);

export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const bodies = entries.map(({ name, body }) => [name, Buffer.from(body)] as const);
  const archive = Buffer.from(zipSync(Object.fromEntries(bodies), { mtime: EPOCH }));
  let at = 0;
  for (const { claimed_bytes, crc } of entries) {
    at = archive.indexOf(CENTRAL, at + 1, 'latin1');
    if (crc !== undefined) archive.writeUInt32LE(crc, at + 16);
    if (claimed_bytes !== undefined) archive.writeUInt32LE(claimed_bytes, at + 24);
  }
  return archive;
}

/** The text of the first entry whose name starts with `beginning`. */
export function textInZip(archive: Buffer, beginning: string): string {
  const [found] = Object.values(unzipSync(archive, { filter: ({ name }) => name.startsWith(beginning) }));
  if (!found) throw new Error(`no entry that begins with ${beginning}`);
  return strFromU8(found);
}
