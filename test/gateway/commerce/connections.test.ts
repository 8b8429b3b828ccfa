/** Connections over HTTP: discovery, codes, tokens, refresh and the end of a connection, and what metering makes of them. */
import { randomBytes } from 'node:crypto';
import type { Command } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { ConnectionStore } from '../../../gateway/commerce/connections/connection-store.ts';
import { CALLBACK, chargedBy, OAuthClient, type Tokens } from './oauth-client.ts';
import { useAccountPages } from './pages/harness.ts';

const harness = await useAccountPages();
const { connections, members } = harness.context;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let client: OAuthClient;
beforeEach(() => {
  client = new OAuthClient(harness);
});

async function rich(credits = 1_000) {
  const customer = await harness.customer();
  await harness.accounts.grant(customer.account_id, { credits, by: 'test' });
  return customer;
}

/** A member of an account beside its owner. */
async function join(owner: Awaited<ReturnType<typeof rich>>) {
  const member = await harness.customer('Bob');
  const { account_id, person_id: by } = owner;
  const { invitation_id } = await members.invite(account_id, { email: member.email, role: 'developer', by });
  await members.accept(account_id, invitation_id, member.person_id);
  return { account_id, person_id: member.person_id, by };
}

async function stateOf({ account_id }: { account_id: string }, connection_id: string) {
  const found = (await connections.list(account_id)).find((one) => one.connection_id === connection_id);
  return [found?.state, found?.ended_because];
}

/** The code of a call that is refused with 401; undefined for any other. */
async function errorOf(token: string): Promise<string | undefined> {
  const { status, json } = await client.figure(token);
  return status === 401 ? json.result.structuredContent.error.code : undefined;
}

/** Nothing that a connection gave is of use any more. */
async function expectOver({ client_id, access_token, refresh_token }: Tokens & { client_id: string }) {
  expect(await errorOf(access_token)).toBe('invalid_key');
  expect((await client.refresh(client_id, refresh_token)).json.error).toBe('invalid_grant');
}

it('a host finds its way from the address alone, and a figure costs what a key pays', async () => {
  const ann = await rich();
  const refused = await client.figure(null);
  expect(refused.status).toBe(401);
  const [, named = ''] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  const { pathname } = new URL(named);
  for (const path of [pathname, pathname.replace(/\/mcp$/, '')]) {
    const { json: resource } = await client.send(path);
    expect(resource).toMatchObject({ resource: `${harness.url}/mcp`, authorization_servers: [harness.url] });
  }
  const { json: server } = await client.send('/.well-known/oauth-authorization-server');
  expect(server).toMatchObject({
    issuer: harness.url,
    token_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });

  const pending = await client.begin();
  const answer = await client.allow(ann, pending);
  expect([answer.get('state'), answer.get('iss')]).toEqual(['a state & more', server.issuer]);
  const given = await client.redeem(pending, answer.get('code') ?? '');
  expect(given.headers.get('cache-control')).toBe('no-store');
  expect(given.json).toMatchObject({ token_type: 'Bearer', expires_in: 3_600, scope: 'read' });

  const before = await harness.balance(ann.account_id);
  expect(chargedBy(await client.figure(given.json.access_token))).toBe(1);
  const { key } = await harness.accounts.keys.mint(ann.account_id);
  expect(chargedBy(await client.figure(key))).toBe(1);
  expect(await harness.balance(ann.account_id)).toBe(before - 2);
  const [byKey, byToken] = await harness.accounts.ledger(ann.account_id);
  const [connection] = await connections.list(ann.account_id);
  expect(byToken?.cause).toMatchObject({ key_id: connection?.connection_id, route: 'mcp:get_data' });
  const { kind, delta, reason } = byKey ?? {};
  expect(byToken).toMatchObject({ kind, delta, reason });
  expect(connection).toMatchObject({ state: 'active', month_credits: 1, client_name: 'Test host' });
});

it('stands beside the keys of the account, not among them', async () => {
  const ann = await rich();
  const before = await harness.accounts.keys.list(ann.account_id);
  await client.connect(ann);
  for (let made = before.length; made < 10; made++) await harness.accounts.keys.mint(ann.account_id);
  expect(await harness.accounts.keys.list(ann.account_id)).toHaveLength(10);
  expect(await connections.list(ann.account_id)).toHaveLength(1);
});

