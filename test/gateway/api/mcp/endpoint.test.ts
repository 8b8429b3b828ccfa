/** `/mcp` as HTTP: who may reach it, what is counted and charged, and what is refused before any tool is asked. */
import { afterAll, describe, expect, test } from 'vitest';
import { Service } from '../../service.ts';
import { call, send } from './mcp-client.ts';

const service = await Service.start({ settings: { ANONYMOUS_PER_MINUTE: '40' } });
const key = await service.account();
afterAll(() => service.stop());

const list = (headers: Record<string, string>) => send(service, 'tools/list', {}, { headers });

describe('a page that a browser loaded from elsewhere cannot reach it', () => {
  test.each([
    ['host', 'evil.example'],
    ['host', `evil.example:${80}`],
    ['host', 'almanac.test.evil.example'],
    ['origin', 'https://evil.example'],
    ['origin', 'null'],
  ])('%s: %s', async (name, value) => {
    expect((await list({ [name]: value })).status).toBe(403);
  });

  test.each([
    ['host', 'almanac.test'],
    ['host', 'localhost:8080'],
    ['origin', 'https://almanac.test'],
  ])('but from its own: %s: %s', async (name, value) => {
    expect((await list({ [name]: value })).status).toBe(200);
  });
});

test('there are no sessions: GET and DELETE are not allowed', async () => {
  for (const method of ['GET', 'DELETE']) {
    const { status } = await service.get('/mcp', { method, headers: { accept: 'text/event-stream' } });
    expect(status).toBe(405);
  }
});

test('what is no JSON is refused', async () => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const { json } = await service.get('/mcp', { method: 'POST', body: '{', headers });
  expect(json.error.code).toBe(-32700);
});

test('a method and a tool that there are not are errors of the protocol', async () => {
  expect((await send(service, 'tools/burn')).body.error.code).toBe(-32601);
  expect((await send(service, 'tools/call', { name: 'burn', arguments: {} })).body.error.code).toBe(-32602);
});

describe('keys', () => {
  const args = { indicators: ['alpha.life_expectancy'], countries: ['Kenya'] };

  test('free tools need none, priced ones do', async () => {
    expect((await call(service, 'find_indicators', { query: 'life expectancy' })).isError).toBe(false);
    expect((await call(service, 'get_data', args)).structured.error.code).toBe('unauthorized');
  });

  test('a call stands in the usage as its tool, with its price', async () => {
    const { structured } = await call(service, 'get_data', args, { key });
    expect(structured.credits).toEqual({ charged: 1, balance: 999 });
    const { json } = await service.get('/v1/usage?days=1', { key: key.key });
    expect(json.data.endpoints).toContainEqual({
      route: 'mcp:get_data',
      requests: 1,
      errors: 0,
      rows: 1,
      credits: 1,
    });
  });

  test('a revoked key ends at the next call', async () => {
    const owner = await service.account();
    expect((await call(service, 'get_data', args, { key: owner })).isError).toBe(false);
    await service.accounts.keys.revoke(owner.key_id);
    const { structured, isError } = await call(service, 'get_data', args, { key: owner });
    expect([isError, structured.error.code]).toEqual([true, 'invalid_key']);
    expect(await service.balance(owner)).toBe(999);
  });

  test('without credits nothing is given', async () => {
    const { structured } = await call(service, 'get_data', args, {
      key: await service.account({ credits: 0 }),
    });
    expect(structured.error.code).toBe('insufficient_credits');
    expect(structured.figures).toEqual([]);
  });
});

test('calls without a key are counted by address', async () => {
  const results = [];
  for (let asked = 0; asked < 45; asked += 1)
    results.push(await call(service, 'find_indicators', { query: 'life' }));
  const limited = results.filter(({ isError }) => isError);
  expect(limited.length).toBeGreaterThan(0);
  expect(limited[0]?.structured.error).toMatchObject({
    code: 'rate_limited',
    retry_after_s: expect.any(Number),
  });
});
