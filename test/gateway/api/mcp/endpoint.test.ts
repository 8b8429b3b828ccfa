/** `/mcp` as HTTP: who may reach it, what is counted and charged, and what is refused before any tool is asked. */
import { describe, expect, test } from 'vitest';
import { buildApi } from '../../../../gateway/api/api.ts';
import { TOOLS } from '../../../../gateway/api/mcp/tools/registry.ts';
import { ICONS } from '../../../../gateway/site/assets.ts';
import { Service, useService } from '../../service.ts';
import { call, REVISIONS, send } from './mcp-client.ts';

const service = await useService({ settings: { ANONYMOUS_PER_MINUTE: '40' } });
const key = await service.account();

const list = (headers: Record<string, string>) => send(service, 'tools/list', {}, { headers });

test.each(['evil.example', 'evil.example:80', 'almanac.test.evil.example'])(
  'a host that is no name of the service is refused: %s',
  async (host) => {
    for (const authorization of [{}, { authorization: `Bearer ${key.key}` }])
      expect((await list({ host, ...authorization })).status).toBe(403);
    const preflight = { host, origin: 'https://almanac.test', 'access-control-request-method': 'POST' };
    expect((await service.get('/mcp', { method: 'OPTIONS', headers: preflight })).status).toBe(403);
  },
);

test.each([
  ['host', 'almanac.test'],
  ['host', 'localhost:8080'],
  ['origin', 'https://almanac.test'],
])('its own names reach it without a key: %s: %s', async (name, value) => {
  expect((await list({ [name]: value })).status).toBe(200);
});

