/**
 * Bodies that are too long to be held: written as fast as the client reads, compressed on the way. A fault in the middle
 * resets the connection, so that no client takes a part for the whole.
 */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { QueueFull } from '../../core/errors.ts';
import type { Table } from '../../encoders/encoders.ts';
import type { Encoding } from '../../snapshot/snapshot.ts';
import { slowClients } from '../server/overload.ts';
import { compressor } from './negotiation.ts';

export interface BodyStream {
  source: Readable;
  /** About how long the body is. */
  bytes: number;
  /** It is exactly as long: the answer has a `Content-Length`. */
  isExact?: true;
}

/** About what a cell takes as text. */
const CELL_BYTES = 12;
/** Each holds a few pieces of its body and a compressor. */
export const STREAMS_MAX = 32;
const HELD_BYTES = 2 * 1024 * 1024;

/** Bodies that are written, and those whose first rows are awaited. */
let open = 0;

/** Waits for the head of the body and its first rows: what fails before is an ordinary error. @throws {QueueFull} */
export async function openStream(
  { rows, columns }: Table,
  encoded: AsyncIterable<Buffer>,
): Promise<BodyStream> {
  if (open >= STREAMS_MAX) throw new QueueFull(`${STREAMS_MAX} long answers are being written`);
  const iterator = encoded[Symbol.asyncIterator]();
  const onEnd = (): void => {
    open -= 1;
  };
  open += 1;
  try {
    const first = [await iterator.next(), await iterator.next()];
    async function* pieces(): AsyncGenerator<Buffer> {
      for (const { done, value } of first) if (!done) yield value;
      yield* { [Symbol.asyncIterator]: () => iterator };
    }
    const source = Readable.from(pieces(), { objectMode: false });
    source.once('close', onEnd);
    return { source, bytes: rows * columns.length * CELL_BYTES };
  } catch (fault) {
    onEnd();
    throw fault;
  }
}

/**
 * Sends a body as fast as the client reads, compressed on the way.
 * @param onFault is told when the body could not be produced, not when the client went away.
 */
export function sendStream(
  reply: FastifyReply,
  { source, bytes }: BodyStream,
  encoding: Encoding,
  onFault: (fault: unknown) => void,
): void {
  const { raw } = reply;
  // A client that stops reading destroys the stream without an error: an error is a fault of ours.
  source.once('error', (fault) => {
    raw.req.socket.resetAndDestroy();
    onFault(fault);
  });
  const sent = encoding === 'identity' ? source : source.pipe(compressor(encoding));
  if (sent !== source) sent.once('close', () => source.destroy());
  // Node does not close an answer that waits behind another when their connection ends.
  slowClients.watch(raw, bytes, HELD_BYTES, () => sent.destroy());
  reply.send(sent);
}
