/** Builds zips for tests, with wrong sizes and checksums on request, and reads zips independently of the connectors. */
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';

export interface ZipEntry {
  name: string;
  body: string | Uint8Array;
  /** A false size in the directory. */
  claimed_bytes?: number;
  crc?: number;
}

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const DEFLATE = 8;
const VERSION = 20;

function fields(signature: number, ...values: [value: number, bytes: 2 | 4][]): Buffer {
  const size = 4 + values.reduce((sum, [, bytes]) => sum + bytes, 0);
  const buffer = Buffer.alloc(size);
  buffer.writeUInt32LE(signature, 0);
  let at = 4;
  for (const [value, bytes] of values) {
    buffer.writeUIntLE(value, at, bytes);
    at += bytes;
  }
  return buffer;
}

export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const { name, body, claimed_bytes, crc } of entries) {
    const bytes = Buffer.from(body);
    const packed = deflateRawSync(bytes);
    const nameBytes = Buffer.from(name);
    const shared: [number, 2 | 4][] = [
      [VERSION, 2],
      [0x0800, 2],
      [DEFLATE, 2],
      [0, 4],
      [crc ?? crc32(bytes), 4],
      [packed.length, 4],
      [claimed_bytes ?? bytes.length, 4],
      [nameBytes.length, 2],
      [0, 2],
    ];
    const local = Buffer.concat([fields(LOCAL, ...shared), nameBytes, packed]);
    locals.push(local);
    const rest: [number, 2 | 4][] = [
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 4],
      [offset, 4],
    ];
    centrals.push(Buffer.concat([fields(CENTRAL, [VERSION, 2], ...shared, ...rest), nameBytes]));
    offset += local.length;
  }
  const directory = Buffer.concat(centrals);
  const end = fields(
    END,
    [0, 4],
    [entries.length, 2],
    [entries.length, 2],
    [directory.length, 4],
    [offset, 4],
    [0, 2],
  );
  return Buffer.concat([...locals, directory, end]);
}

/** The text of the first entry whose name starts with `beginning`. */
export function textInZip(archive: Buffer, beginning: string): string {
  let at = archive.readUInt32LE(archive.lastIndexOf('PK\x05\x06') + 16);
  while (archive.readUInt32LE(at) === CENTRAL) {
    const packed = archive.readUInt32LE(at + 20);
    const nameLength = archive.readUInt16LE(at + 28);
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
    const local = archive.readUInt32LE(at + 42);
    if (name.startsWith(beginning)) {
      const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
      return inflateRawSync(archive.subarray(start, start + packed)).toString('utf8');
    }
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  throw new Error(`no entry that begins with ${beginning}`);
}
