/** The faulty network keeps TCP's guarantee: received bytes are a prefix of the sent ones. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLossyProxy } from './lossy-proxy.ts';

const CONNECTIONS = 400;
const PIECES = 200;
const SENT = Array.from({ length: PIECES }, (_, number) => `${number},`);
const WHOLE = SENT.join('');

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'alm-lossy-'));
});
afterAll(() => rm(dir, { recursive: true }));

/** Sends all chunks. @returns what was received before the connection closed */
async function exchange(socket: Socket): Promise<string> {
  let received = '';
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    received += bytes;
  });
  const closed = new Promise<void>((settle) => socket.once('close', () => settle()));
  for (const piece of SENT) {
    if (socket.destroyed) break;
    socket.write(piece);
    // Yield, so that the proxy sees separate chunks.
    await nextTurn();
  }
  // Ends both directions unless the connection was cut.
  socket.end();
  await closed;
  return received;
}

test('delays, silence and cuts leave no gap in either direction', async () => {
  const atRedis: Promise<string>[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => atRedis.push(exchange(socket)));
  const path = join(dir, 'redis.sock');
  await new Promise<void>((settle) => server.listen(path, settle));
  await using proxy = await startLossyProxy(path, Math.random);
  proxy.odds = { cut: 0.05, delay: 0.01, silence: 0.1 };
  const { port } = new URL(proxy.url);
  const atClients = Array.from({ length: CONNECTIONS }, () =>
    exchange(connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })),
  );
  const received = [...(await Promise.all(atClients)), ...(await Promise.all(atRedis))];
  server.close();
  expect(received.filter((text) => !WHOLE.startsWith(text))).toEqual([]);
  expect(received.some((text) => text.length > 0 && text.length < WHOLE.length)).toBe(true);
  const { cuts, delays, silences } = proxy.done;
  expect(Math.min(cuts, delays, silences)).toBeGreaterThan(0);
});
