/** Connections over HTTP: discovery, codes, tokens, refresh and the end of a connection, and what metering makes of them. */
import { expect, it } from 'vitest';
import { stopAfterTests } from '../../after-tests.ts';
import { chargedBy, OAuthClient } from './oauth-client.ts';
import { startAccountPages } from './pages/harness.ts';

const harness = await stopAfterTests(startAccountPages());

async function rich(credits = 1_000) {
  const customer = await harness.customer();
  await harness.accounts.grant(customer.account_id, { credits, by: 'test' });
  return customer;
}

it('a host finds its way from the address alone, and a figure costs what a key pays', async () => {
  const client = new OAuthClient(harness);
  const ann = await rich();
  const { json: resource } = await client.send('/.well-known/oauth-protected-resource/mcp');
  expect(resource).toMatchObject({ resource: `${harness.url}/mcp`, authorization_servers: [harness.url] });
  const { json: server } = await client.send('/.well-known/oauth-authorization-server');
  expect(server.issuer).toBe(harness.url);

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
  const [connection] = await harness.context.connections.list(ann.account_id);
  expect(byToken?.cause).toMatchObject({ key_id: connection?.connection_id, route: 'mcp:get_data' });
  const { id: _one, cause: _by, balance: _then, ...rest } = byKey ?? {};
  expect(byToken).toMatchObject(rest);
  expect(connection).toMatchObject({ state: 'active', month_credits: 1, client_name: 'Test host' });
});

it('a refresh gives the next pair; a repeat within seconds the same, a later one ends the connection', async () => {
  const client = new OAuthClient(harness);
  const ann = await rich();
  const first = await client.connect(ann);
  const second = await client.refresh(first.client_id, first.refresh_token);
  const repeat = await client.refresh(first.client_id, first.refresh_token);
  expect(repeat.json).toEqual(second.json);
  expect(chargedBy(await client.figure(second.json.access_token))).toBe(1);
  expect((await client.refresh(first.client_id, second.json.refresh_token)).status).toBe(200);

  const other = await client.connect(ann);
  const used = other.refresh_token;
  const next = (await client.refresh(other.client_id, used)).json;
  harness.clock.ms += 31_000;
  expect((await client.refresh(other.client_id, used)).json.error).toBe('invalid_grant');
  expect((await client.refresh(other.client_id, next.refresh_token)).json.error).toBe('invalid_grant');
  expect((await client.figure(next.access_token)).json.result.structuredContent.error.code).toBe(
    'invalid_key',
  );
});
