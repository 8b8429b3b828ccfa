/**
 * Hosts made of the official clients, given nothing but the address of the service: a person signs in and allows them in a real
 * browser, a question is paid, tokens are refreshed, and the connection ends. Beside them what the conformance suite asks of an
 * authorization server, and a site that frames the page.
 */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import tls from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { startAdminOn } from '../admin/harness.ts';
import { useDirectory } from '../after-tests.ts';
import { freePort } from '../free-ports.ts';
import { Host, type Said } from '../gateway/api/mcp/connecting-host.ts';
import { CONFORMANCE, CONFORMANCE_PROGRAM } from '../gateway/api/mcp/official-packages.ts';
import { OAuthClient } from '../gateway/commerce/oauth-client.ts';
import { PASSWORD, useAccountPages } from '../gateway/commerce/pages/harness.ts';
import { installNodePackages } from '../node-packages.ts';
import { useRedis } from '../redis.ts';
import { startSite, useBrowser } from './browser.ts';
import { inspect, signIn, signInHere, walker } from './page-checks.ts';

const HOUR_MS = 3_600_000;
const QUESTION = { name: 'get_data', args: { indicators: ['alpha.life_expectancy'], countries: ['Kenya'] } };
const NAME = 'Fact desk';

const redis = await useRedis();
const harness = await useAccountPages({
  redis,
  port: await freePort(),
  settings: { WEBHOOK_PRIVATE_TARGETS: 'true' },
});
const ann = await harness.customer('Ann');
const client_url = await publishClient();
const browser = await useBrowser();
const page = await browser.context.newPage();
const { link, go, press, open, shows, heading, fill } = walker(page, harness.url);

