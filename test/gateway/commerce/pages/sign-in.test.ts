import { describe, expect, it } from 'vitest';
import { type Page, tokenOf, type Visitor, wordsOf } from '../../../admin/harness.ts';
import { SERVERS, useDeployment } from './deployments.ts';
import { type AccountPagesHarness, PASSWORD } from './harness.ts';

let harness: AccountPagesHarness;

/** A page without its CSRF token and e-mail address. */
const withoutVariables = (page: Page, email: string): string =>
  page.html.replaceAll(/(name="_(?:csrf|idempotency)" value=")[^"]+/g, '$1').replaceAll(email, 'EMAIL');

describe.each(SERVERS)('on $name', ({ open }) => {
  useDeployment(open, { FREE_GRANT: '1234' }, (opened) => {
    harness = opened;
  });

  describe('sign-up', () => {
    it('creates the account with free grant and the password that is chosen when the mailed link is opened', async () => {
      const { account_id, visitor } = await harness.register('Ann Example');
      expect(await harness.accounts.get(account_id)).toMatchObject({
        name: 'Ann Example',
        verified: true,
        tier: 'free',
        credits: { balance: 1234, lifetime_granted: 1234 },
      });
      expect(wordsOf(await visitor.get('/account/'))).toContain('Ann Example');
      expect(await harness.accounts.keys.list(account_id)).toEqual([]);
    });

    it('signs in, says so to public pages, and makes the first key where the form asks for one', async () => {
      const visitor = harness.visitor();
      const link = await harness.signUp(visitor, 'eager@example.org');
      expect((await visitor.get(link)).html).toContain('name="key" value="yes" checked');
      const page = await visitor.submit(link, link, { password: PASSWORD, key: 'yes' });
      const { account_id } = await harness.accounts.findByEmail('eager@example.org');
      const [key = ''] = /alm_live_\w+/.exec(page.html) ?? [];
      expect((await harness.call(key, '/v1/ping')).status).toBe(200);
      expect(await harness.accounts.keys.list(account_id)).toMatchObject([
        { label: 'First key', state: 'active' },
      ]);
      const audited = await harness.context.audit.list({ subject: `account ${account_id}` });
      expect(audited.map(({ action }) => action)).toContain('key.create');
      expect(visitor.cookies.get('almanac_signed_in')).toBe('1');
      await visitor.submit('/account/', '/account/sign-out', {});
      expect(visitor.cookies.get('almanac_signed_in') ?? '').toBe('');
      expect((await visitor.get('/account/')).status).toBe(401);
    });

    it('creates no account before the address is confirmed, and sign-in fails', async () => {
      const email = 'early@example.org';
      const visitor = harness.visitor();
      await harness.signUp(visitor, email);
      await expect(harness.accounts.findByEmail(email)).rejects.toMatchObject({ code: 'account_unknown' });
      expect((await harness.signIn(visitor, email)).status).toBe(401);
    });

    it('changes nothing for an address with an account, and says so by mail only', async () => {
      const { email, account_id } = await harness.customer();
      const mail = harness.mailbox.next(email);
      await harness.visitor().submit('/account/sign-up', '/account/sign-up', {
        email: email.toUpperCase(),
        name: 'Mallory',
      });
      expect(await mail).toMatchObject({ subject: 'You already have an account' });
      expect((await harness.accounts.get(account_id)).name).toBe('Ann');
      expect((await harness.signIn(harness.visitor(), email, 'another password')).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), email)).status).toBe(303);
    });

    it('never gives access to a stranger who sends a password with the address of somebody else', async () => {
      const email = 'victim@example.org';
      const stolen = 'password of mallory';
      const fields = { email, name: 'Mallory', password: stolen };
      const link = await harness.linkMailed(email, () =>
        harness.visitor().submit('/account/sign-up', '/account/sign-up', fields),
      );
      // The owner confirms, first without choosing a password.
      expect((await harness.visitor().submit(link, link, {})).status).toBe(422);
      expect((await harness.confirm(harness.visitor(), link)).status).toBe(200);
      expect((await harness.signIn(harness.visitor(), email, stolen)).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), email)).status).toBe(303);
    });

    it('rejects an invalid address and keeps what was typed', async () => {
      const fields = { email: 'ann', name: 'A "quoted" <b>name</b>' };
      const page = await harness.visitor().submit('/account/sign-up', '/account/sign-up', fields);
      expect(page.status).toBe(422);
      expect(page.html).toContain('not an e-mail address');
      expect(page.html).toContain('value="ann"');
      expect(page.html).toContain('A &quot;quoted&quot; &lt;b&gt;name&lt;/b&gt;');
    });
  });

  describe('a confirmation link', () => {
    it.each([
      ['short', 'ninechars', '10 to 200 characters'],
      ['common', 'Password123!', 'common passwords'],
      ['the address', 'Picky@example.org', 'e-mail address'],
    ])('takes no password that is %s, and can be used again', async (_what, password, sentence) => {
      const link = await harness.signUp(harness.visitor(), 'picky@example.org');
      const page = await harness.confirm(harness.visitor(), link, password);
      expect([page.status, wordsOf(page)]).toEqual([422, expect.stringContaining(sentence)]);
      expect((await harness.visitor().get(link)).status).toBe(200);
      harness.clock.ms += 3_600_000;
    });

    it('survives GET requests, works once, and expires after 24 hours', async () => {
      const link = await harness.signUp(harness.visitor(), 'once@example.org');
      const visitor = harness.visitor();
      for (let look = 0; look < 3; look++) expect((await visitor.get(link)).status).toBe(200);
      const fields = async (one: Visitor) => ({ _csrf: tokenOf(await one.get(link)), password: PASSWORD });
      const other = harness.visitor();
      const [first, second] = [await fields(visitor), await fields(other)];
      expect((await visitor.post(link, first)).status).toBe(200);
      const again = await other.post(link, second);
      expect([again.status, wordsOf(again)]).toEqual([410, expect.stringContaining('no longer valid')]);
      expect((await visitor.get(link)).status).toBe(410);
      const late = await harness.signUp(harness.visitor(), 'late@example.org');
      harness.clock.ms += 24 * 3_600_000;
      expect((await harness.visitor().get(late)).status).toBe(410);
    });

    it('of two for one address, the first that is confirmed sets the password and ends the other; credits come once', async () => {
      const email = 'twice@example.org';
      const [older, newer] = [
        await harness.signUp(harness.visitor(), email, 'Mallory'),
        await harness.signUp(harness.visitor(), email, 'Ann'),
      ];
      expect((await harness.confirm(harness.visitor(), newer)).status).toBe(200);
      expect((await harness.visitor().get(older)).status).toBe(410);
      const late = { password: 'another long password' };
      expect((await harness.visitor().submit('/account/forgot', older, late)).status).toBe(410);
      expect((await harness.signIn(harness.visitor(), email, late.password)).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), email)).status).toBe(303);
      const { account_id } = await harness.accounts.findByEmail(email);
      expect(await harness.balance(account_id)).toBe(1234);
    });

    it('is rejected after any change', async () => {
      const link = await harness.signUp(harness.visitor(), 'forged@example.org');
      const at = link.lastIndexOf('/') + 1;
      const dots = [...link.matchAll(/\./g)].map(({ index }) => index);
      for (const place of [at, at + 20, (dots[0] ?? 0) + 3, (dots[1] ?? 0) + 5]) {
        const forged = link.slice(0, place) + (link[place] === 'a' ? 'b' : 'a') + link.slice(place + 1);
        expect((await harness.visitor().get(forged)).status).toBe(410);
      }
      expect((await harness.visitor().get(link.replace('/confirm/', '/reset/'))).status).toBe(410);
      expect((await harness.visitor().get(link)).status).toBe(200);
    });
  });

  describe('sign-in', () => {
    it('starts a session with a new id, and sign-out ends it', async () => {
      const { email } = await harness.customer();
      const visitor = harness.visitor();
      visitor.cookies.set('almanac_account', 'A'.repeat(43));
      await harness.signIn(visitor, email);
      const id = visitor.cookies.get('almanac_account') ?? '';
      expect(id).not.toBe('A'.repeat(43));
      await visitor.submit('/account/', '/account/sign-out', {});
      visitor.cookies.set('almanac_account', id);
      expect((await visitor.get('/account/')).status).toBe(401);
    });

    it('ends on all devices with sign-out everywhere', async () => {
      const { email, visitor } = await harness.customer();
      const other = harness.visitor();
      await harness.signIn(other, email);
      await visitor.submit('/account/', '/account/sign-out-everywhere', {});
      expect((await other.get('/account/')).status).toBe(401);
    });

    it('is throttled by account with 429 and Retry-After', async () => {
      const { email } = await harness.customer();
      const visitor = harness.visitor();
      const statuses: number[] = [];
      for (let guess = 0; guess < 4; guess++)
        statuses.push((await harness.signIn(visitor, email, `guess ${guess}`)).status);
      expect(statuses).toEqual([401, 401, 401, 429]);
      const refused = await harness.signIn(visitor, email);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      harness.clock.ms += 300_000;
      expect((await harness.signIn(visitor, email)).status).toBe(303);
    });

    it('keeps the browser known that changed or reset the password, and no other', async () => {
      const { email, visitor } = await harness.register();
      const other = harness.visitor();
      await harness.signIn(other, email);
      const fields = { current: PASSWORD, password: 'quite another one' };
      await visitor.submit('/account/', '/account/password', fields);
      for (let guess = 0; guess < 10; guess++)
        await harness.signIn(harness.visitor(), email, `guess ${guess}`);
      for (const [browser, status] of [
        [visitor, 303],
        [other, 429],
      ] as const) {
        browser.cookies.delete('almanac_account');
        expect((await harness.signIn(browser, email, 'quite another one')).status).toBe(status);
      }
      const link = await harness.linkMailed(email, () => harness.handlers.reset({ email }));
      await harness.confirm(other, link, 'a whole new password');
      expect((await harness.signIn(other, email, 'a whole new password')).status).toBe(303);
    });

    it('is remembered in an HttpOnly cookie that contains neither address nor password', async () => {
      const { email } = await harness.register();
      const { headers } = await harness.signIn(harness.visitor(), email);
      const cookies = [headers['set-cookie'] ?? []].flat();
      const [known = ''] = cookies.filter((line) => line.includes('known'));
      expect(known).toMatch(/Max-Age=15552000; Path=\/account; HttpOnly; SameSite=Lax$/);
      expect(known).not.toContain('person');
    });

    it('redirects to no other site', async () => {
      const { email } = await harness.customer();
      for (const next of ['https://evil.example/', '//evil.example/', '/account\\..\\', '/admin/']) {
        const fields = { email, password: PASSWORD, next };
        const answer = await harness.visitor().submit('/account/sign-in', '/account/sign-in', fields);
        expect([next, answer.location]).toEqual([next, '/account/']);
      }
    });
  });

  describe('a sign-in link', () => {
    const ask = (email: string): Promise<Page> =>
      harness.visitor().submit('/account/sign-in-link', '/account/sign-in-link', { email });

    it('signs the owner in whom a stranger locked out, once, and makes the browser known', async () => {
      const { email } = await harness.customer();
      for (let guess = 0; guess < 10; guess++)
        await harness.signIn(harness.visitor(), email, `guess ${guess}`);
      const visitor = harness.visitor();
      expect((await harness.signIn(visitor, email)).status).toBe(429);
      const link = await harness.linkMailed(email, () => ask(email));
      for (let look = 0; look < 2; look++) expect((await harness.visitor().get(link)).status).toBe(200);
      expect((await visitor.submit(link, link, {})).location).toBe('/account/');
      expect((await visitor.get('/account/')).status).toBe(200);
      expect((await harness.visitor().get(link)).status).toBe(410);
      expect((await harness.visitor().submit('/account/forgot', link, {})).status).toBe(410);
      visitor.cookies.delete('almanac_account');
      expect((await harness.signIn(visitor, email)).status).toBe(303);
    });

    it('ends after half an hour, and when the password is changed', async () => {
      const { email, visitor } = await harness.customer();
      const send = () => harness.linkMailed(email, () => harness.handlers['sign-in-link']({ email }));
      const links = [await send(), await send()];
      const fields = { current: PASSWORD, password: 'quite another one' };
      await visitor.submit('/account/', '/account/password', fields);
      for (const link of links) expect((await harness.visitor().get(link)).status).toBe(410);
      const late = await send();
      harness.clock.ms += 30 * 60_000;
      expect((await harness.visitor().get(late)).status).toBe(410);
    });

    it('can always be had by the owner: whoever uses up the mails has a working one sent', async () => {
      const { email } = await harness.customer();
      let answer = await ask(email);
      while (answer.status === 200) answer = await ask(email);
      let wait_s = 0;
      for (let time = 0; time < 15; time++) {
        wait_s = Number((await ask(email)).headers['retry-after']);
        harness.clock.ms += wait_s * 1000;
        expect((await ask(email)).status).toBe(200);
      }
      expect(wait_s).toBe(30 * 60);
    });
  });

  describe('password reset', () => {
    const forgot = async (email: string): Promise<Page> =>
      harness.visitor().submit('/account/forgot', '/account/forgot', { email });

    it('sets the new password by a mailed link and ends every session', async () => {
      const { email, visitor } = await harness.customer();
      const link = await harness.linkMailed(email, () => forgot(email));
      const page = await harness.visitor().submit(link, link, { password: 'a whole new password' });
      expect(page.status).toBe(200);
      expect((await visitor.get('/account/')).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), email)).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), email, 'a whole new password')).status).toBe(303);
      expect((await harness.visitor().get(link)).status).toBe(410);
    });

    /** Posts the form of a link whose page has none any more. */
    const forcePassword = (link: string): Promise<Page> =>
      harness.visitor().submit('/account/forgot', link, { password: 'password of mallory' });

    const resetLink = (email: string) => harness.linkMailed(email, () => harness.handlers.reset({ email }));

    it('lets one of two links that are used at the same moment set the password', async () => {
      const { email } = await harness.customer();
      const links = [await resetLink(email), await resetLink(email)];
      const pages = await Promise.all(
        links.map((link, index) => harness.confirm(harness.visitor(), link, `a whole new password ${index}`)),
      );
      expect(pages.map(({ status }) => status).toSorted()).toEqual([200, 410]);
      const set = pages.findIndex(({ status }) => status === 200);
      const { status } = await harness.signIn(harness.visitor(), email, `a whole new password ${set}`);
      expect(status).toBe(303);
    });

    it.each([
      [
        'one of them is used',
        async (_visitor: Visitor, [, second = '']: string[], password: string) =>
          (await harness.confirm(harness.visitor(), second, password)).status === 200,
      ],
      [
        'the password is changed',
        async (visitor: Visitor, _links: string[], password: string) => {
          const fields = { current: PASSWORD, password };
          return (await visitor.submit('/account/', '/account/password', fields)).status === 303;
        },
      ],
    ])('ends every link when %s', async (_what, end) => {
      const { email, visitor } = await harness.customer();
      const links = [await resetLink(email), await resetLink(email), await resetLink(email)];
      expect(await end(visitor, links, 'a whole new password')).toBe(true);
      for (const link of links) {
        expect((await harness.visitor().get(link)).status).toBe(410);
        expect((await forcePassword(link)).status).toBe(410);
      }
      expect((await harness.signIn(harness.visitor(), email, 'a whole new password')).status).toBe(303);
    });

    it('confirms the address of an account made on the command line, and grants the free credits', async () => {
      const { account_id, email } = await harness.accounts.create({ email: 'cli@example.org', by: 'test' });
      const link = await harness.linkMailed(email, () => forgot(email));
      await harness.visitor().submit(link, link, { password: PASSWORD });
      expect((await harness.signIn(harness.visitor(), email)).status).toBe(303);
      expect(await harness.accounts.get(account_id)).toMatchObject({
        verified: true,
        credits: { balance: 1234 },
      });
    });

    it('is throttled for known and unknown addresses', async () => {
      for (const email of [(await harness.customer()).email, 'unknown-too@example.org']) {
        const statuses: number[] = [];
        for (let time = 0; time < 5; time++) statuses.push((await forgot(email)).status);
        expect([200, 429]).toContain(statuses[2]);
        expect(statuses[4]).toBe(429);
        harness.clock.ms += 3_600_000;
      }
    });
  });

  it.each([
    ['/sign-up', { name: 'X' }, 200],
    ['/sign-in', { password: 'not this one', next: '' }, 401],
    ['/sign-in-link', {}, 200],
    ['/forgot', {}, 200],
  ] as const)('%s shows the same page for a known and an unknown address', async (path, fields, status) => {
    const { email } = await harness.customer();
    const unknown = `nobody-at${path.replace('/', '-')}@example.org`;
    const [first, second] = await Promise.all(
      [email, unknown].map(async (address) => {
        const form = { email: address, ...fields };
        const page = await harness.visitor().submit(`/account${path}`, `/account${path}`, form);
        return { status: page.status, html: withoutVariables(page, address) };
      }),
    );
    expect(first).toEqual(second);
    expect(first?.status).toBe(status);
    if (path === '/forgot' || path === '/sign-in-link') {
      await expect.poll(() => harness.mailbox.to(email)).toHaveLength(2);
      expect(harness.mailbox.to(unknown)).toEqual([]);
    }
  });
});
