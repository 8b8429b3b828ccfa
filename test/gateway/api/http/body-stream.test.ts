/** Long bodies: how many may be written at a time, and that they arrive as they are however slowly they are read. */
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { QueueFull } from '../../../../gateway/api/core/errors.ts';
import type { Table } from '../../../../gateway/api/encoders/tables/table.ts';
import { openStream, STREAMS_MAX, sendStream } from '../../../../gateway/api/http/api/body-stream.ts';
import { sendRepresentation } from '../../../../gateway/api/http/api/response.ts';

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
  const { source } = await openStream(TABLE, ready());
  let text = '';
  for await (const piece of source) text += piece.toString();
  expect(text).toBe('head');
});

const PIECES = 64;
const PIECE_BYTES = 256 * 1024;

interface Watcher {
  onBegin(): void;
  onEnd(): void;
}

/** Each piece is full of its number. */
async function* numbered({ onBegin, onEnd }: Watcher): AsyncGenerator<Buffer> {
  onBegin();
  try {
    for (let number = 0; number < PIECES; number++) {
      yield Buffer.alloc(PIECE_BYTES, number);
      await nextTurn();
    }
  } finally {
    onEnd();
  }
}

/** Answers every request with the numbered pieces. */
async function served(watcher: Watcher = { onBegin() {}, onEnd() {} }) {
  const app = Fastify();
  app.get('/', (_request, reply) => {
    const source = Readable.from(numbered(watcher), { objectMode: false });
    reply.header('Content-Length', PIECES * PIECE_BYTES);
    sendStream(reply, { source, bytes: PIECES * PIECE_BYTES, isExact: true }, 'identity', () => {});
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: () => app.close() };
}

test('a file arrives as it is at a client that stops and goes on reading', async () => {
  await using server = await served();
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
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let open = 0;
  await using server = await served({
    onBegin() {
      open += 1;
      if (open === 2) begun.resolve();
    },
    onEnd() {
      open -= 1;
      if (open === 0) ended.resolve();
    },
  });
  const socket = connect(server.port, '127.0.0.1').pause();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2));
  await begun.promise;
  socket.destroy();
  await ended.promise;
});

test('a large body in pieces is sent in their order, and the connection serves on', async () => {
  const [large, small] = [Buffer.alloc(300_000, 'l'), Buffer.from('s')];
  const body = [large, small, Buffer.alloc(300_000, 'm'), Buffer.from('t')];
  const form = { type: 'a/b', headers: [], encoding: 'identity', tag: null, edition: null } as const;
  const app = Fastify();
  app.get('/', (_request, reply) =>
    sendRepresentation(reply, { status: 200, ...form, body }, { quota: null, snapshotId: 'A' }),
  );
  let connections = 0;
  app.server.on('connection', () => {
    connections += 1;
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let call = 0; call < 3; call += 1) {
    const [answer] = await once(get(url, { agent }), 'response');
    expect((await buffer(answer)).equals(Buffer.concat(body))).toBe(true);
  }
  expect(connections).toBe(1);
  agent.destroy();
  await app.close();
});