/** Publishes the document of a client at an https address of its own, which this process trusts. */
async function publishClient(): Promise<string> {
  const directory = await useDirectory();
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(directory, name));
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', `${key}`, '-out', `${cert}`, ...names], {
    stdio: 'ignore',
  });
  const pem = readFileSync(`${cert}`, 'utf8');
  const trusted = tls.getCACertificates('default');
  tls.setDefaultCACertificates([...trusted, pem]);
  let client_id = '';
  const server = createServer({ key: readFileSync(`${key}`), cert: pem }, (_request, response) => {
    response.setHeader('content-type', 'application/json');
    const redirect_uris = ['http://127.0.0.1/callback'];
    response.end(
      JSON.stringify({ client_id, client_name: NAME, redirect_uris, token_endpoint_auth_method: 'none' }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  afterAll(() => {
    tls.setDefaultCACertificates(trusted);
    server.close();
  });
  client_id = `https://localhost:${(server.address() as AddressInfo).port}/client.json`;
  return client_id;
}

/** Where a host sends a person. */
function openedBy(said: Said): string {
  expect(said).toEqual({ open: expect.stringContaining(`${harness.url}/account/connect?`) });
  return said.open ?? '';
}

/** Opens a page; signs in where that is asked. Sessions are shorter than the lifetime of a token. */
async function openSignedIn(url: string): Promise<void> {
  await page.goto(url);
  if (await page.getByLabel('Password').isVisible()) await signInHere(page, ann.email, PASSWORD);
}

/** Goes where a host sends a person. */
async function visit(url: string, shot: string): Promise<void> {
  await openSignedIn(url);
  await heading(/^Connect /, shot);
}

const mcp = `${harness.url}/mcp`;

describe('a host made of an official client is connected from the address alone', () => {
  it.each([
    ['TypeScript, version 2, by its document', '2026-07-28', () => Host.inTypeScript('2', mcp, client_url)],
    ['TypeScript, version 1, registered', '2025-11-25', () => Host.inTypeScript('1', mcp)],
    ['Python, newest revision, registered', '2026-07-28', () => Host.inPython('auto', mcp)],
    ['Python, by handshake, by its document', '2025-11-25', () => Host.inPython('legacy', mcp, client_url)],
  ])('%s', async (what, revision, start) => {
    await using host = await start();
    const isDocument = what.endsWith('by its document');
    const shot = `connect-${what.replaceAll(/\W+/g, '-').toLowerCase()}`;
    const balance = () => harness.balance(ann.account_id);
    const before = await balance();
    expect(await host.next()).toEqual({ connected: revision });

    await visit(openedBy(await host.ask(QUESTION)), shot);
    const main = page.getByRole('main');
    await main.getByText(isDocument ? new URL(client_url).host : 'nothing proves who made it').waitFor();
    await fill({ 'At most': '2' });
    await page.getByLabel('Until').selectOption('30 days from now');
    await press('Allow');
    await heading('Back in the host');
    const first = await host.next();
    expect(first).toMatchObject({ answer: { outcome: 'answer', credits: { charged: 1 } } });
    expect(first.client_id?.startsWith('https:')).toBe(isDocument);
    expect(await balance()).toBe(before - 1);

    harness.clock.ms += HOUR_MS;
    const second = await host.ask(QUESTION, true);
    expect(second).toMatchObject({
      isRefreshed: true,
      answer: { outcome: 'answer', credits: { charged: 1 } },
    });
    expect(await balance()).toBe(before - 2);
    // The limit of the month, which the person chose.
    expect((await host.ask(QUESTION)).answer?.outcome).toBe('error');
    expect(await balance()).toBe(before - 2);

    await openSignedIn(`${harness.url}/account/connections`);
    await page.getByText('2 of 2').first().waitFor();
    await inspect(page, 'connect-connections');
    await link(/^End /).first().click();
    await inspect(page, 'connect-end');
    await press('End connection');
    await shows(`The connection of ${NAME} has ended.`);

    await openSignedIn(openedBy(await host.ask(QUESTION)));
    await press('Deny');
    await heading('Back in the host');
    expect((await host.next()).failed).toContain('access_denied');
    expect(await balance()).toBe(before - 2);
  });
});

it('warns of a name that belongs to somebody else, and shows what is wrong with a limit', async () => {
  const client = new OAuthClient(harness);
  const redirect_uris = ['https://host.test/callback'];
  const { json } = await client.register({ client_name: 'Сlaude', redirect_uris });
  const { parameters } = await client.begin(json.client_id);
  await visit(`${harness.url}/account/connect?${new URLSearchParams(parameters)}`, 'connect-warning');
  await shows('looks like Claude of claude.ai');
  await fill({ 'At most': 'none' });
  await press('Allow');
  await shows('The monthly limit is a whole number', 'connect-refused');
});

it('is refused in a frame', async () => {
  const client = new OAuthClient(harness);
  const { parameters } = await client.begin();
  const { location } = await client.authorize(parameters);
  await using site = await startSite(`<iframe src="${harness.url}${location}"></iframe>`);
  const other = await browser.context.newPage();
  const refusals: string[] = [];
  other.on('console', (message) => refusals.push(message.text()));
  await other.goto(site.url);
  await expect.poll(() => refusals.join(' ')).toMatch(/frame-ancestors|X-Frame-Options/);
  await expect
    .poll(() => other.frames().map((frame) => frame.url().split(':')[0]))
    .toEqual(['http', 'chrome-error']);
  await other.close();
});

it('passes what the conformance suite asks of an authorization server', async () => {
  const client = new OAuthClient(harness);
  const redirect_uris = ['http://127.0.0.1/callback'];
  const { json } = await client.register({ client_name: 'Conformance suite', redirect_uris });
  const program = join(await installNodePackages(CONFORMANCE), CONFORMANCE_PROGRAM);
  const options = ['--url', harness.url, '--resource', mcp, '--client-id', json.client_id];
  const suite = spawn(process.execPath, [
    program,
    'authorization',
    ...options,
    '--port',
    `${await freePort()}`,
  ]);
  const lines: string[] = [];
  for await (const line of createInterface({ input: suite.stdout })) {
    lines.push(line);
    if (!line.startsWith(`${harness.url}/account/connect?`)) continue;
    await visit(line, 'connect-conformance');
    await press('Allow');
    await shows('You can close this page');
  }
  const results = lines.filter((line) => /^[✓✗]/.test(line));
  expect(results).toEqual([
    expect.stringMatching(/^✓ authorization-server-metadata-endpoint: 2 passed, 0 failed/),
    expect.stringMatching(/^✓ authorization-code-grant: 1 passed, 0 failed/),
  ]);
});

it('is seen and ended by an operator', async () => {
  const client = new OAuthClient(harness);
  const { access_token, connection_id } = await client.connect(ann);
  const own = { url: redis.url, connect: () => redis.connect(), stop: async () => {} };
  await using area = await startAdminOn(own);
  await area.signedIn();
  await signIn(page, area.url, 'operator@example.org');
  await go(`${area.url}/admin/users/${ann.account_id}`, 'connect-admin-account');
  await open(new RegExp(`^End….*${connection_id}`), 'connect-admin-end');
  await fill({ Reason: 'It was reported to us.' });
  await press('End connection');
  await shows('The connection has ended.');
  expect((await client.figure(access_token)).status).toBe(401);
});
