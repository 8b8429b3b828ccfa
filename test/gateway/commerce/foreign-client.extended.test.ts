/** Connections as a library sees them that holds servers to the standards, and refuses what deviates: `oauth4webapi`. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { installNodePackages } from '../../node-packages.ts';
import { CALLBACK, chargedBy, OAuthClient } from './oauth-client.ts';
import { useAccountPages } from './pages/harness.ts';

const modules = await installNodePackages(['oauth4webapi@3.8.8']);
const oauth = await import(join(modules, 'oauth4webapi/build/index.js'));
const harness = await useAccountPages();
const person = await harness.customer();
await harness.accounts.grant(person.account_id, { credits: 100, by: 'test' });

const insecure = { [oauth.allowInsecureRequests]: true };
const resource = `${harness.url}/mcp`;

async function discover() {
  const url = new URL(resource);
  const said = await oauth.resourceDiscoveryRequest(url, insecure);
  const { authorization_servers } = await oauth.processResourceDiscoveryResponse(url, said);
  const issuer = new URL(authorization_servers[0]);
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
  return oauth.processDiscoveryResponse(issuer, found);
}

it('discovers, registers, is allowed, refreshes and revokes, and refuses an answer of another server', async () => {
  const server = await discover();
  const registered = await oauth.dynamicClientRegistrationRequest(
    server,
    { client_name: 'Foreign', redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' },
    insecure,
  );
  const client = await oauth.processDynamicClientRegistrationResponse(registered);
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const parameters = {
    client_id: client.client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    resource,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  const wire = new OAuthClient(harness);
  const answer = await wire.allow(person, { client_id: client.client_id, verifier, parameters });
  const other = { ...server, issuer: 'https://other.test' };
  expect(() => oauth.validateAuthResponse(other, client, answer, state)).toThrow('"iss"');

  const valid = oauth.validateAuthResponse(server, client, answer, state);
  const options = { additionalParameters: { resource }, ...insecure };
  const redeemed = await oauth.authorizationCodeGrantRequest(
    ...[server, client, oauth.None(), valid, CALLBACK, verifier, options],
  );
  const first = await oauth.processAuthorizationCodeResponse(server, client, redeemed);
  expect(chargedBy(await wire.figure(first.access_token))).toBe(1);

  const refreshed = await oauth.refreshTokenGrantRequest(
    ...[server, client, oauth.None(), first.refresh_token, options],
  );
  const next = await oauth.processRefreshTokenResponse(server, client, refreshed);
  expect(chargedBy(await wire.figure(next.access_token))).toBe(1);

  const revoked = await oauth.revocationRequest(server, client, oauth.None(), next.access_token, insecure);
  await oauth.processRevocationResponse(revoked);
  const headers = new Headers({ 'content-type': 'application/json', accept: 'application/json' });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const asked = oauth.protectedResourceRequest(
    ...[next.access_token, 'POST', new URL(resource), headers, body, insecure],
  );
  const challenged = await asked.catch(
    (error: { cause?: { scheme: string; parameters: object }[] }) => error.cause,
  );
  expect(challenged[0]).toMatchObject({ scheme: 'bearer', parameters: { error: 'invalid_token' } });
});
