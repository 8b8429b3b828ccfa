/** Attacks on connections, each refused: on redirects, codes, resources, client documents, registrations and issuers. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { matchesRedirect } from '../../../gateway/commerce/connections/redirects.ts';
import { CALLBACK, chargedBy, OAuthClient } from './oauth-client.ts';
import { useAccountPages } from './pages/harness.ts';

const harness = await useAccountPages();
/** Fetches documents from this machine, as for development. */
const local = await useAccountPages({ settings: { WEBHOOK_PRIVATE_TARGETS: 'true' } });
const { connections } = harness.context;
const ann = await harness.customer();
await harness.accounts.grant(ann.account_id, { credits: 1_000, by: 'test' });
/** Each test has an address of its own. */
let client: OAuthClient;
beforeEach(() => {
  client = new OAuthClient(harness);
});

const answerOf = (location: string) => Object.fromEntries(new URL(location).searchParams);

/** Parameters without one of them. */
const without = (parameters: Record<string, string>, name: string) =>
  Object.fromEntries(Object.entries(parameters).filter(([other]) => other !== name));

describe('an answer goes nowhere but where the client stated', () => {
  it.each([
    ...['https://evil.test/callback', `${CALLBACK}/`, `${CALLBACK}?next=1`, `${CALLBACK}#x`],
    ...[`${CALLBACK}/../evil`, 'https://host.test:444/callback', 'https://host.test.evil.test/callback'],
    ...['http://host.test/callback', '//host.test/callback', ''],
    ...['https://host.test@evil.test/callback', 'HTTPS://HOST.test/callback', ` ${CALLBACK}`],
    ...['https://host.test\\@evil.test/callback', 'javascript:alert(1)//host.test/callback'],
  ])('%j', async (redirect_uri) => {
    const { parameters } = await client.begin();
    // With something else wrong too: that would be told by a redirect.
    for (const more of [{}, { response_type: 'token' }]) {
      const { status, location } = await client.authorize({ ...parameters, ...more, redirect_uri });
      expect([status, location]).toEqual([422, '']);
    }
  });

  it('and not to an unknown client, nor to two of anything', async () => {
    const { parameters } = await client.begin();
    const twice = `${new URLSearchParams(parameters)}&redirect_uri=https://evil.test/`;
    for (const sent of [
      ...[{ ...parameters, client_id: 'cli_unknown' }, without(parameters, 'client_id'), twice],
      ...[without(parameters, 'redirect_uri'), { ...parameters, state: 'x'.repeat(2_001) }],
    ])
      expect(await client.authorize(sent)).toEqual({ status: 422, location: '' });
  });

  it.each([
    ['http://127.0.0.1/cb', 'http://127.0.0.1:49152/cb', true],
    ['http://localhost:8080/cb', 'http://localhost:9/cb', true],
    ['http://[::1]:1/cb?a=1', 'http://[::1]/cb?a=1', true],
    ['http://127.0.0.1/cb', 'http://localhost/cb', false],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:1/other', false],
    ['http://localhost/cb', 'http://localhost:80.evil.test/cb', false],
    ['http://localhost/cb', 'http://localhost:1@evil.test/cb', false],
    ['http://localhost/cb', 'https://localhost:1/cb', false],
    ['https://localhost/cb', 'https://localhost:1/cb', false],
    ['http://127.0.0.2/cb', 'http://127.0.0.2/cb', false],
    ['cursor://app/cb', 'cursor://app/cb', true],
    ['cursor://app/cb', 'cursor://app:1/cb', false],
  ])('stated %s, asked %s: %s', (stated, asked, matches) => {
    expect(matchesRedirect(stated, asked)).toBe(matches);
  });

  it.each([
    ...['http://host.test/callback', 'javascript:alert(1)', 'javascript://host.test/%0aalert(1)'],
    ...['data://x/,y', 'file:///etc/passwd', 'https://host.test/#x', 'https://user:word@host.test/'],
    ...['callback', 'mailto:a@b.test', 'https://host.test/\tcallback', 'intent://x/#Intent;end'],
    ...['vbscript://x', `https://host.test/${'x'.repeat(2_000)}`],
  ])('%j cannot be stated', async (redirect_uri) => {
    const { status, json } = await client.register({ redirect_uris: [CALLBACK, redirect_uri] });
    expect([status, json.error]).toEqual([400, 'invalid_redirect_uri']);
  });
});

