/** Requests hidden behind others, garbage around requests, and guessed keys. */
import { expect, test } from 'vitest';
import { parseKey } from '../../gateway/api/metering/keys.ts';
import { codeOf, useService } from '../gateway/service.ts';
import { unknownKey, wrongKey } from './guessing.ts';
import { answersIn, exchange, SMUGGLED_ID, SMUGGLING_SHAPES } from './smuggling.ts';

const CREDITS = 100;
const service = await useService();
const owner = await service.account({ credits: CREDITS });

test.each(SMUGGLING_SHAPES)('a request hidden behind %s is not answered', async (_name, bytes) => {
  const text = await exchange(service.port, bytes);
  expect(text).not.toContain(SMUGGLED_ID);
  expect(answersIn(text)).toBe(1);
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

test.each([0, 1, 17, 33])(
  'a guessed key with an existing id and %i right characters of the secret is rejected like any other',
  async (same) => {
    const guess = wrongKey(owner.key, same);
    const [real, wrong] = [parseKey(owner.key), parseKey(guess)];
    expect(wrong?.key_id).toBe(real?.key_id);
    expect(wrong?.secret.slice(0, same)).toBe(real?.secret.slice(0, same));
    expect(wrong?.secret).not.toBe(real?.secret);
    const answers = await Promise.all(
      [guess, unknownKey(), 'alm_live_x'].map((key) => service.get('/v1/ping', { key })),
    );
    expect(answers.map(codeOf)).toEqual(['invalid_key', 'invalid_key', 'invalid_key']);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const names = answers.map(({ headers }) => Object.keys(headers).toSorted().join());
    expect(new Set(names).size).toBe(1);
  },
);

test('a guessed key repeated ten thousand times evicts no real key and costs nothing', async () => {
  const before = await service.balance(owner);
  for (let batch = 0; batch < 100; batch++)
    await Promise.all(Array.from({ length: 100 }, () => service.get('/v1/ping', { key: unknownKey() })));
  expect((await service.get('/v1/ping', { key: owner.key })).status).toBe(200);
  expect(await service.balance(owner)).toBe(before);
});