it('a monthly limit of seven lets seven of forty calls through that are made at once', async () => {
  const ann = await rich();
  const { access_token, connection_id } = await client.connect(ann, { monthly_limit: 7 });
  const before = await harness.balance(ann.account_id);
  const calls = await Promise.all(Array.from({ length: 40 }, () => client.figure(access_token)));
  expect(calls.filter((call) => chargedBy(call) === 1)).toHaveLength(7);
  const codes = calls.map(({ json }) => json.result.structuredContent.error?.code);
  expect(codes.filter((code) => code === 'insufficient_credits')).toHaveLength(33);
  expect(await harness.balance(ann.account_id)).toBe(before - 7);
  expect((await connections.list(ann.account_id))[0]).toMatchObject({ connection_id, month_credits: 7 });
});

it('a charge that is taken back counts no longer for the limit', async () => {
  const { account_id, person_id } = await rich();
  const { access_token } = await client.connect({ account_id, person_id });
  const key = await harness.metering.resolveKey(`Bearer ${access_token}`);
  if (key === null) throw new Error('the token is not known');
  const source = { address: () => '192.0.2.1', origin: () => undefined };
  const asked = { key, source, route: 'mcp:get_data', price: 5, rows: 5, status: 200, request_id: 'lost' };
  const verdict = await harness.metering.admit(asked);
  if (verdict.kind !== 'admitted' || verdict.debit === null) throw new Error(verdict.kind);
  expect((await connections.list(account_id))[0]?.month_credits).toBe(5);
  await harness.metering.refund(verdict.debit);
  expect((await connections.list(account_id))[0]?.month_credits).toBe(0);
});

describe('time', () => {
  it('an access token ends after an hour, and a refresh gives the next', async () => {
    const ann = await rich();
    const first = await client.connect(ann);
    expect(chargedBy(await client.figure(first.access_token))).toBe(1);
    harness.clock.ms += HOUR_MS;
    expect(await errorOf(first.access_token)).toBe('invalid_key');
    const { json: next } = await client.refresh(first.client_id, first.refresh_token);
    expect(chargedBy(await client.figure(next.access_token))).toBe(1);
  });

  it('an access token that has ended hinders no other of its connection, however often it comes', async () => {
    const first = await client.connect(await rich());
    harness.clock.ms += HOUR_MS;
    const { json: next } = await client.refresh(first.client_id, first.refresh_token);
    for (let call = 0; call < 25; call++) await client.figure(first.access_token);
    expect(chargedBy(await client.figure(next.access_token))).toBe(1);
  });

  it('the connection ends with the day that the person chose', async () => {
    const ann = await rich();
    const first = await client.connect(ann, { days: 1 });
    harness.clock.ms += DAY_MS - HOUR_MS / 2;
    const { json: last } = await client.refresh(first.client_id, first.refresh_token);
    expect(last.expires_in).toBe(HOUR_MS / 2 / 1_000);
    harness.clock.ms += HOUR_MS / 2;
    expect(await errorOf(last.access_token)).toBe('invalid_key');
    expect((await client.refresh(first.client_id, last.refresh_token)).json.error).toBe('invalid_grant');
    expect(await stateOf(ann, first.connection_id)).toEqual(['expired', null]);
  });

  it('a code waits for a minute, and what nobody has taken up is forgotten', async () => {
    const ann = await rich();
    const { pending, code } = await client.codeFrom(ann);
    harness.clock.ms += 60_000;
    expect((await client.redeem(pending, code)).json.error).toBe('invalid_grant');
    const { connection_id } = await client.connect(ann);
    expect((await connections.list(ann.account_id)).map((one) => one.connection_id)).toEqual([connection_id]);
  });

  it('a registration expires within a day unless somebody connects', async () => {
    const pending = await client.begin();
    const left_ms = () => harness.redis.pttl(redisKeys.client(pending.client_id));
    expect(await left_ms()).toBeLessThanOrEqual(DAY_MS);
    await client.allow(await rich(), pending, { days: 366 });
    expect(await left_ms()).toBeGreaterThan(366 * DAY_MS);
  });
});

