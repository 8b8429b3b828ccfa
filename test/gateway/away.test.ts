/** When Redis or a query fails: who gets what, and that nothing is charged. */
import { describe, expect, test, vi } from 'vitest';
import { QueryTimeout } from '../../gateway/api/snapshot/rows/query-runner.ts';
import { startRedis } from '../redis.ts';
import { FREE_ROUTES, KEYED_ROUTES } from './public-routes.ts';
import { codeOf, useService } from './service.ts';

describe('while Redis is unreachable', async () => {
  const redis = await startRedis({ dedicated: true });
  const service = await useService({ redis });
  const owner = await service.account();
  expect((await service.get('/v1/ping', { key: owner.key })).status).toBe(200);
  await redis.kill();

  test.each(FREE_ROUTES)('$template goes on without a key', async ({ path }) => {
    expect((await service.get(path)).status).toBe(200);
  });

  test.each([...FREE_ROUTES, ...KEYED_ROUTES])(
    '$template with a key: 503 unavailable with Retry-After',
    async ({ path }) => {
      const answer = await service.get(path, { key: owner.key });
      expect(answer.status).toBe(503);
      expect(codeOf(answer)).toBe('unavailable');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(answer.headers).not.toHaveProperty('x-credits-charged');
    },
  );

  test('still refuses a malformed key', async () => {
    const headers = { authorization: 'Bearer nonsense' };
    expect(codeOf(await service.get('/v1/ping', { headers }))).toBe('invalid_key');
  });

  test('/healthz is 200, /readyz is 503 and names Redis', async () => {
    expect((await service.get('/healthz')).status).toBe(200);
    const answer = await service.get('/readyz');
    expect(answer.status).toBe(503);
    expect(answer.json).toMatchObject({
      status: 'not ready',
      redis: false,
      causes: ['Redis is unreachable.'],
    });
  });
});

describe('when a query fails', async () => {
  const service = await useService();
  const owner = await service.account();

  const failWith = (error: Error) => {
    const observations = service.snapshots.current()?.observations;
    if (!observations) throw new Error('no snapshot');
    return vi.spyOn(observations, 'select').mockRejectedValueOnce(error);
  };
  const ask = () => service.get('/v1/data?indicator=alpha.life_expectancy', { key: owner.key });

  test('a query timeout is 503 unavailable, free, with the quota headers', async () => {
    failWith(new QueryTimeout('too long'));
    const answer = await ask();
    expect(answer.status).toBe(503);
    expect(answer.headers['x-credits-charged']).toBe('0');
    expect(answer.headers['x-credits-remaining']).toBe('1000');
    expect(await service.balance(owner)).toBe(1000);
  });

  test('any other fault is 500 internal_error, free, without its cause', async () => {
    failWith(new Error('IO Error: cannot open file "/secret/place.parquet"'));
    const answer = await ask();
    expect(answer.status).toBe(500);
    expect(answer.json).toEqual({
      error: { code: 'internal_error', message: 'Something failed on our side; nothing was charged.' },
    });
    expect(await service.balance(owner)).toBe(1000);
    const { json } = await service.get('/v1/usage?days=1', { key: owner.key });
    expect(json.data.totals).toMatchObject({ errors: 2, credits: 0 });
  });

  test('the next request is served', async () => {
    expect((await ask()).status).toBe(200);
  });
});
