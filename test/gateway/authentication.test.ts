/** "Authentication": each numbered rule that a request can show, and what costs nothing. */
import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { mintKeyText } from '../../gateway/api/metering/keys.ts';
import { FREE_ROUTES, KEYED_ROUTES, PUBLIC_ROUTES } from './public-routes.ts';
import { codeOf, NOON, useService } from './service.ts';

const service = await useService();
const owner = await service.account();

const withHeader = (path: string, authorization: string) => service.get(path, { headers: { authorization } });

describe.each(KEYED_ROUTES)('$template needs a key', ({ path }) => {
  test('11. no credential gives 401 unauthorized, saying that authentication is required', async () => {
    const answer = await service.get(path);
    expect(answer.status).toBe(401);
    expect(codeOf(answer)).toBe('unauthorized');
    expect(answer.json.error.message).toMatch(/authentication is required/i);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.headers).not.toHaveProperty('x-ratelimit-limit');
    expect(answer.headers).not.toHaveProperty('x-credits-remaining');
  });

  test('2. a key in the query, a cookie or another header is ignored', async () => {
    const join = path.includes('?') ? '&' : '?';
    const { key } = owner;
    for (const name of ['key', 'api_key', 'access_token', 'authorization', 'token']) {
      expect(codeOf(await service.get(`${path}${join}${name}=${key}`))).toBe('unauthorized');
    }
    for (const headers of [
      { cookie: `key=${key}; authorization=Bearer ${key}` },
      { 'x-api-key': key },
      { 'proxy-authorization': `Bearer ${key}` },
      { 'x-authorization': `Bearer ${key}` },
    ]) {
      expect(codeOf(await service.get(path, { headers }))).toBe('unauthorized');
    }
  });
});

test('3. routes marked optional answer without a key', async () => {
  for (const { path } of FREE_ROUTES) expect((await service.get(path)).status).toBe(200);
});

describe.each(PUBLIC_ROUTES)(
  'a credential that is not a live key gives 401 invalid_key on $template',
  ({ path }) => {
    const malformed = (key: string): [string, string][] => {
      const [prefix, environment, id, secret] = key.split('_') as [string, string, string, string];
      const flipped = secret.startsWith('a') ? `b${secret.slice(1)}` : `a${secret.slice(1)}`;
      return [
        ['empty', ''],
        ['the scheme alone', 'Bearer'],
        ['the scheme and a blank', 'Bearer '],
        ['no scheme', key],
        ['another scheme', `Basic ${Buffer.from(`${key}:`).toString('base64')}`],
        ['Token', `Token ${key}`],
        ['another prefix', `Bearer xyz_${environment}_${id}_${secret}`],
        ['another environment', `Bearer ${prefix}_prod_${id}_${secret}`],
        ['test instead of live', `Bearer ${prefix}_test_${id}_${secret}`],
        ['a shorter id', `Bearer ${prefix}_${environment}_${id.slice(1)}_${secret}`],
        [
          'an id with a letter outside the alphabet',
          `Bearer ${prefix}_${environment}_u${id.slice(1)}_${secret}`,
        ],
        ['an id in upper case', `Bearer ${prefix}_${environment}_${id.toUpperCase()}Z_${secret}`],
        ['a shorter secret', `Bearer ${prefix}_${environment}_${id}_${secret.slice(1)}`],
        ['a longer secret', `Bearer ${key}0`],
        ['a secret with one letter changed', `Bearer ${prefix}_${environment}_${id}_${flipped}`],
        ['a part missing', `Bearer ${prefix}_${environment}_${secret}`],
        ['two keys', `Bearer ${key} ${key}`],
        ['two keys with a comma', `Bearer ${key},${key}`],
        ['10 KB of blanks', `Bearer${' '.repeat(10_000)}x`],
        ['a key in quotes', `Bearer "${key}"`],
        ['10 KB', `Bearer ${'a'.repeat(10_000)}`],
        ['SQL', "Bearer ' OR 1=1 --"],
        ['a key that never existed', `Bearer ${mintKeyText('live', (size) => Buffer.alloc(size, 7)).key}`],
      ];
    };

    test('10. gives the same answer whatever is wrong with the key', async () => {
      const before = await service.balance(owner);
      const bodies = new Set<string>();
      for (const [name, authorization] of malformed(owner.key)) {
        const answer = await withHeader(path, authorization);
        expect(answer.status, name).toBe(401);
        expect(codeOf(answer), name).toBe('invalid_key');
        expect(answer.headers['www-authenticate'], name).toBe('Bearer error="invalid_token"');
        expect(answer.headers, name).not.toHaveProperty('x-ratelimit-limit');
        expect(answer.headers, name).not.toHaveProperty('x-credits-remaining');
        bodies.add(answer.text);
      }
      expect(bodies.size).toBe(1);
      expect(await service.balance(owner)).toBe(before);
    });
  },
);

test('1. the scheme is Bearer in any case, with any number of blanks behind it', async () => {
  for (const header of [`bEARER ${owner.key}`, `Bearer   ${owner.key} `])
    expect((await withHeader('/v1/ping', header)).status).toBe(200);
});

test('6. scopes a key minted before the scope existed is refused: 403 key_scope, free, on every route', async () => {
  const old = await service.account();
  const name = redisKeys.key(old.key_id);
  const facts = JSON.parse((await service.client.get(name)) ?? '{}');
  await service.client.set(name, JSON.stringify({ ...facts, scopes: [] }));
  for (const { path } of PUBLIC_ROUTES) {
    const answer = await service.get(path, { key: old.key });
    expect(answer.status).toBe(403);
    expect(codeOf(answer)).toBe('key_scope');
    expect(answer.headers['x-credits-charged']).toBe('0');
  }
  expect(await service.balance(old)).toBe(1000);
});

describe('the life of a key', () => {
  const ping = async (key: string) => codeOf(await service.get('/v1/ping', { key })) ?? 'works';

  test('8. revocation is effective on the next request, and permanent', async () => {
    const { key, key_id } = await service.account();
    expect(await ping(key)).toBe('works');
    await service.accounts.keys.revoke(key_id);
    expect(await ping(key)).toBe('invalid_key');
    for (const { path } of PUBLIC_ROUTES) {
      const answer = await service.get(path, { key });
      expect(codeOf(answer)).toBe('invalid_key');
      expect(Object.keys(answer.headers).join()).not.toMatch(/x-ratelimit-limit|x-credits-remaining/);
    }
  });

  test('9. an expired key is refused like a revoked one; a key without expiry never expires', async () => {
    const { key } = await service.account({ expires_at_ms: NOON + 1000 });
    const { key: endless } = await service.account();
    expect(await ping(key)).toBe('works');
    service.clock.ms = NOON + 1000;
    expect(await ping(key)).toBe('invalid_key');
    service.clock.ms = NOON + 50 * 365 * 86_400_000;
    expect(await ping(endless)).toBe('works');
    service.clock.ms = NOON;
  });
});
