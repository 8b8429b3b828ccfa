/** Bodies whose framing breaks: 400 at once where the body is needed, and an answer as ever where it is not. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { stripeSettings, useFakeStripe } from '../../commerce/pages/fake-stripe.ts';
import { useAccountPages } from '../../commerce/pages/harness.ts';

/** Named by what is wrong with them. */
const BROKEN: readonly (readonly [name: string, chunks: string])[] = [
  ['a size that is no number', 'zz\r\na\r\n0\r\n\r\n'],
  ['a size with a sign', '-1\r\na\r\n0\r\n\r\n'],
  ['a size beyond all numbers', `${'f'.repeat(20)}\r\na`],
  ['no line break after a chunk', '1\r\nabc\r\n0\r\n\r\n'],
  ['a lone line feed after a size', '1\na\r\n0\r\n\r\n'],
  ['an extension of 20 KB', `1;${'a'.repeat(20_000)}\r\na\r\n0\r\n\r\n`],
  ['an extension with a NUL', '1;a\0\r\na\r\n0\r\n\r\n'],
  ['a trailer of 20 KB', `1\r\na\r\n0\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`],
  ['a trailer without a name', '1\r\na\r\n0\r\n: x\r\n\r\n'],
  ['a good chunk before a broken one', '3\r\na=b\r\nzz\r\n'],
];

const HEAD = 'Host: localhost\r\nTransfer-Encoding: chunked\r\n';
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n';
const JSON_TYPE = 'Content-Type: application/json\r\n';

/** Sends bytes and reads until the server closes the connection; `then` follows the first answer. */
async function exchange(port: number, bytes: string, then?: string | null): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
  });
  socket.on('end', () => socket.end());
  socket.on('error', () => socket.destroy());
  socket.write(bytes, 'latin1');
  if (then !== undefined) {
    await once(socket, 'data');
    if (then === null) socket.end();
    else socket.write(then, 'latin1');
  }
  await once(socket, 'close');
  return text;
}

const statusesOf = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status]) => Number(status));

const stripe = await useFakeStripe();
const harness = await useAccountPages({ settings: stripeSettings(stripe) });
const port = Number(new URL(harness.url).port);
const customer = await harness.customer();
const { key } = await harness.makeKey(customer);

describe('a body whose framing breaks', () => {
  /** Heads without their last line break, by route. */
  const reading = (): [string, string][] => {
    const cookies = [...customer.visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return [
      ['a form that anybody may send', `POST /account/sign-in HTTP/1.1\r\n${HEAD}${FORM}`],
      ['a form of an account', `POST /account/keys HTTP/1.1\r\n${HEAD}${FORM}Cookie: ${cookies}\r\n`],
      ['MCP', `POST /mcp HTTP/1.1\r\n${HEAD}${JSON_TYPE}`],
      ['tokens', `POST /oauth/token HTTP/1.1\r\n${HEAD}${FORM}`],
      ['registrations of clients', `POST /oauth/register HTTP/1.1\r\n${HEAD}${JSON_TYPE}`],
      ['events of Stripe', `POST /account/stripe/webhook HTTP/1.1\r\n${HEAD}${JSON_TYPE}`],
    ];
  };

  test.each(BROKEN)('%s: 400 on every route that reads it', async (_name, chunks) => {
    for (const [route, head] of reading()) {
      const together = await exchange(port, `${head}\r\n${chunks}`);
      expect(statusesOf(together), route).toEqual([400]);
      expect(together, route).toMatch(/^Connection: close\r$/im);
      const afterwards = await exchange(port, `${head}Expect: 100-continue\r\n\r\n`, chunks);
      expect(statusesOf(afterwards), `${route}, once it is dispatched`).toEqual([400]);
    }
  });

  test('that comes in too many pieces: 400, whole or not', async () => {
    const pieces = '1\r\na\r\n'.repeat(5_000);
    for (const [route, head] of reading())
      for (const end of ['0\r\n\r\n', 'zz\r\n', ''])
        expect(
          statusesOf(await exchange(port, `${head}Connection: close\r\n\r\n${pieces}${end}`)),
          route,
        ).toEqual([400]);
  });

  test('that ends before its last chunk, or before its length: 400', async () => {
    for (const [route, head] of reading()) {
      expect(
        statusesOf(await exchange(port, `${head}Expect: 100-continue\r\n\r\n5\r\nab`, null)),
        route,
      ).toEqual([400]);
      const sized = head.replace('Transfer-Encoding: chunked', 'Content-Length: 10');
      expect(
        statusesOf(await exchange(port, `${sized}Expect: 100-continue\r\n\r\nabc`, null)),
        route,
      ).toEqual([400]);
    }
  });

  test.each(BROKEN)(
    '%s: the answer of a route that does not read it, and no other',
    async (_name, chunks) => {
      const other: [line: string, status: number][] = [
        ['POST /none', 404],
        ['POST /v1/topics', 405],
        ['GET /v1/topics', 200],
        ['GET /healthz', 200],
        [`GET /v1/countries/KEN HTTP/1.1\r\nAuthorization: Bearer ${key}`, 200],
      ];
      const before = await harness.balance(customer.account_id);
      for (const [line, status] of other) {
        const [request = '', credential] = line.split(' HTTP/1.1\r\n');
        const head = `${request} HTTP/1.1\r\n${HEAD}${credential === undefined ? '' : `${credential}\r\n`}`;
        expect(statusesOf(await exchange(port, `${head}\r\n${chunks}`)), line).toEqual([status]);
        expect(statusesOf(await exchange(port, `${head}\r\n`, chunks)), `${line}, afterwards`).toEqual([
          status,
        ]);
      }
      expect(await harness.balance(customer.account_id)).toBe(before - 2);
    },
  );

  test('does not reset a client that still sends: it gets the whole answer', async () => {
    const body = `${'1\r\na\r\n'.repeat(10_000)}zz\r\n${'x'.repeat(1_000_000)}`;
    for (const line of ['GET /v1/topics', 'POST /none', 'POST /account/sign-in', 'POST /mcp']) {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      const errors: Error[] = [];
      let text = '';
      socket.setEncoding('latin1').on('data', (piece: string) => {
        text += piece;
      });
      socket.on('error', (error) => errors.push(error));
      socket.end(`${line} HTTP/1.1\r\n${HEAD}${FORM}\r\n${body}`);
      await once(socket, 'close');
      expect([line, errors, statusesOf(text).length]).toEqual([line, [], 1]);
    }
  });

  test('behind a request that waits for its answer: both are answered, in their sequence', async () => {
    const paid = `GET /v1/countries/KEN HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    for (const [route, head] of reading())
      expect(statusesOf(await exchange(port, `${paid}${head}\r\nzz\r\n`)), route).toEqual([200, 400]);
  });
});