describe.each(['https://evil.example', 'null'])('a page that a browser loaded from %s', (origin) => {
  const ask = (headers: Record<string, string>) => list({ origin, ...headers });

  test('needs a credential, and no cookie is one', async () => {
    for (const headers of [{}, { cookie: `session=${key.key}` }]) {
      const answer = await ask(headers);
      expect([answer.status, answer.json.error.data.code]).toEqual([401, 'unauthorized']);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    }
    expect((await ask({ authorization: `Bearer ${key.key}` })).status).toBe(200);
  });

  test('may ask first what it may send, and read what it needs', async () => {
    const headers = { origin, 'access-control-request-method': 'POST' };
    const asked = 'authorization,content-type,mcp-protocol-version,mcp-method,mcp-name,mcp-session-id';
    const preflight = await service.get('/mcp', {
      method: 'OPTIONS',
      headers: { ...headers, 'access-control-request-headers': asked },
    });
    expect([preflight.status, preflight.bytes.length]).toEqual([204, 0]);
    const listOf = (name: string) => String(preflight.headers[name]).toLowerCase().split(', ');
    expect(listOf('access-control-allow-headers')).toEqual(expect.arrayContaining(asked.split(',')));
    expect(listOf('access-control-allow-methods')).toContain('post');
    expect(preflight.headers).not.toHaveProperty('access-control-allow-credentials');
    const answer = await ask({ authorization: `Bearer ${key.key}` });
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-expose-headers']).toContain('WWW-Authenticate');
  });

  test('is held to the origins of its key', async () => {
    const rules = { monthly_limit: 10, ranges: [], origins: ['https://page.example'] };
    const bound = await service.account({ rules });
    const headers = { origin };
    const args = { query: 'life' };
    const { structured } = await call(service, 'find_indicators', args, { key: bound, headers });
    expect(structured.error.code).toBe('key_restricted');
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
    expect((await send(service, 'tools/list', {}, { key: owner })).status).toBe(401);
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

const METADATA = 'resource_metadata="https://almanac.test/.well-known/oauth-protected-resource/mcp"';
const FIGURES = { name: 'get_data', arguments: { indicators: ['alpha.life_expectancy'] } };

describe.each(REVISIONS)('where people can sign in, revision %s', async (revision) => {
  const build: typeof buildApi = (parts) =>
    buildApi({ ...parts, hasSignIn: true, siteOf: () => ({ pages: [], errorPage: () => '', icons: ICONS }) });
  const signing = await useService({ build });
  const post = (method: string, sent: Record<string, unknown>, headers: Record<string, string> = {}) =>
    send(signing, method, sent, { revision, headers });

  test('figures asked without a credential tell a host where, in the header and in the result', async () => {
    const { status, headers, body } = await post('tools/call', FIGURES);
    expect([status, headers['www-authenticate']]).toEqual([401, `Bearer ${METADATA}, scope="read"`]);
    expect(body.result).toMatchObject({ isError: true, structuredContent: { outcome: 'error' } });
    const [challenge] = body.result._meta['mcp/www_authenticate'];
    expect(challenge).toMatch(
      /^Bearer resource_metadata="[^"]+", scope="read", error="invalid_token", error_description="[^"]+"$/,
    );
    expect(challenge).toContain(METADATA);
    const receipt = { uri: 'almanac://receipts/alpha.life_expectancy/KEN/2020' };
    expect((await post('resources/read', receipt)).status).toBe(401);
  });

  test('a credential that does not work is 401 on every message, and says so', async () => {
    const sent = { authorization: 'Bearer alm_live_none' };
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'tools/call']) {
      const { status, headers, body } = await post(method, method === 'tools/call' ? FIGURES : {}, sent);
      expect([method, status]).toEqual([method, 401]);
      const { error = body.result?.structuredContent.error } = body;
      expect(error.message).toContain('key is not valid');
      expect(headers['www-authenticate']).toContain(`${METADATA}, scope="read", error="invalid_token"`);
    }
  });

  test('what is free is answered without one', async () => {
    const free = { name: 'find_indicators', arguments: { query: 'life' } };
    for (const [method, sent] of [['tools/list', {}] as const, ['tools/call', free] as const]) {
      const { status, headers } = await post(method, sent);
      expect([status, headers['www-authenticate']]).toEqual([200, undefined]);
    }
  });

  test('each tool is listed with title, hints, icon and security schemes, and the server with icons', async () => {
    const { body } = await post('tools/list', {});
    for (const listed of body.result.tools) {
      const isFree = TOOLS.find(({ name }) => name === listed.name)?.priceText === 'free';
      const signedIn = { type: 'oauth2', scopes: ['read'] };
      const securitySchemes = isFree ? [{ type: 'noauth' }, signedIn] : [signedIn];
      expect(listed).toMatchObject({
        title: expect.stringMatching(/./),
        annotations: {
          title: listed.title,
          readOnlyHint: true,
          destructiveHint: false,
          openWorldHint: false,
          idempotentHint: isFree,
        },
        icons: [{ mimeType: 'image/png' }],
        securitySchemes,
        _meta: { securitySchemes },
      });
    }
    const hello = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'a', version: '1' } };
    const isNewest = revision === '2026-07-28';
    const { result } = (await post(isNewest ? 'server/discover' : 'initialize', isNewest ? {} : hello)).body;
    const { icons, websiteUrl } = result.serverInfo ?? result._meta['io.modelcontextprotocol/serverInfo'];
    expect(websiteUrl).toBe('https://almanac.test');
    expect(icons.map(({ mimeType }: { mimeType: string }) => mimeType)).toEqual([
      'image/png',
      'image/svg+xml',
    ]);
  });
});

test('where nobody can sign in, no scheme is named that does not work; its icons are served', async () => {
  await using other = await Service.start();
  const { status, headers } = await send(other, 'tools/call', FIGURES, { revision: '2025-06-18' });
  expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer']);
  const { tools } = (await send(other, 'tools/list')).body.result;
  for (const tool of tools) {
    expect(tool).not.toHaveProperty('securitySchemes');
    const { status, headers, bytes } = await other.get(new URL(tool.icons[0].src).pathname);
    expect([status, headers['content-type']]).toEqual([200, 'image/png']);
    expect(bytes.subarray(1, 4).toString()).toBe('PNG');
  }
});
