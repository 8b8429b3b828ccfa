/**
 * Files as they are, whole or in part. They are read as fast as the client takes them: memory does not grow with
 * their size.
 */
import { open, readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { QueueFull } from '../../core/errors.ts';
import type { WholeFile } from '../../operations/operations.ts';
import { ByteCache } from '../../snapshot/snapshot.ts';
import { isNotModified, type Part, partOf, type RangeHeaders } from './negotiation.ts';

/** Which part of a file is sent, and whether any. */
export interface FileHeaders extends RangeHeaders {
  isHead: boolean;
}

export const ALL_OF_IT: FileHeaders = { isHead: false, range: undefined, ifRange: undefined };

export const fileTag = ({ sha256 }: Pick<WholeFile, 'sha256'>): string => `"${sha256}"`;

/** Null for the whole file. A range of a HEAD has no meaning. */
export const askedPart = (file: WholeFile, headers: FileHeaders): Part | 'unsatisfiable' | null =>
  headers.isHead ? null : partOf(headers, fileTag(file), file.bytes);

/** Nothing is sent of a file to a client that asks for its head, or has it. */
export function sentBytes(
  file: WholeFile,
  { file: headers, ifNoneMatch }: { file: FileHeaders; ifNoneMatch: string | undefined },
): number | 'unsatisfiable' {
  if (headers.isHead || isNotModified(fileTag(file), ifNoneMatch)) return 0;
  const part = askedPart(file, headers);
  if (part === null || part === 'unsatisfiable') return part ?? file.bytes;
  return part.to - part.from;
}

/** What is read at a time of a larger part. */
const PIECE_BYTES = 256 * 1024;
export const READS_MAX = 128;
let reads = 0;

/** Files of indicators are small and read in many parts: keeping those of late lets a part cost a third (`files` rows). */
const KEPT_BYTES = 8 * 1024 * 1024;
const KEPT_FILE_MAX = 1024 * 1024;
const kept = new ByteCache<Buffer>(KEPT_BYTES, ({ length }) => length);

/** A view of a small file, else a stream. @throws {QueueFull} {SnapshotUnreadable} */
export async function readPart(file: WholeFile, { from, to }: Part): Promise<Buffer | Readable> {
  if ('held' in file) return file.held.subarray(from, to);
  if (file.bytes <= KEPT_FILE_MAX) {
    // Copying a part would cost more than all else that is done for it: its memory lies outside the heap, and is collected.
    return (await kept.getOrMake(file.sha256, () => readWhole(file))).subarray(from, to);
  }
  if (reads >= READS_MAX) throw new QueueFull(`${READS_MAX} files are being sent`);
  reads += 1;
  const onEnd = (): void => {
    reads -= 1;
  };
  try {
    const handle = await open(await file.path());
    if ((await handle.stat()).size < file.bytes) {
      await handle.close();
      throw endsEarly(file);
    }
    const stream = handle.createReadStream({ start: from, end: to - 1, highWaterMark: PIECE_BYTES });
    stream.once('close', onEnd);
    return Readable.from(untilItsEnd(stream, file, to - from), { objectMode: false });
  } catch (fault) {
    onEnd();
    throw fault;
  }
}

/** Breaks off where a file is shorter than it should be: what was not delivered is given back. */
async function* untilItsEnd(stream: Readable, file: WholeFile, bytes: number): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    read += piece.length;
    yield piece;
  }
  if (read < bytes) throw endsEarly(file);
}

async function readWhole(file: Exclude<WholeFile, { held: Buffer }>): Promise<Buffer> {
  const bytes = await readFile(await file.path());
  if (bytes.length < file.bytes) throw endsEarly(file);
  return bytes;
}

const endsEarly = ({ sha256 }: WholeFile): Error => new Error(`file ${sha256} ends early`);
