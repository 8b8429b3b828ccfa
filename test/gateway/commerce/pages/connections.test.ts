/** The page that asks whether a host may be connected, and the pages on which people and operators see and end connections. */
import { describe, expect, it } from 'vitest';
import { accountSubject } from '../../../../gateway/commerce/history/audit-log.ts';
import { startAdminOn, type Visitor, wordsOf } from '../../../admin/harness.ts';
import { useRedis } from '../../../redis.ts';
import { CALLS } from '../../api/mcp/calls.ts';
import { CALLBACK, chargedBy, OAuthClient, type Pending } from '../oauth-client.ts';
import { type Customer, PASSWORD, useAccountPages } from './harness.ts';
import { readExport } from './read-export.ts';

const DAY_MS = 86_400_000;
const PATH = '/account/connections';
const REASON = 'It was reported to us.';

const redis = await useRedis();
const harness = await useAccountPages({ redis });

interface Asked {
  client: OAuthClient;
  pending: Pending;
  path: string;
}

/** A host sends somebody to the page. */
async function ask(client_name = 'Notes', redirect = CALLBACK): Promise<Asked> {
  const client = new OAuthClient(harness);
  const { json } = await client.register({ client_name, redirect_uris: [redirect] });
  const pending = await client.begin(json.client_id);
  pending.parameters.redirect_uri = redirect;
  const { location } = await client.authorize(pending.parameters);
  return { client, pending, path: location };
}

const answer = (visitor: Visitor, path: string, fields: Record<string, string>) =>
  visitor.submit(path, path, { decision: 'allow', limit: '1000', days: '90', ...fields });

/** Allows it on the page. @returns the tokens of the host */
async function connect(
  { visitor, account_id }: Customer,
  name = 'Notes',
  fields: Record<string, string> = {},
) {
  const { client, pending, path } = await ask(name);
  const { location } = await answer(visitor, path, { account_id, ...fields });
  const code = new URL(location ?? '').searchParams.get('code') ?? '';
  const { json } = await client.redeem(pending, code);
  return { client, connection_id: code.split('.')[0] ?? '', access_token: String(json.access_token) };
}

/** Somebody else who is in the account. */
async function guestOf(owner: Customer, role: 'developer' | 'viewer' | 'billing'): Promise<Customer> {
  const guest = await harness.customer('Guest');
  const link = await harness.invite(owner, guest.email, role);
  await guest.visitor.submit(link, link, {});
  return { ...guest, account_id: owner.account_id };
}

