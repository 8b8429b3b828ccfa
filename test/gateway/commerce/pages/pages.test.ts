/** Keys, privacy requests, the password, and the protection of every page, on a fresh Redis and on a cluster. */
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ASSET_PATHS } from '../../../../gateway/site/assets.ts';
import { tokenOf, wordsOf } from '../../../admin/harness.ts';
import { SERVERS, useDeployment } from './deployments.ts';
import { type AccountPagesHarness, type Customer, PASSWORD } from './harness.ts';
import { readExport } from './read-export.ts';

let harness: AccountPagesHarness;
let ann: Customer;
let bob: Customer;

describe.each(SERVERS)('on $name', ({ open }) => {
  useDeployment(open, {}, async (opened) => {
    harness = opened;
    ann = await harness.customer('Ann');
    bob = await harness.customer('Bob');
  });

  it('the summary for public pages holds address, balance and newest active key of whoever is signed in, and nothing for others', async () => {
    const visitor = harness.visitor();
    expect(JSON.parse((await visitor.get('/account/summary')).html)).toEqual({});
    const customer = await harness.customer('Cid');
    const { key } = await harness.makeKey(customer, { label: 'first' });
    const answer = await customer.visitor.get('/account/summary');
    const { credits } = await harness.accounts.get(customer.account_id);
    expect(JSON.parse(answer.html)).toEqual({
      email: customer.email,
      balance: credits.balance,
      key: 'first',
    });
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.html).not.toContain(key);
  });

  describe('keys', () => {
    it('are created with a label and a last day, shown once, and work until that day ends', async () => {
      const { key, page } = await harness.makeKey(ann, { label: 'notebook', expires: '2026-11-22' });
      expect(page.headers['cache-control']).toBe('no-store');
      expect((await harness.call(key, '/v1/ping')).json).toMatchObject({
        data: { environment: 'live', scopes: ['read'] },
      });
      const list = await ann.visitor.get('/account/keys');
      expect(list.html).not.toContain(key);
      const key_id = key.split('_')[2] ?? '';
      for (const shown of [key_id, 'notebook', `…${key.slice(-4)}`, 'active', '2026-11-23 00:00:00 UTC'])
        expect(list.html).toContain(shown);
      harness.clock.ms = Date.UTC(2026, 10, 22, 23, 59);
      await harness.signIn(ann.visitor, ann.email);
      expect((await harness.call(key, '/v1/ping')).status).toBe(200);
      harness.clock.ms = Date.UTC(2026, 10, 23);
      expect((await harness.call(key, '/v1/ping')).status).toBe(401);
      expect(wordsOf(await ann.visitor.get('/account/keys'))).toContain('expired');
    });

    it('are revoked after a confirmation, from the next request on, permanently', async () => {
      const { key } = await harness.makeKey(ann);
      const path = `/account/keys/${key.split('_')[2]}/revoke`;
      expect(wordsOf(await ann.visitor.get(path))).toContain('This cannot be undone');
      expect((await harness.call(key, '/v1/ping')).status).toBe(200);
      expect((await ann.visitor.submit(path, path, {})).status).toBe(303);
      expect((await harness.call(key, '/v1/ping')).status).toBe(401);
      expect(wordsOf(await ann.visitor.get(path))).toContain('This key is revoked');
    });

    it('are limited to ten active ones; the form keeps its input and says what to do', async () => {
      await harness.signIn(bob.visitor, bob.email);
      for (let made = 0; made < 10; made++) await harness.accounts.keys.mint(bob.account_id);
      const { page } = await harness.makeKey(bob, { label: 'one more' });
      expect(page.status).toBe(409);
      expect(wordsOf(page)).toContain('An account can have at most 10 active keys; revoke one first.');
      expect(page.html).toContain('value="one more"');
    });

    it.each(['yesterday', '2026-13-01', '2020-01-01'])('reject the last day %s', async (expires) => {
      const { page } = await harness.makeKey(ann, { expires });
      expect(page.status).toBe(422);
    });
  });

  describe('privacy requests', () => {
    it('an export is prepared in the background, downloadable by its account only, and done after the download', async () => {
      const eve = await harness.customer('Eve');
      await harness.makeKey(eve, { label: 'eves key' });
      const { webhooks } = harness.context;
      const webhook = { url: 'https://hooks.example.org/eve', types: ['key.created'], by: eve.person_id };
      const { endpoint_id } = await webhooks.endpoints.create(eve.account_id, webhook);
      const delivery = { type: 'key.created', at_ms: harness.clock.ms, body: '{"a":1}' };
      await webhooks.deliveries.add(eve.account_id, { endpoint_id, message_id: 'msg_1', ...delivery });
      const path = await harness.exported(eve);
      const [request] = await harness.context.requests.listOf(eve.account_id);
      expect(request).toMatchObject({ kind: 'export', status: 'ready' });
      expect((await bob.visitor.get(path)).status).toBe(404);
      const file = await eve.visitor.get(path);
      expect(String(file.headers['content-disposition'])).toContain('attachment');
      const lists = await readExport(await eve.visitor.download(path));
      expect(lists).toMatchObject({
        account: [{ account: { account_id: eve.account_id, email: eve.email } }],
        keys: [{ label: 'eves key' }],
        ledger: [{ kind: 'grant', delta: 1000 }],
        webhooks: [{ endpoint_id, url: 'https://hooks.example.org/eve' }],
        'webhook-deliveries': [{ endpoint_id, message_id: 'msg_1', state: 'waiting', ...delivery }],
      });
      expect(JSON.stringify(lists)).not.toMatch(/digest|scrypt|password|whsec_/i);
      expect((await harness.context.requests.get(String(request?.request_id))).status).toBe('done');
      expect((await eve.visitor.get(path)).status).toBe(200);
    });

    it('opening one twice gives the same request', async () => {
      const frank = await harness.customer('Frank');
      const { request_id } = await harness.context.requests.open(frank.account_id, 'erasure');
      expect((await harness.context.requests.open(frank.account_id, 'erasure')).request_id).toBe(request_id);
    });

    it('an erasure needs the password, is planned in the background, and is done by the nightly run', async () => {
      // Long enough that no random text of a key or value holds it by chance.
      const name = 'Achterberg-Vanderwoude';
      const gina = await harness.customer(`Gina ${name}`);
      const { key } = await harness.makeKey(gina, { label: `of ${name}` });
      await harness.handlers.sweep({});
      await harness.settled();
      expect(Object.keys(await harness.keysContaining(name))).toHaveLength(3);
      const ask = (password: string) =>
        gina.visitor.submit('/account/data', '/account/data/erasure', { password });
      expect((await ask('wrong')).status).toBe(422);
      expect(await harness.context.requests.listOf(gina.account_id)).toEqual([]);
      expect((await ask(PASSWORD)).status).toBe(303);
      const [request] = await harness.context.requests.listOf(gina.account_id);
      await harness.handlers.prepare({ request_id: String(request?.request_id) });
      expect((await harness.context.requests.get(String(request?.request_id))).plan).toContain(
        'revokes 1 keys',
      );
      expect((await harness.call(key, '/v1/ping')).status).toBe(200);
      await harness.runErasures();
      expect((await harness.call(key, '/v1/ping')).status).toBe(401);
      expect((await gina.visitor.get('/account/')).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), gina.email)).status).toBe(401);
      expect(harness.mailbox.forgotten).toContain(gina.email);
      expect(await harness.keysContaining(name), 'nothing in Redis contains the name').toEqual({});
      expect(await harness.keysContaining(gina.email), 'or the e-mail address').toEqual({});
    });

    it('an erasure leaves no address in the link that would take back a change of it', async () => {
      const { person_id, account_id, email } = await harness.customer('Jo');
      const { emailChanges } = harness.context;
      const latest = `latest-${email}`;
      const confirm = harness.mailbox.next(latest);
      await emailChanges.request(person_id, latest);
      const token = (await confirm).link?.split('/').at(-1) ?? '';
      const told = [harness.mailbox.next(email), harness.mailbox.next(latest)];
      await emailChanges.carryOut('email-change', token);
      const [{ link } = { link: null }] = await Promise.all(told);
      const undo = link?.split('/').at(-1) ?? '';
      expect(await emailChanges.peek('email-undo', undo)).toMatchObject({ from: latest, to: email });
      await harness.erase(account_id);
      await expect.poll(() => harness.keysContaining(email)).toEqual({});
      expect(await emailChanges.peek('email-undo', undo)).toBeNull();
    });

    it('closing needs the password, ends keys and sessions at once, and is permanent', async () => {
      const hank = await harness.customer('Hank');
      const { key } = await harness.makeKey(hank);
      const close = (password: string) =>
        hank.visitor.submit('/account/data', '/account/close', { password });
      const asked = wordsOf(await hank.visitor.get('/account/close'));
      expect(asked).toContain('1,000 credits are lost: what is left can no longer be spent, is not paid out');
      expect(asked).not.toContain('Open orders stay open');
      await harness.accounts.orders.create(hank.account_id, 'starter');
      expect(wordsOf(await hank.visitor.get('/account/close'))).toContain('Open orders stay open');
      expect((await close('wrong')).status).toBe(422);
      expect((await close(PASSWORD)).location).toBe('/account/closed');
      expect((await harness.call(key, '/v1/ping')).status).toBe(401);
      expect((await hank.visitor.get('/account/data')).status).toBe(401);
    });

    it('a closed account can still sign in to export and erase its data, and to nothing else', async () => {
      const ivy = await harness.customer('Ivy');
      const other = harness.visitor();
      await harness.signIn(other, ivy.email);
      await harness.accounts.close(ivy.account_id);
      expect((await other.get('/account/keys')).location).toBe('/account/data');
      const visitor = harness.visitor();
      expect((await harness.signIn(visitor, ivy.email)).status).toBe(303);
      for (const path of ['/', '/keys', '/usage', '/wallet', '/orders', '/nothing'])
        expect((await visitor.get(`/account${path}`)).location).toBe('/account/data');
      const page = await visitor.get('/account/data');
      expect(wordsOf(page)).toContain('This account is closed');
      expect(page.html).not.toContain('href="/account/keys"');
      for (const path of ['/keys', '/orders', '/alerts/balance', '/password', '/close'])
        expect((await visitor.submit('/account/data', `/account${path}`, {})).status).toBe(403);
      const held = await readExport(await visitor.download(await harness.exported({ ...ivy, visitor })));
      expect(held.account).toMatchObject([{ account: { state: 'closed', email: ivy.email } }]);
      const asked = await visitor.submit('/account/data', '/account/data/erasure', { password: PASSWORD });
      expect(asked.status).toBe(303);
      const requests = await harness.context.requests.listOf(ivy.account_id);
      expect(requests.map(({ kind }) => kind)).toContain('erasure');
      await harness.erase(ivy.account_id);
      expect((await visitor.get('/account/data')).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), ivy.email)).status).toBe(401);
    });

    it('a closed account can reset its password, without a grant', async () => {
      const { account_id, email } = await harness.accounts.create({ email: 'lost@example.org', by: 'test' });
      await harness.accounts.close(account_id);
      const link = await harness.linkMailed(email, () => harness.handlers.reset({ email }));
      expect((await harness.visitor().submit(link, link, { password: PASSWORD })).status).toBe(200);
      expect(await harness.accounts.get(account_id)).toMatchObject({ verified: false, state: 'closed' });
      expect(await harness.balance(account_id)).toBe(0);
      expect((await harness.signIn(harness.visitor(), email)).status).toBe(303);
    });
  });

  describe('every page', () => {
    it.each([
      ...['/', '/keys', '/usage', '/wallet', '/alerts', '/orders', '/data'],
      ...['/orders/ord_x', '/nothing', '/data/x/download'],
    ])('%s shows an anonymous visitor only the sign-in page', async (path) => {
      const page = await harness.visitor().get(`/account${path}`);
      expect(page.status).toBe(401);
      expect(wordsOf(page)).toContain('Sign in');
    });

    it('forbids storing, framing and sniffing, and runs the script of the site alone', async () => {
      for (const page of [
        await bob.visitor.get('/account/'),
        await harness.visitor().get('/account/sign-up'),
      ]) {
        expect(page.headers['cache-control']).toBe('no-store');
        expect(page.headers['x-frame-options']).toBe('DENY');
        expect(page.headers['x-content-type-options']).toBe('nosniff');
        const policy = page.headers['content-security-policy'];
        expect(policy).toContain("default-src 'none'");
        expect(policy).toContain("script-src 'self'");
        expect(policy).not.toMatch(/unsafe|https?:|\*/);
        expect(page.html.match(/<script[^>]*>/g)).toEqual([`<script src="${ASSET_PATHS.script}" defer>`]);
      }
    });

    it.each([
      ...['/keys', '/orders', '/alerts/balance', '/data/export'],
      ...['/data/erasure', '/close', '/password', '/sign-out'],
    ])('rejects a form to %s without CSRF token, or with another session’s', async (path) => {
      const foreign = tokenOf(await ann.visitor.get('/account/'));
      const before = await persistentState(bob);
      expect((await bob.visitor.post(`/account${path}`, {})).status).toBe(403);
      expect((await bob.visitor.post(`/account${path}`, { _csrf: foreign })).status).toBe(403);
      expect(await persistentState(bob)).toEqual(before);
    });

    it('rejects a session of the operator area', async () => {
      const id = bob.visitor.cookies.get('almanac_account') ?? '';
      await harness.redis.hset(`session:${hash('sha256', id)}`, 'realm', 'operator');
      expect((await bob.visitor.get('/account/')).status).toBe(401);
      await harness.signIn(bob.visitor, bob.email);
    });

    it('audits changes without the e-mail address', async () => {
      const entries = await harness.context.audit.list({ subject: `account ${ann.account_id}` });
      expect(entries.map(({ action }) => action)).toEqual(
        expect.arrayContaining(['account.confirm', 'key.create', 'key.revoke']),
      );
      expect(JSON.stringify(entries)).not.toContain(ann.email);
    });
  });

  it('the password needs the current password to change; other sessions end, this one continues', async () => {
    const iris = await harness.customer('Iris');
    const other = harness.visitor();
    await harness.signIn(other, iris.email);
    const change = (current: string) =>
      iris.visitor.submit('/account/', '/account/password', { current, password: 'quite another one' });
    expect((await change('wrong')).status).toBe(422);
    expect((await change(PASSWORD)).status).toBe(303);
    expect((await other.get('/account/')).status).toBe(401);
    expect(wordsOf(await iris.visitor.get('/account/'))).toContain('Your password is changed.');
  });
});

/**
 * What a rejected form must not change: all key names, the values that concern the account, and the number of jobs ever
 * queued. Totals and the queue's own keys change in the background.
 */
async function persistentState({ account_id }: Customer): Promise<unknown> {
  const keys = (await harness.allKeys()).filter((key) => !/^\{(global|jobs)\}:/.test(key));
  return [
    keys.sort(),
    await harness.keysContaining(account_id),
    await harness.redis.get('{jobs}:account:id'),
  ];
}
