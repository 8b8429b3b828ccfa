/** Slow clients over real connections: cut off in time, the oldest first, quick ones never. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SlowClients } from '../../../../gateway/api/http/server/overload.ts';

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