describe('the page that asks', () => {
  it('names the host, who pays, for what and how much, and connects it as it was allowed', async () => {
    const ann = await harness.customer('Ann');
    const { client, pending, path } = await ask();
    const page = await ann.visitor.get(path);
    const balance = await harness.balance(ann.account_id);
    for (const words of [
      'Connect Notes',
      'host.test',
      ann.email,
      `${balance.toLocaleString('en')} credits`,
      'read figures, for 1 credit each',
      'It may do nothing else',
    ])
      expect(wordsOf(page)).toContain(words);
    expect(page.html).not.toContain('class="alarm"');
    expect(page.headers['content-security-policy']).toMatch(/form-action 'self' https:\/\/host\.test;/);
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");

    const made = harness.mailbox.next(ann.email, /A host was connected/);
    const sent = await answer(ann.visitor, path, { account_id: ann.account_id, limit: '7', days: '30' });
    const back = new URL(sent.location ?? '');
    expect([sent.status, back.origin, back.searchParams.get('iss')]).toEqual([
      303,
      'https://host.test',
      harness.url,
    ]);
    const { status } = await client.redeem(pending, back.searchParams.get('code') ?? '');
    expect(status).toBe(200);
    const [connection] = await harness.context.connections.list(ann.account_id);
    const { ms } = harness.clock;
    expect(connection).toMatchObject({
      person_id: ann.person_id,
      client_name: 'Notes',
      host: 'host.test',
      monthly_limit: 7,
      state: 'active',
      expires_at_ms: ms + 30 * DAY_MS,
    });
    const [entry] = await harness.context.audit.list({ subject: accountSubject(ann.account_id) });
    expect(entry).toMatchObject({
      action: 'connection.allow',
      by: `person ${ann.person_id}`,
      after: { connection_id: connection?.connection_id, monthly_limit: 7, expires_at_ms: ms + 30 * DAY_MS },
    });
    await harness.handlers.sweep({});
    expect((await made).text).toContain('Notes (host.test) can read figures and spend up to 7 credits');
    expect((await ann.visitor.get(path)).status).toBe(410);
  });

  it('sends the host away where it is denied', async () => {
    const ann = await harness.customer('Ann');
    const { pending, path } = await ask();
    const { location } = await ann.visitor.submit(path, path, { decision: 'deny' });
    const { searchParams } = new URL(location ?? '');
    expect([...searchParams.keys()].sort()).toEqual(['error', 'error_description', 'iss', 'state']);
    expect([searchParams.get('error'), searchParams.get('state')]).toEqual([
      'access_denied',
      pending.parameters.state,
    ]);
    expect(await harness.context.connections.list(ann.account_id)).toEqual([]);
  });

  it('asks somebody who is not signed in to do so first, and then stands where it stood', async () => {
    const ann = await harness.customer('Ann');
    const { path } = await ask();
    const visitor = harness.visitor();
    const page = await visitor.get(path);
    expect([page.status, page.html.includes(`name="next" value="${path}"`)]).toEqual([401, true]);
    const fields = { email: ann.email, password: PASSWORD, next: path };
    expect((await visitor.submit(path, '/account/sign-in', fields)).location).toBe(path);
    expect(wordsOf(await visitor.get(path))).toContain('Connect Notes');
  });

  const LOOKS = 'looks like Claude of claude.ai';
  const ANY = 'any program on it could have asked';
  const UNPROVED = ['but nothing proves that it is', ANY, 'unknown: nothing proves who made it'];
  it.each([
    ['a name of a known host', 'Claude', CALLBACK, [`${LOOKS}, but it belongs to host.test`]],
    ['a name that is written otherwise', 'Сlаude', CALLBACK, [LOOKS]],
    ['an answer on the device', 'Notes', 'http://127.0.0.1:4711/back', [ANY]],
    ['both', 'Claude Code', 'http://localhost/back', UNPROVED],
  ])('warns of %s', async (_what, name, redirect, warnings) => {
    const ann = await harness.customer('Ann');
    const { path } = await ask(name, redirect);
    const words = wordsOf(await ann.visitor.get(path));
    for (const warning of warnings) expect(words).toContain(warning);
  });

  it('warns of the name of a host that is connected already, and of another name not', async () => {
    const ann = await harness.customer('Ann');
    await connect(ann, 'Quarterly');
    const again = await ask('Quarterly');
    expect(wordsOf(await ann.visitor.get(again.path))).not.toContain('looks like');
    const imitator = await ask('quarter1y', 'https://evil.test/back');
    expect(wordsOf(await ann.visitor.get(imitator.path))).toContain(
      'looks like Quarterly of host.test, but it belongs to evil.test',
    );
    const local = await ask('Local notes', 'http://localhost/back');
    const { location } = await answer(ann.visitor, local.path, { account_id: ann.account_id });
    const code = new URL(location ?? '').searchParams.get('code') ?? '';
    const redirect_uri = 'http://localhost/back';
    expect((await local.client.redeem(local.pending, code, { redirect_uri })).status).toBe(200);
    const proved = await ask('Local notes');
    expect(wordsOf(await ann.visitor.get(proved.path))).not.toContain('looks like');
  });

  it('offers the accounts in which the person may make keys, and refuses any other', async () => {
    const ann = await harness.customer('Ann’s team');
    const bob = await harness.customer('Bob');
    const dev = await guestOf(ann, 'developer');
    const { path } = await ask();
    const words = wordsOf(await dev.visitor.get(path));
    expect(words).toContain(`Ann’s team (${ann.email})`);
    expect(words).toContain('Guest');
    for (const account_id of [bob.account_id, ''])
      expect((await answer(dev.visitor, path, { account_id })).status).toBe(409);
    for (const limit of ['', '0', 'many', '-5'])
      expect((await answer(dev.visitor, path, { account_id: ann.account_id, limit })).status).toBe(422);
    expect((await answer(dev.visitor, path, { account_id: ann.account_id })).status).toBe(303);
    const viewer = await guestOf(ann, 'viewer');
    const other = await ask();
    expect(wordsOf(await viewer.visitor.get(other.path))).not.toContain('Ann’s team (');
    expect((await answer(viewer.visitor, other.path, { account_id: ann.account_id })).status).toBe(409);
    expect(await harness.context.connections.list(bob.account_id)).toEqual([]);
  });
});

