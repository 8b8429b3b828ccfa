/** Request smuggling: a request hidden in another one is neither answered nor charged. */
import { describe, expect, test } from 'vitest';
import { stopAfterTests } from '../after-tests.ts';
import { Service } from '../gateway/service.ts';
import { answersIn, exchange, SMUGGLED_ID, SMUGGLING_SHAPES } from './smuggling.ts';

const CREDITS = 100;
const service = await stopAfterTests(Service.start());
const owner = await service.account({ credits: CREDITS });

describe('a request hidden behind', () => {
  test.each(SMUGGLING_SHAPES)('%s is not answered', async (_name, bytes) => {
    const text = await exchange(service.port, bytes);
    expect(text).not.toContain(SMUGGLED_ID);
    expect(answersIn(text)).toBe(1);
  });
});

test('garbage after a request does not change its answer or its charge', async () => {
  const paid = `GET /v1/countries/KEN HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${owner.key}\r\n\r\n`;
  const text = await exchange(service.port, `${paid}garbage\r\n\r\n`);
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(text).toContain('"iso3":"KEN"');
  expect(await service.balance(owner)).toBe(CREDITS - 1);
});

test('line breaks in header values reach no answer', async () => {
  for (const name of ['X-Request-Id', 'Origin', 'If-None-Match', 'Accept-Encoding']) {
    const head = `GET /v1/topics HTTP/1.1\r\nHost: a\r\n${name}: x%0d%0aX-Injected: 1\\r\\nX-Injected: 1\r\n\r\n`;
    expect(await exchange(service.port, head)).not.toMatch(/^X-Injected:/im);
  }
});