describe('refresh tokens', () => {
  it('a repeat within seconds gets the same answer, which works', async () => {
    const first = await client.connect(await rich());
    const { json: second } = await client.refresh(first.client_id, first.refresh_token);
    harness.clock.ms += 30_000;
    const { json: repeated } = await client.refresh(first.client_id, first.refresh_token);
    expect(repeated).toEqual(second);
    expect(chargedBy(await client.figure(second.access_token))).toBe(1);
    expect((await client.refresh(first.client_id, repeated.refresh_token)).status).toBe(200);
  });

  it('of many that are sent at once, all get the same', async () => {
    const first = await client.connect(await rich());
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => client.refresh(first.client_id, first.refresh_token)),
    );
    expect(new Set(answers.map(({ json }) => json.access_token)).size).toBe(1);
    expect(chargedBy(await client.figure(answers[0]?.json.access_token))).toBe(1);
  });

  it.each([
    ['the one before, later', 1, 31_000],
    ['one before that, at once', 2, 0],
    ['the first of many', 5, 0],
  ])('%s ends the connection', async (_name, uses, after_ms) => {
    const ann = await rich();
    const first = await client.connect(ann);
    let last = first.refresh_token;
    let access = first.access_token;
    for (let use = 0; use < uses; use++) {
      const { json } = await client.refresh(first.client_id, last);
      [last, access] = [json.refresh_token, json.access_token];
    }
    harness.clock.ms += after_ms;
    expect((await client.refresh(first.client_id, first.refresh_token)).json.error).toBe('invalid_grant');
    expect(await stateOf(ann, first.connection_id)).toEqual(['ended', 'refresh_reused']);
    expect((await client.refresh(first.client_id, last)).json.error).toBe('invalid_grant');
    expect(await errorOf(access)).toBe('invalid_key');
  });

  it('one that was never given ends nothing', async () => {
    const ann = await rich();
    const mine = await client.connect(ann);
    const other = await client.connect(ann);
    const [, family = '', secret = ''] = mine.refresh_token.split('.');
    const [, strange = ''] = other.refresh_token.split('.');
    for (const [id, tokens] of [
      [mine.client_id, `${mine.connection_id}.${strange}.${secret}`],
      [other.client_id, mine.refresh_token],
      [mine.client_id, `${other.connection_id}.${family}.${secret}`],
      [mine.client_id, mine.access_token],
    ] as const)
      expect((await client.refresh(id, tokens)).json.error).toBe('invalid_grant');
    expect((await client.refresh(mine.client_id, mine.refresh_token)).status).toBe(200);
  });
});

describe('the end of a connection counts from the next call on', () => {
  const ends: [string, string, (facts: { account_id: string; connection_id: string }) => Promise<unknown>][] =
    [
      ['by a person', 'person', (one) => connections.end(one.account_id, one.connection_id)],
      ['with its account', 'account_closed', (one) => harness.accounts.close(one.account_id)],
    ];
  it.each(ends)('%s', async (_name, because, end) => {
    const { account_id, person_id } = await rich();
    const given = await client.connect({ account_id, person_id });
    expect(chargedBy(await client.figure(given.access_token))).toBe(1);
    await end({ account_id, connection_id: given.connection_id });
    await expectOver(given);
    expect(await stateOf({ account_id }, given.connection_id)).toEqual(['ended', because]);
  });

  it.each(['access_token', 'refresh_token'] as const)('by its client, with the %s', async (kind) => {
    const ann = await rich();
    const given = await client.connect(ann);
    const other = await client.connect(ann);
    const secret = 'A'.repeat(43);
    for (const [id, token] of [
      [other.client_id, given[kind]],
      [given.client_id, `${given.connection_id}.${secret}.${secret}`],
    ] as const)
      expect((await client.revoke(id, token)).status).toBe(200);
    expect(chargedBy(await client.figure(given.access_token))).toBe(1);
    expect((await client.revoke(given.client_id, given[kind])).status).toBe(200);
    await expectOver(given);
    expect((await client.revoke(given.client_id, 'nothing')).status).toBe(200);
    expect(chargedBy(await client.figure(other.access_token))).toBe(1);
  });

  it.each([
    ['left', (one: Awaited<ReturnType<typeof join>>) => members.remove(one.account_id, one)],
    [
      'may no longer make keys',
      (one: Awaited<ReturnType<typeof join>>) => members.setRole(one.account_id, { ...one, role: 'viewer' }),
    ],
  ])('of a person who %s', async (_name, end) => {
    const ann = await rich();
    const bob = await join(ann);
    const [his, hers] = [await client.connect(bob), await client.connect(ann)];
    expect(chargedBy(await client.figure(his.access_token))).toBe(1);
    await end(bob);
    await expectOver(his);
    expect(await stateOf(ann, his.connection_id)).toEqual(['ended', 'left']);
    expect(chargedBy(await client.figure(hers.access_token))).toBe(1);
    await expect(client.allow(bob, await client.begin())).rejects.toThrow('Developers and the owner');
  });

  it('a suspended account is refused, and works again once restored', async () => {
    const { account_id, person_id } = await rich();
    const given = await client.connect({ account_id, person_id });
    const { pending, code } = await client.codeFrom({ account_id, person_id });
    await harness.accounts.suspend(account_id);
    await expectOver(given);
    expect((await client.redeem(pending, code)).json.error).toBe('invalid_grant');
    await harness.accounts.restore(account_id);
    expect(chargedBy(await client.figure(given.access_token))).toBe(1);
    expect((await client.refresh(given.client_id, given.refresh_token)).status).toBe(200);
  });
});