describe('connections of an account', () => {
  it('are seen and ended by who allowed them and by the owner, and by nobody else', async () => {
    const ann = await harness.customer('Ann');
    const [dev, other] = [await guestOf(ann, 'developer'), await guestOf(ann, 'developer')];
    const { client, connection_id, access_token } = await connect(dev, 'Notes');
    expect(chargedBy(await client.figure(access_token))).toBe(1);
    for (const { visitor } of [ann, dev]) {
      const words = wordsOf(await visitor.get(PATH));
      for (const word of ['Notes', 'host.test', dev.email, '1 of 1,000', 'active'])
        expect(words).toContain(word);
    }
    expect(wordsOf(await other.visitor.get(PATH))).toContain('No host is connected.');
    await harness.metering.flush();
    const usage = wordsOf(await ann.visitor.get('/account/usage'));
    expect(usage).toMatch(new RegExp(`${connection_id} ?Notes`));
    const end = `${PATH}/${connection_id}/end`;
    expect((await other.visitor.submit(PATH, end, {})).status).toBe(404);
    expect(chargedBy(await client.figure(access_token))).toBe(1);

    const told = harness.mailbox.next(dev.email, /A connection has ended/);
    expect((await ann.visitor.submit(end, end, {})).location).toBe(PATH);
    expect(chargedBy(await client.figure(access_token))).toBeUndefined();
    await harness.handlers.sweep({});
    expect((await told).text).toContain(`${ann.email}>, owner`);
    const [entry] = await harness.context.audit.list({ subject: accountSubject(ann.account_id) });
    expect(entry).toMatchObject({ action: 'connection.end', before: { connection_id, state: 'active' } });
  });

  it('end with the membership of who allowed them', async () => {
    const ann = await harness.customer('Ann');
    const dev = await guestOf(ann, 'developer');
    const { client, access_token } = await connect(dev);
    expect(chargedBy(await client.figure(access_token))).toBe(1);
    const remove = `/account/members/${dev.person_id}/remove`;
    expect(wordsOf(await ann.visitor.get(remove))).toContain('hosts that this person connected are refused');
    await ann.visitor.submit(remove, remove, { keys: 'keep' });
    expect(chargedBy(await client.figure(access_token))).toBeUndefined();
  });

  it('are told of where a refresh token came twice', async () => {
    const ann = await harness.customer('Ann');
    const client = new OAuthClient(harness);
    const { client_id, refresh_token } = await client.connect(ann);
    await client.refresh(client_id, refresh_token);
    harness.clock.ms += DAY_MS / 24;
    const told = harness.mailbox.next(ann.email, /A connection has ended/);
    expect((await client.refresh(client_id, refresh_token)).status).toBe(400);
    await harness.handlers.sweep({});
    const { text } = await told;
    expect(text).toContain('somebody may have copied it');
    expect(text).toContain('By: Almanac itself');
  });

  it('pay for every tool what a key pays, over HTTP as well, and stand alike in the ledger', async () => {
    const ann = await harness.customer('Ann');
    await harness.accounts.grant(ann.account_id, { credits: 1_000, by: 'test' });
    const client = new OAuthClient(harness);
    const { access_token, connection_id } = await client.connect(ann);
    const { key, key_id } = await harness.accounts.keys.mint(ann.account_id);
    const charged = async (name: string, credential: string) =>
      chargedBy(await client.message('tools/call', { name, arguments: CALLS[name] }, credential));
    for (const name of Object.keys(CALLS))
      expect([name, await charged(name, access_token)]).toEqual([name, await charged(name, key)]);
    const entries = (await harness.accounts.ledger(ann.account_id)).filter(({ kind }) => kind === 'debit');
    const [byToken, byKey] = [connection_id, key_id].map((payer) =>
      entries.flatMap(({ delta, cause }) => {
        if (!('key_id' in cause) || cause.key_id !== payer) return [];
        const { request_id: _, key_id: __, ...same } = cause;
        return [{ delta, ...same }];
      }),
    );
    expect(byToken?.length).toBeGreaterThan(3);
    expect(byToken).toEqual(byKey);

    const path = '/v1/data?indicators=alpha.life_expectancy&countries=KEN,DEU&from=2019&missing=omit';
    const [rest, refused] = await Promise.all(
      [key, access_token].map((one) => client.send(path, { headers: { authorization: `Bearer ${one}` } })),
    );
    expect(Number(rest?.headers.get('x-credits-charged'))).toBe(await charged('get_data', access_token));
    expect(refused?.status).toBe(401);
  });

  it('are in the export of the account, without their secrets', async () => {
    const ann = await harness.customer('Ann');
    const client = new OAuthClient(harness);
    const { connection_id, refresh_token, access_token, code } = await client.connect(ann);
    const { request_id } = await harness.context.requests.open(ann.account_id, 'export');
    await harness.handlers.prepare({ request_id });
    const lists = await readExport(await ann.visitor.download(`/account/data/${request_id}/download`));
    expect(lists.connections).toMatchObject([{ connection_id, client_name: 'Test host', host: 'host.test' }]);
    const text = JSON.stringify(lists);
    for (const secret of [refresh_token, access_token, code])
      for (const part of secret.split(/[._]/).filter(({ length }) => length > 30))
        expect(text).not.toContain(part);
  });

  it('are seen by operators, who end one with a reason that is mailed', async () => {
    const ann = await harness.customer('Ann');
    const { client, connection_id, access_token } = await connect(ann);
    await using area = await startAdminOn({
      ...redis,
      url: redis.url,
      connect: () => redis.connect(),
      stop: async () => {},
    });
    const operator = await area.signedIn();
    const account = `/admin/users/${ann.account_id}`;
    const words = wordsOf(await operator.get(account));
    for (const word of [connection_id, 'Notes', 'host.test', '0 of 1,000']) expect(words).toContain(word);
    const end = `${account}/connections/${connection_id}/end`;
    expect((await operator.submit('/admin/', end, { reason: '' })).status).toBe(422);
    const viewer = await area.signedIn('viewer');
    expect((await viewer.submit('/admin/', end, { reason: REASON })).status).toBe(403);
    const told = harness.mailbox.next(ann.email, /A connection has ended/);
    expect((await operator.submit('/admin/', end, { reason: REASON })).location).toBe(account);
    expect(chargedBy(await client.figure(access_token))).toBeUndefined();
    expect((await operator.submit('/admin/', end, { reason: REASON })).status).toBe(409);
    await harness.handlers.sweep({});
    const { text } = await told;
    for (const part of [REASON, 'By: an operator of Almanac']) expect(text).toContain(part);
  });
});
