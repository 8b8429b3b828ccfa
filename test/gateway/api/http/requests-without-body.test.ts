/** Requests that announce a kind of body and have none: whoever reads it finds it empty, and nobody waits for it. */
import formbody from '@fastify/formbody';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readSettings } from '../../../../data/runtime/settings.ts';
import { createHttpServer } from '../../../../gateway/api/http/server/server.ts';
import { exchange } from '../../../attack/smuggling.ts';

let app: FastifyInstance;
let port: number;

beforeEach(async () => {
  app = createHttpServer({ settings: readSettings(), log: pino({ level: 'silent' }), randomId: () => 'any' });
  await app.register(formbody);
  app.post('/echo', (request) => ({ body: request.body ?? null }));
  app.get('/echo', () => ({ body: 'of a GET' }));
  await app.listen({ port: 0, host: '127.0.0.1' });
  port = (app.server.address() as { port: number }).port;
});

afterEach(() => app.close());

const answerTo = (lines: string[], body = ''): Promise<string> =>
  exchange(port, `${[...lines, 'Host: a', 'Connection: close'].join('\r\n')}\r\n\r\n${body}`);

const FORM = 'Content-Type: application/x-www-form-urlencoded';

it('a missing form is an empty form', async () => {
  expect(await answerTo(['POST /echo HTTP/1.1', FORM])).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"body":\{\}\}$/);
});

it('a missing body of a type that no route reads is a client error', async () => {
  expect(await answerTo(['POST /echo HTTP/1.1', 'Content-Type: application/json'])).toContain(
    'HTTP/1.1 415 ',
  );
});
