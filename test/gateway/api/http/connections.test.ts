/** The bound on open connections: idle ones make room, those that wait for an answer stay. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { limitConnections } from '../../../../gateway/api/http/server/server.ts';
import { listen } from '../../../listen.ts';

const MOST = 4;

let server: Server;
let waiting: ServerResponse[];
let port: number;
let stop: () => Promise<void>;
beforeEach(async () => {
  waiting = [];
  server = createServer((request, response) => {
    if (request.url === '/wait') waiting.push(response);
    else response.end('done');
    server.emit('asked');
  });
  limitConnections(server, pino({ level: 'silent' }), MOST);
  ({ port, stop } = await listen(server));
});
afterEach(() => stop());

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

async function ask(socket: Socket, path: string): Promise<void> {
  const asked = once(server, 'asked');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await asked;
}

test('closes idle connections at the limit and accepts the next client', async () => {
  const busy = await open();
  await ask(busy, '/wait');
  const idle: Socket[] = [];
  while (idle.length < MOST - 1) {
    const socket = await open();
    await ask(socket, '/');
    await once(socket, 'data');
    idle.push(socket);
  }
  const ends = idle.map((socket) => once(socket, 'close'));
  const tooMany = await open();
  await Promise.all([once(tooMany, 'close'), ...ends]);
  const next = await open();
  await ask(next, '/');
  expect(String((await once(next, 'data'))[0])).toContain('200 OK');
  waiting[0]?.end('at last');
  expect(String((await once(busy, 'data'))[0])).toContain('at last');
});
