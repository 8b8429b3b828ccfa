/**
 * Slow clients over real connections: cut off in time, the oldest first, quick ones never. Those who ask and ask and read
 * nothing are watched, however small the answers are.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify, { type FastifyReply } from 'fastify';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readSettings } from '../../../../data/runtime/settings.ts';
import { represent } from '../../../../gateway/api/http/api/representation.ts';
import { sendRepresentation } from '../../../../gateway/api/http/api/response.ts';
import { SlowClients, slowClients } from '../../../../gateway/api/http/server/overload.ts';
import { createHttpServer } from '../../../../gateway/api/http/server/server.ts';
import type { Snapshot } from '../../../../gateway/api/snapshot/editions/snapshot.ts';
import { silentLog } from '../../../redis.ts';
import { useService } from '../../service.ts';

/** More than a system takes without a reader. */
const BODY = Buffer.alloc(16 * 1024 * 1024, 'a');
const LIMITS = {
  budget_bytes: 2 * BODY.length,
  grace_ms: 60_000,
  min_bytes_per_s: 4096,
  idle_ms: 60_000,
  young_ms: 5_000,
};

let now_ms: number;
let clients: SlowClients;
let server: Server;
let answers: ServerResponse[];
const sockets: Socket[] = [];
beforeEach(async () => {
  now_ms = 0;
  clients = new SlowClients(LIMITS, () => now_ms);
  answers = [];
  server = createServer((_request, response) => {
    answers.push(response);
    response.writeHead(200, { 'Content-Length': BODY.length });
    response.end(BODY);
    clients.watch(response, BODY.length);
    server.emit('watched');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
});

/** Asks for the body, once or more often, and reads none of it. */
async function ask(times = 1): Promise<Socket> {
  const watched = once(server, 'watched');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.pause();
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(times));
  await watched;
  return socket;
}

/** Until no more than so much is held: the end of a connection is told a turn or two later. */
async function untilHeld(bytes: number): Promise<void> {
  while (clients.bytes > bytes) await nextTurn();
}

test('cuts off a client that takes longer than the size allows', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await ask();
  expect(clients.bytes).toBe(BODY.length);
  const allowed_ms = LIMITS.grace_ms + (BODY.length / LIMITS.min_bytes_per_s) * 1000;
  vi.advanceTimersByTime(allowed_ms - 1);
  expect(answers[0]?.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  await untilHeld(0);
  expect(answers[0]?.destroyed).toBe(true);
});

test('cuts off an idle client before that', async () => {
  clients = new SlowClients({ ...LIMITS, idle_ms: 10 }, () => now_ms);
  await ask();
  await untilHeld(0);
  expect(answers[0]?.writableFinished).toBe(false);
});

test('cuts off the oldest answers beyond the budget, but no young one', async () => {
  for (let reader = 0; reader < 4; reader++) await ask();
  expect(answers.map(({ destroyed }) => destroyed)).toEqual([false, false, false, false]);
  now_ms += LIMITS.young_ms;
  await ask();
  await untilHeld(LIMITS.budget_bytes);
  expect(answers.map(({ destroyed }) => destroyed)).toEqual([true, true, true, false, false]);
});

test('forgets an answer that was read or whose client left', async () => {
  const [reader, leaver] = [await ask(), await ask()];
  leaver.destroy();
  reader.resume();
  await untilHeld(0);
  expect(answers.map(({ writableFinished }) => writableFinished)).toEqual([true, false]);
});

test('forgets all answers of a client that left, also those that waited behind another', async () => {
  const asked = 5;
  const socket = await ask(asked);
  expect(clients.bytes).toBe(asked * BODY.length);
  socket.destroy();
  await untilHeld(0);
});

test('does not watch an answer whose client left before it was ready', async () => {
  server.removeAllListeners('request').once('request', () => server.emit('watched'));
  const requested = once(server, 'request');
  const client = await ask();
  const [request, response] = (await requested) as [IncomingMessage, ServerResponse];
  client.destroy();
  await once(request.socket, 'close');
  response.end(BODY);
  clients.watch(response, BODY.length);
  expect(clients.bytes).toBe(0);
});

/** More than any system takes for a connection that nobody reads. */
const ASKED_MOST = 200_000;
const service = await useService();

/** Asks until an answer waits for its reader. */
async function askUntilWatched(port: number, line: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').pause();
  sockets.push(socket);
  await once(socket, 'connect');
  for (let asked = 0; slowClients.bytes === 0 && asked < ASKED_MOST; asked += 100) {
    socket.write(`${line} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(100));
    await nextTurn();
  }
  expect(slowClients.bytes).toBeGreaterThan(0);
  return socket;
}

test('watches a client that reads none of many small answers, until it leaves', async () => {
  const socket = await askUntilWatched(service.port, 'GET /v1/topics');
  socket.destroy();
  while (slowClients.bytes > 0) await nextTurn();
});

test('does not watch an answer that is read', async () => {
  for (let call = 0; call < 5; call++) await service.get('/v1/topics');
  expect(slowClients.bytes).toBe(0);
});

test('gives the reader of a page a minute for each piece', async () => {
  const app = createHttpServer({ settings: readSettings({}), log: silentLog, randomId: () => 'a' });
  app.get('/page', async () => 'page');
  const patience_ms: unknown[] = [];
  app.addHook('onSend', async (_request, { raw }) => void patience_ms.push(raw.socket?.timeout));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  expect(await (await fetch(`${url}/page`)).text()).toBe('page');
  expect(patience_ms).toEqual([60_000]);
  await app.close();
});

test('a part of a kept file counts as all of it until its reader has read it', async () => {
  const [size, to] = [900_001, 70_001];
  const file = { sha256: 'of-a-file', bytes: size, held: Buffer.alloc(size) };
  const content = { kind: 'whole', file, name: 'a.parquet', mediaType: 'a/b', credits: [] } as const;
  const range = { isHead: false, range: `bytes=0-${to - 1}`, ifRange: undefined };
  const asked = { url: '', acceptEncoding: undefined, ifNoneMatch: undefined, isTagged: true, file: range };
  const send = async (reply: FastifyReply): Promise<void> => {
    const representation = await represent(content, asked, { id: 'A' } as Snapshot);
    sendRepresentation(reply, representation, { quota: null, snapshotId: 'A' });
  };
  const app = Fastify();
  app.get('/', (_request, reply) => void send(reply));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = await askUntilWatched((app.server.address() as AddressInfo).port, 'GET /');
  expect(slowClients.bytes % size).toBe(0);
  socket.destroy();
  while (slowClients.bytes > 0) await nextTurn();
  await app.close();
});
