/**
 * Files as they are, whole or in part. They are read as fast as the client takes them: memory does not grow with
 * their size.
 */
import { open } from 'node:fs/promises';
import { QueueFull } from '../../core/errors.ts';
import type { Content, WholeFile } from '../../operations/operation.ts';
import { ByteCache } from '../../snapshot/files/byte-cache.ts';
import { type Part, partOf, type RangeHeaders } from './byte-range.ts';
import { isNotModified } from './entity-tags.ts';
import { headerAddress, headerText } from './header-text.ts';

export type FileContent = Extract<Content, { kind: 'whole' }>;

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

/** A part that is sent in one piece. */
const PIECE_BYTES = 256 * 1024;
/** Each holds two pieces. */
export const READS_MAX = 128;
let reads = 0;

/** Files of indicators are small and read in many parts: keeping those of late lets a part cost a third (`files` rows). */
const KEPT_BYTES = 8 * 1024 * 1024;
const KEPT_FILE_MAX = 1024 * 1024;
const kept = new ByteCache<Buffer>(KEPT_BYTES, ({ length }) => length);

/** A view of a small file, a piece at once, more as a stream. @throws {QueueFull} {SnapshotUnreadable} */
export async function readPart(
  file: WholeFile,
  { from, to }: Part,
): Promise<Buffer | AsyncGenerator<Buffer>> {
  if ('held' in file) return file.held.subarray(from, to);
  if (file.bytes <= KEPT_FILE_MAX) {
    const read = async () => readPiece(await file.path(), 0, file.bytes);
    // Copying a part would cost more than all else that is done for it: its memory lies outside the heap, and is collected.
    return (await kept.getOrMake(file.sha256, read)).subarray(from, to);
  }
  if (reads >= READS_MAX) throw new QueueFull(`${READS_MAX} files are being sent`);
  const path = await file.path();
  return to - from <= PIECE_BYTES ? readPiece(path, from, to - from) : readPieces(path, from, to);
}

async function readPiece(path: string, from: number, length: number): Promise<Buffer> {
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, from);
    if (bytesRead < length) throw new Error(`${path} ends early`);
    return buffer;
  } finally {
    await handle.close();
  }
}

/**
 * Opened when the first piece is wanted, so that an answer that is never sent leaves nothing open. Pieces take turns in
 * two buffers, since memory for each would have V8 collect every few answers: a piece is valid until the next but one
 * is asked for.
 */
async function* readPieces(path: string, from: number, to: number): AsyncGenerator<Buffer> {
  reads += 1;
  try {
    const handle = await open(path);
    try {
      let [piece, other] = [Buffer.allocUnsafeSlow(PIECE_BYTES), Buffer.allocUnsafeSlow(PIECE_BYTES)];
      for (let at = from; at < to; at += PIECE_BYTES) {
        const length = Math.min(PIECE_BYTES, to - at);
        const { bytesRead } = await handle.read(piece, 0, length, at);
        if (bytesRead < length) throw new Error(`${path} ends early`);
        yield piece.subarray(0, length);
        [piece, other] = [other, piece];
      }
    } finally {
      await handle.close();
    }
  } finally {
    reads -= 1;
  }
}

/** What clients tell credit lines apart by, and some of them bound. */
const CREDITS_MAX = 4096;

/** Alternating names and values. Of more credit lines than a header takes, the first: that of the provider. */
export function fileHeaders({ name, credits }: FileContent): string[] {
  const lines = [...new Set(credits.map(({ attribution }) => attribution))];
  const all = headerText(lines.join('; '));
  const headers = ['Accept-Ranges', 'bytes', 'Content-Disposition', `attachment; filename="${name}"`];
  if (all !== '') headers.push('X-Attribution', all.length <= CREDITS_MAX ? all : headerText(lines[0] ?? ''));
  for (const url of new Set(credits.map(({ licence_url }) => licence_url)))
    if (url !== null) headers.push('Link', `<${headerAddress(url)}>; rel="license"`);
  headers.push('Access-Control-Expose-Headers', 'Accept-Ranges, Content-Range');
  return headers;
}