describe('every answer to a client names this server', () => {
  it.each([
    ['response_type', 'token', 'unsupported_response_type'],
    ['code_challenge_method', 'plain', 'invalid_request'],
    ['code_challenge_method', '', 'invalid_request'],
    ['code_challenge', '', 'invalid_request'],
    ['code_challenge', 'x'.repeat(44), 'invalid_request'],
    ['resource', '', 'invalid_target'],
    ['resource', harness.url, 'invalid_target'],
    ['resource', `${harness.url}/mcp/`, 'invalid_target'],
    ['resource', `${harness.url}/v1`, 'invalid_target'],
    ['resource', 'https://evil.test/mcp', 'invalid_target'],
  ])('%s=%s', async (name, value, error) => {
    const { parameters } = await client.begin();
    const changed = value === '' ? without(parameters, name) : { ...parameters, [name]: value };
    const { location } = await client.authorize(changed);
    expect(location.startsWith(`${CALLBACK}?`)).toBe(true);
    expect(answerOf(location)).toMatchObject({ error, state: parameters.state, iss: harness.url });
    expect(answerOf(location).code).toBeUndefined();
  });

  it('two resources are no resource', async () => {
    const { parameters } = await client.begin();
    const twice = `${new URLSearchParams(parameters)}&resource=https://evil.test/`;
    expect(answerOf((await client.authorize(twice)).location).error).toBe('invalid_target');
  });

  it('a code of another server is none of ours, nor is our code of another', async () => {
    const { pending, code } = await client.codeFrom(ann);
    const elsewhere = new OAuthClient(local);
    const resource = `${local.url}/mcp`;
    expect((await elsewhere.redeem(pending, code, { resource })).json.error).toBe('invalid_grant');
    expect((await client.redeem(pending, code, { resource })).json.error).toBe('invalid_target');
    expect((await client.redeem(pending, code)).status).toBe(200);
  });
});

describe('codes', () => {
  it('one that is stolen is of no use, and its owner can still redeem it', async () => {
    const [pending, thief] = [await client.begin(), await client.begin()];
    const code = (await client.allow(ann, pending)).get('code') ?? '';
    const challenge = pending.parameters.code_challenge ?? '';
    const forged = `${code.slice(0, -2)}${code.endsWith('AA') ? 'BB' : 'AA'}`;
    for (const attempt of [
      client.redeem(thief, code),
      client.redeem({ ...pending, verifier: thief.verifier }, code),
      client.redeem({ ...pending, verifier: challenge }, code),
      client.redeem({ ...thief, verifier: pending.verifier }, code),
      client.redeem(pending, code, { redirect_uri: 'https://evil.test/callback' }),
      client.redeem(pending, forged),
    ])
      expect((await attempt).json.error).toBe('invalid_grant');
    expect((await client.redeem(pending, code, { code_verifier: '' })).json.error).toBe('invalid_request');
    expect((await client.redeem(pending, code)).status).toBe(200);
  });

  it('one that comes again ends what it gave', async () => {
    const given = await client.connect(ann);
    expect(chargedBy(await client.figure(given.access_token))).toBe(1);
    expect((await client.redeem(given, given.code)).json.error).toBe('invalid_grant');
    const { json } = await client.figure(given.access_token);
    expect(json.result.structuredContent.error.code).toBe('invalid_key');
    expect((await client.refresh(given.client_id, given.refresh_token)).json.error).toBe('invalid_grant');
    const all = await connections.list(ann.account_id);
    const { ended_because } = all.find((one) => one.connection_id === given.connection_id) ?? {};
    expect(ended_because).toBe('code_replayed');
    const { entries } = await harness.context.audit.page({ subject: `account ${ann.account_id}` });
    expect(entries[0]).toMatchObject({ action: 'connection.end', after: { ended_because: 'code_replayed' } });
  });

  it('of ten that are sent at once, one is redeemed and the connection ends', async () => {
    const { pending, code } = await client.codeFrom(ann);
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.redeem(pending, code)));
    const [given, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    const { json } = await client.figure(given?.json.access_token);
    expect(json.result.structuredContent.error.code).toBe('invalid_key');
  });
});