it('a lost reply of Redis changes nothing: a script that runs again has its effect once', async () => {
  const ann = await rich();
  // Loads the scripts: their replies are to be lost, not errors that they are unknown.
  const loaded = await client.connect(ann);
  await client.refresh(loaded.client_id, loaded.refresh_token);
  await connections.end(ann.account_id, loaded.connection_id);
  const { redis } = harness;
  const lost = new Set<unknown>();
  const losing = new Proxy(redis, {
    get(target, name) {
      if (name !== 'sendCommand') return Reflect.get(target, name);
      return (command: Command) => {
        const answered = target.sendCommand(command);
        if (command.name !== 'evalsha' || lost.has(command.args[0])) return answered;
        lost.add(command.args[0]);
        command.promise = command.promise.then(() => Promise.reject(new Error('Connection is closed.')));
        return command.promise;
      };
    },
  });
  const store = new ConnectionStore({ redis: losing, now: () => harness.clock.ms, random: randomBytes });
  const { client_id, verifier, parameters } = await client.begin();
  const { code, connection_id } = await store.create({
    account_id: ann.account_id,
    person_id: ann.person_id,
    client_id,
    client_name: 'Lost',
    host: 'host.test',
    monthly_limit: 10,
    expires_at_ms: harness.clock.ms + DAY_MS,
    redirect_uri: CALLBACK,
    challenge: parameters.code_challenge ?? '',
  });
  const first = await store.redeem({ code, client_id, redirect_uri: CALLBACK, verifier });
  expect(chargedBy(await client.figure(first?.access_token ?? ''))).toBe(1);
  const second = await store.refresh(first?.refresh_token ?? '', client_id);
  expect(chargedBy(await client.figure(second?.access_token ?? ''))).toBe(1);
  await store.end(ann.account_id, connection_id);
  expect(await stateOf(ann, connection_id)).toEqual(['ended', 'person']);
  expect(lost.size).toBe(4);
});

it('what Redis holds of codes and tokens opens nothing', async () => {
  const { account_id, person_id } = await rich();
  const given = await client.connect({ account_id, person_id });
  await client.refresh(given.client_id, given.refresh_token);
  const hash = await harness.redis.hgetall(redisKeys.connections(account_id));
  const stored = JSON.stringify([hash, await harness.allKeys()]);
  for (const text of [given.code, given.access_token, given.refresh_token])
    expect(stored).not.toContain(text.slice(-40));
});

it('an answer is given once', async () => {
  const ann = await rich();
  const { parameters } = await client.begin();
  const { authorizations } = harness.context;
  const { location } = await client.authorize(parameters);
  const request = await authorizations.find(location.split('/').at(-1) ?? '');
  if (request === null) throw new Error('there is no request');
  const denied = new URL(await authorizations.deny(request));
  expect(denied.origin + denied.pathname).toBe(CALLBACK);
  expect(Object.fromEntries(denied.searchParams)).toMatchObject({
    error: 'access_denied',
    state: parameters.state,
    iss: harness.url,
  });
  const terms = { monthly_limit: 1, expires_at_ms: harness.clock.ms + DAY_MS };
  await expect(authorizations.allow(request, { ...ann, ...terms })).rejects.toThrow('answered already');
  expect(await authorizations.find(request.request_id)).toBeNull();
});
