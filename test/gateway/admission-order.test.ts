/**
 * The fixed order of checks: method 405 → key 401 → rules of the key 403 → scope 403 → rate 429 → parameters 422/400 → existence 404 →
 * export gate 403 → balance 402. A request that fails several of them gets the first one's answer.
 */
import { expect, test } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { codeOf, type TestKey, useService } from './service.ts';

const service = await useService({ settings: { FREE_PER_MINUTE: '2' } });

const unscoped = async (): Promise<TestKey> => {
  const made = await service.account({ credits: 0 });
  const name = redisKeys.key(made.key_id);
  const facts = JSON.parse((await service.client.get(name)) ?? '{}');
  await service.client.set(name, JSON.stringify({ ...facts, scopes: ['other'] }));
  return made;
};
const exhausted = async (): Promise<TestKey> => {
  const made = await service.account({ credits: 0 });
  for (let call = 0; call < 2; call += 1) await service.get('/v1/ping', { key: made.key });
  return made;
};

// All wrong at once: an unknown format, an unknown indicator, an empty balance.
const BAD_PARAMETER = '/v1/data?indicator=none.such&format=xml';
const UNKNOWN = '/v1/data?indicator=none.such';
const GATED = '/v1/data?indicator=gamma.reserves';
const PRICED = '/v1/data?indicator=alpha.life_expectancy';

test('405 before 401', async () => {
  const headers = { authorization: 'Bearer nonsense' };
  expect((await service.get(BAD_PARAMETER, { method: 'POST', headers })).status).toBe(405);
});

test('401 before 403 key_scope, also for a revoked key without the scope', async () => {
  const { key, key_id } = await unscoped();
  await service.accounts.keys.revoke(key_id);
  expect(codeOf(await service.get(BAD_PARAMETER, { key }))).toBe('invalid_key');
});

test('401 before 429 and before 422', async () => {
  const { key, key_id } = await exhausted();
  expect(codeOf(await service.get(BAD_PARAMETER, { key }))).toBe('rate_limited');
  await service.accounts.keys.revoke(key_id);
  expect(codeOf(await service.get(BAD_PARAMETER, { key }))).toBe('invalid_key');
});

test('401 before 403 key_restricted, and that before 403 key_scope and 429', async () => {
  const made = await unscoped();
  await service.accounts.keys.setRules(made.key_id, {
    monthly_limit: null,
    ranges: ['203.0.113.7'],
    origins: [],
  });
  for (let call = 0; call < 4; call += 1)
    expect(codeOf(await service.get(BAD_PARAMETER, { key: made.key }))).toBe('key_restricted');
  await service.accounts.keys.revoke(made.key_id);
  expect(codeOf(await service.get(BAD_PARAMETER, { key: made.key }))).toBe('invalid_key');
});

test('403 key_scope before 429', async () => {
  const { key } = await unscoped();
  for (let call = 0; call < 4; call += 1) {
    expect(codeOf(await service.get(BAD_PARAMETER, { key }))).toBe('key_scope');
  }
});

test('429 before 422, 404, 403 and 402', async () => {
  const { key } = await exhausted();
  for (const path of [BAD_PARAMETER, UNKNOWN, GATED, PRICED]) {
    const answer = await service.get(path, { key });
    expect(answer.status).toBe(429);
    expect(codeOf(answer)).toBe('rate_limited');
  }
});

test('422 before 404', async () => {
  const { key } = await service.account({ credits: 0 });
  expect((await service.get(BAD_PARAMETER, { key })).status).toBe(422);
});

test.each([
  ['404 before 402', UNKNOWN, 'indicator_not_found'],
  ['404 before 402, for a country', '/v1/countries/ZZZ', 'country_not_found'],
  ['403 export_restricted before 402', GATED, 'export_restricted'],
  ['400 not_rankable before 402', '/v1/rankings/alpha.regime_code', 'not_rankable'],
  ['404 before 400', '/v1/rankings/none.such', 'indicator_not_found'],
  ['402 last', PRICED, 'insufficient_credits'],
])('%s', async (_order, path, code) => {
  const { key } = await service.account({ credits: 0 });
  expect(codeOf(await service.get(path, { key }))).toBe(code);
});

test('a refused request counts against the rate and as an error, and costs nothing', async () => {
  const made = await service.account({ credits: 5 });
  const answer = await service.get(BAD_PARAMETER, { key: made.key });
  expect(answer.headers['x-ratelimit-remaining']).toBe('1');
  const { json } = await service.get('/v1/usage?days=1', { key: made.key });
  expect(json.data.endpoints).toContainEqual({
    route: '/v1/data',
    requests: 1,
    errors: 1,
    rows: 0,
    credits: 0,
  });
  expect(await service.balance(made)).toBe(5);
});
