/** Long bodies: how many may be written at a time, and that they arrive as they are however slowly they are read. */
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { QueueFull } from '../../../../gateway/api/core/errors.ts';
import type { Table } from '../../../../gateway/api/encoders/tables/table.ts';
import { openStream, STREAMS_MAX, sendStream } from '../../../../gateway/api/http/api/body-stream.ts';

const TABLE: Table = {
  columns: [],
  rows: 0,
  async *batches() {},
  indicators: [],
  meta: {},
  edition: '',
  name: '',
};

test('an answer counts from when its first rows are awaited, and no more once they failed', async () => {
  const { promise: rows, reject } = Promise.withResolvers<Buffer>();
  async function* waiting(): AsyncGenerator<Buffer> {
    yield await rows;
  }
  const opening = Array.from({ length: STREAMS_MAX }, () => openStream(TABLE, waiting()));
  await expect(openStream(TABLE, waiting())).rejects.toThrow(QueueFull);
  reject(new Error('the file is gone'));
  for (const one of opening) await expect(one).rejects.toThrow('the file is gone');
  async function* ready(): AsyncGenerator<Buffer> {
    yield Buffer.from('head');
  }
  const { pieces } = await openStream(TABLE, ready());
  let text = '';
  for await (const piece of pieces) text += piece.toString();
  expect(text).toBe('head');
});

const PIECES = 64;
const PIECE_BYTES = 256 * 1024;

/** Two buffers take turns, as for files: each piece is full of its number. */
async function* numbered(onEnd: () => void = () => {}): AsyncGenerator<Buffer> {
  const buffers = [Buffer.alloc(PIECE_BYTES), Buffer.alloc(PIECE_BYTES)];
  try {
    for (let number = 0; number < PIECES; number++) {
      const piece = buffers[number % 2];
      if (piece !== undefined) yield piece.fill(number);
      await nextTurn();
    }
  } finally {
    onEnd();
  }
}

/** Answers every request with the numbered pieces. */
async function served(answer: (raw: ServerResponse) => void) {
  const server = createServer((_request, raw) => {
    raw.writeHead(200, { 'Content-Length': PIECES * PIECE_BYTES });
    answer(raw);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}

const sendNumbered = (raw: ServerResponse, onEnd?: () => void): Promise<void> =>
  sendStream(
    raw,
    { pieces: numbered(onEnd), bytes: PIECES * PIECE_BYTES, isExact: true },
    'identity',
    () => {},
  );

test('a file arrives as it is at a client that stops and goes on reading', async () => {
  await using server = await served((raw) => void sendNumbered(raw));
  const [answer]: IncomingMessage[] = await once(get({ port: server.port, agent: false }), 'response');
  let at = 0;
  for await (const bytes of answer ?? []) {
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    for (const byte of bytes) {
      if (byte !== Math.floor(at / PIECE_BYTES)) expect.fail(`byte ${at} is of piece ${byte}`);
      at += 1;
    }
  }
  expect(at).toBe(PIECES * PIECE_BYTES);
});

test('reading a file ends when the client goes away, also of an answer that waits behind another', async () => {
  const ended: Promise<void>[] = [];
  const { promise: bothAsked, resolve } = Promise.withResolvers<void>();
  await using server = await served((raw) => {
    const { promise, resolve: onEnd } = Promise.withResolvers<void>();
    ended.push(promise);
    void sendNumbered(raw, onEnd);
    if (ended.length === 2) resolve();
  });
  const socket = connect(server.port, '127.0.0.1').pause();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2));
  await bothAsked;
  socket.destroy();
  await Promise.all(ended);
});
