/** Writes a zip archive with one deflated file. Its date is fixed, so equal content gives equal bytes. */
import { crc32, deflateRawSync } from 'node:zlib';

const VERSION = 20;
const DEFLATED = 8;
/** 1980-01-01, the first date that the format can express. */
const DATE = 0x21;
const LOCAL_HEADER = 0x04034b50;
const DIRECTORY_ENTRY = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;

/** Little-endian fields, each `[bytes, value]`. */
function fields(...list: [2 | 4, number][]): Buffer {
  return Buffer.concat(
    list.map(([size, value]) => {
      const field = Buffer.alloc(size);
      field.writeUIntLE(value, 0, size);
      return field;
    }),
  );
}

/** @param name in ASCII */
export function zipOf(name: string, content: string): Buffer {
  const bytes = Buffer.from(content);
  const packed = deflateRawSync(bytes, { level: 9 });
  const facts = fields(
    [2, VERSION],
    [2, 0],
    [2, DEFLATED],
    [2, 0],
    [2, DATE],
    [4, crc32(bytes)],
    [4, packed.length],
    [4, bytes.length],
    [2, name.length],
    [2, 0],
  );
  const local = Buffer.concat([fields([4, LOCAL_HEADER]), facts, Buffer.from(name), packed]);
  const entry = Buffer.concat([
    fields([4, DIRECTORY_ENTRY], [2, VERSION]),
    facts,
    // No comment, first disk, no attributes, local header at the start.
    fields([2, 0], [2, 0], [2, 0], [4, 0], [4, 0]),
    Buffer.from(name),
  ]);
  const end = fields(
    [4, END_OF_DIRECTORY],
    [2, 0],
    [2, 0],
    [2, 1],
    [2, 1],
    [4, entry.length],
    [4, local.length],
    [2, 0],
  );
  return Buffer.concat([local, entry, end]);
}