describe('tokens', () => {
  it('one for /mcp opens nothing else, whatever costs nothing included', async () => {
    const { access_token } = await client.connect(ann);
    const headers = { authorization: `Bearer ${access_token}` };
    for (const path of [
      '/v1/ping',
      '/v1/indicators',
      '/data/api/v1/usage',
      '/v1/rankings/alpha.life_expectancy',
    ]) {
      const { status, json } = await client.send(path, { headers });
      expect([path, status, json.error.code]).toEqual([path, 401, 'invalid_key']);
      expect(json.error.message).toContain('/mcp');
    }
    expect(chargedBy(await client.figure(access_token))).toBe(1);
  });

  it('a refresh token and a code are no credentials of calls', async () => {
    const { refresh_token, code } = await client.connect(ann);
    for (const token of [refresh_token, code])
      expect((await client.figure(token)).json.result.structuredContent.error.code).toBe('invalid_key');
  });

  it.each([
    ['resource', undefined, 'invalid_target'],
    ['resource', 'https://evil.test/mcp', 'invalid_target'],
    ['client_id', undefined, 'invalid_request'],
    ['grant_type', undefined, 'unsupported_grant_type'],
    ['grant_type', 'password', 'unsupported_grant_type'],
  ])('%s=%s is refused for codes and refreshes', async (name, value, error) => {
    const { pending, code } = await client.codeFrom(ann);
    const { refresh_token } = await client.connect(ann);
    const resource = `${harness.url}/mcp`;
    const { client_id, verifier: code_verifier } = pending;
    for (const fields of [
      { grant_type: 'authorization_code', code, client_id, code_verifier, resource },
      { grant_type: 'refresh_token', refresh_token, client_id, resource },
    ]) {
      const sent = value === undefined ? without(fields, name) : { ...fields, [name]: value };
      const { status, json } = await client.token(sent);
      expect([status, json.error]).toEqual([400, error]);
    }
  });
});

