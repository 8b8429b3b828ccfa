/** Guessed keys: rejected like any other. */
import { expect, test } from 'vitest';
import { parseKey } from '../../gateway/api/metering/keys.ts';
import { stopAfterTests } from '../after-tests.ts';
import { codeOf, Service } from '../gateway/service.ts';
import { unknownKey, wrongKey } from './guessing.ts';

const service = await stopAfterTests(Service.start());
const owner = await service.account();

test.each([0, 1, 17, 33])(
  'with an existing id and %i right characters of the secret is rejected like any other',
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

test('repeated ten thousand times evicts no real key and costs nothing', async () => {
  const before = await service.balance(owner);
  for (let batch = 0; batch < 100; batch++)
    await Promise.all(Array.from({ length: 100 }, () => service.get('/v1/ping', { key: unknownKey() })));
  expect((await service.get('/v1/ping', { key: owner.key })).status).toBe(200);
  expect(await service.balance(owner)).toBe(before);
});
