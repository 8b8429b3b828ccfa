/**
 * Bodies that are too long to be held: written as fast as the client reads, compressed on the way. A fault in the middle
 * resets the connection, so that no client takes a part for the whole.
 */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { QueueFull } from '../../core/errors.ts';
import type { Table } from '../../encoders/tables/table.ts';
import type { Encoding } from '../../snapshot/files/route-files.ts';
import { slowClients } from '../server/slow-clients.ts';
import { compressor } from './compression.ts';

export interface BodyStream {
  pieces: AsyncIterable<Buffer>;
  /** About how long the body is. */
  bytes: number;
  /** It is exactly as long: the answer has a `Content-Length`. */
  isExact?: true;
}

/** Answers up to this size are collected, so that they have a `Content-Length`: 32,768 rows of eight columns. */
const COLLECTED_CELLS = 262_144;
/** About what a cell takes as text. */
const CELL_BYTES = 12;
/** Each holds a few pieces of its body and a compressor. */
export const STREAMS_MAX = 32;
const HELD_BYTES = 2 * 1024 * 1024;

const open = new Set<ServerResponse>();
/** Bodies whose first rows are awaited. */
let opening = 0;

const cellsOf = ({ rows, columns }: Table): number => rows * columns.length;

export const isLong = (table: Table): boolean => cellsOf(table) > COLLECTED_CELLS;

/** Waits for the head of the body and its first rows: what fails before is an ordinary error. @throws {QueueFull} */
export async function openStream(table: Table, encoded: AsyncIterable<Buffer>): Promise<BodyStream> {
  if (open.size + opening >= STREAMS_MAX)
    throw new QueueFull(`${STREAMS_MAX} long answers are being written`);
  const iterator = encoded[Symbol.asyncIterator]();
  opening += 1;
  const first = await firstTwo(iterator).finally(() => {
    opening -= 1;
  });
  async function* pieces(): AsyncGenerator<Buffer> {
    for (const { done, value } of first) if (!done) yield value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { pieces: pieces(), bytes: cellsOf(table) * CELL_BYTES };
}

const firstTwo = async (iterator: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>[]> => [
  await iterator.next(),
  await iterator.next(),
];

/** @param onFault is told when the body could not be produced, not when the client went away. */
export async function sendStream(
  raw: ServerResponse,
  { pieces, bytes, isExact }: BodyStream,
  encoding: Encoding,
  onFault: (fault: unknown) => void,
): Promise<void> {
  let fault: { reason: unknown } | undefined;
  const iterator = pieces[Symbol.asyncIterator]();
  /** Only what fails in `next` is ours: a client that goes away is thrown into the `yield`. */
  async function* watched(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const { done, value } = await iterator.next().catch((reason: unknown) => {
          fault = { reason };
          throw reason;
        });
        if (done) return;
        yield value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  // What has a length is read from a file, and bounded there.
  if (!isExact) open.add(raw);
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<void>();
  slowClients.watch(raw, bytes, HELD_BYTES, onEnd);
  const { socket } = raw;
  try {
    if (isExact) await sendPieces(raw, watched(), ended);
    else if (encoding === 'identity') await pipeline(bytesOf(watched()), raw);
    else await pipeline(bytesOf(watched()), compressor(encoding), raw);
  } catch {
    socket?.resetAndDestroy();
    if (fault !== undefined) onFault(fault.reason);
  } finally {
    open.delete(raw);
  }
}

const bytesOf = (pieces: AsyncIterable<Buffer>): Readable => Readable.from(pieces, { objectMode: false });

/**
 * One piece is read while the one before is sent; none is asked for while two are unsent, since their memory is used again.
 * @param ended resolves when the connection has, also for an answer that waits behind another: its writes do not tell.
 */
async function sendPieces(
  raw: ServerResponse,
  pieces: AsyncIterable<Buffer>,
  ended: Promise<void>,
): Promise<void> {
  let sent: Promise<unknown> = Promise.resolve();
  for await (const piece of pieces) {
    await sent;
    if (raw.req.socket.destroyed) throw new Error('the client went away');
    const written = new Promise((resolve) => raw.write(piece, resolve));
    sent = Promise.race([written, ended]);
  }
  await sent;
  raw.end();
}
