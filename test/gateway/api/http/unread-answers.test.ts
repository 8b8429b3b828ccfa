/** Callers who ask and ask and read nothing: however small the answers are, and wherever they come from, they are watched. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readSettings } from '../../../../data/runtime/settings.ts';
import { slowClients } from '../../../../gateway/api/http/server/overload.ts';
import { createHttpServer } from '../../../../gateway/api/http/server/server.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { silentLog } from '../../../redis.ts';
import { Service } from '../../service.ts';

/** More than any system takes for a connection that nobody reads. */
const ASKED_MOST = 200_000;

const service = await stopAfterTests(Service.start());

test('watches a client that reads none of many small answers, until it leaves', async () => {
  const socket = connect(service.port, '127.0.0.1').pause();
  await once(socket, 'connect');
  const question = 'GET /v1/topics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(100);
  for (let asked = 0; slowClients.bytes === 0 && asked < ASKED_MOST; asked += 100) {
    socket.write(question);
    await nextTurn();
  }
  expect(slowClients.bytes).toBeGreaterThan(0);
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
  app.server.on('request', (_request, { socket }) => patience_ms.push(socket?.timeout));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  expect(await (await fetch(`${url}/page`)).text()).toBe('page');
  expect(patience_ms).toEqual([60_000]);
  await app.close();
});