describe('client documents', () => {
  let connected = 0;
  const documents: Record<string, (id: string) => [status: number, body: string, headers?: object]> = {
    '/good.json': (id) => [200, document(id)],
    '/other-id.json': (id) => [200, document(`${id}?`)],
    '/moved.json': (id) => [302, document(id), { location: '/good.json' }],
    '/missing.json': (id) => [404, document(id)],
    '/large.json': (id) => [200, document(id, { more: 'x'.repeat(8_192) })],
    '/text.json': () => [200, 'no JSON'],
    '/empty.json': (id) => [200, document(id, { redirect_uris: [] })],
    '/unsafe.json': (id) => [200, document(id, { redirect_uris: [CALLBACK, 'javascript://x/'] })],
    '/secret.json': (id) => [200, document(id, { token_endpoint_auth_method: 'private_key_jwt' })],
  };
  const document = (client_id: string, more = {}) =>
    JSON.stringify({ client_id, client_name: 'A \u202ehost\n', redirect_uris: [CALLBACK], ...more });
  const server: Server = createServer((request, reply) => {
    const [status, body, headers] = documents[request.url ?? '']?.(url(request.url)) ?? [404, ''];
    reply.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  });
  server.on('connection', () => {
    connected += 1;
  });
  const url = (path = '') => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const listening = new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => server.close());

  it('one that is in order makes its host a client, by its own address', async () => {
    await listening;
    const visitor = new OAuthClient(local);
    const { parameters } = await visitor.begin(url('/good.json'));
    const { location } = await visitor.authorize(parameters);
    const request = await local.context.authorizations.find(location.split('/').at(-1) ?? '');
    expect(request?.client).toMatchObject({ kind: 'document', name: 'A host' });
    expect(request?.host).toBe(new URL(url()).host);
  });

  it('is asked for once in ten minutes', async () => {
    await listening;
    const visitor = new OAuthClient(local);
    let asked = 0;
    documents['/counted.json'] = (id) => {
      asked += 1;
      return [200, document(id)];
    };
    const { parameters } = await visitor.begin(url('/counted.json'));
    for (const ms of [0, 599_999, 1, 0]) {
      local.clock.ms += ms;
      expect((await visitor.authorize(parameters)).status).toBe(303);
    }
    expect(asked).toBe(2);
  });

  it.each(Object.keys(documents).filter((path) => path !== '/good.json'))('%s is refused', async (path) => {
    await listening;
    const visitor = new OAuthClient(local);
    const { parameters } = await visitor.begin(url(path));
    expect(await visitor.authorize(parameters)).toEqual({ status: 422, location: '' });
  });

  it.each([
    'https://127.0.0.1',
    'https://localhost',
    'https://[::1]',
    'https://[::ffff:127.0.0.1]',
    'http://127.0.0.1',
  ])('nothing is connected to at %s', async (origin) => {
    await listening;
    connected = 0;
    const { port } = new URL(url());
    const { parameters } = await client.begin(`${origin}:${port}/good.json`);
    expect(await client.authorize(parameters)).toEqual({ status: 422, location: '' });
    expect(connected).toBe(0);
  });

  it.each([
    ['https://host.test/', 'has no path'],
    ...[
      ...['https://host.test', 'https://HOST.test/a', 'https://host.test/a/../b', 'http://host.test/a'],
      ...['https://user@host.test/a', 'https://host.test/a#b', 'ftp://host.test/a'],
    ].map((id) => [id, 'is no plain https address']),
  ])('%s is no id: it %s', async (id, reason) => {
    const { parameters } = await client.begin(id);
    const { status, json } = await client.send(`/account/connect?${new URLSearchParams(parameters)}`);
    expect(status).toBe(422);
    expect(json).toContain(reason);
  });
});

describe('registrations within an hour', () => {
  const HOUR_MS = 3_600_000;
  const AT_ONCE = 20;
  /** @returns how many were taken */
  const register = async (all: number, address: (sent: number) => string): Promise<number> => {
    let made = 0;
    for (let sent = 0; sent < all; sent += AT_ONCE) {
      const answers = Array.from({ length: AT_ONCE }, (_, more) => {
        const one = new OAuthClient(harness);
        one.headers['x-forwarded-for'] = address(sent + more);
        return one.register();
      });
      made += (await Promise.all(answers)).filter(({ status }) => status === 201).length;
      harness.clock.ms += (HOUR_MS * AT_ONCE) / all;
    }
    return made;
  };

  it('are not taken from one address, but for a few', async () => {
    expect(await register(300, () => '10.66.0.1')).toBeLessThanOrEqual(30);
  });

  it('nor from hundreds of addresses', async () => {
    expect(await register(600, (sent) => `10.67.${sent >> 8}.${sent & 255}`)).toBeLessThanOrEqual(401);
  });
});

it('requests of clients are throttled before a document is fetched or a record is written', async () => {
  const flood = new OAuthClient(harness);
  const { parameters } = await flood.begin();
  const statuses = [];
  for (let sent = 0; sent < 70; sent++) statuses.push((await flood.authorize(parameters)).status);
  expect(statuses.filter((status) => status === 303)).toHaveLength(60);
  expect(statuses.slice(60).every((status) => status === 429)).toBe(true);
});
