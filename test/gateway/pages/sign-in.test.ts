/** Sign-up, address confirmation, sign-in and password reset, on every kind of Redis. */
import { describe, expect, it } from 'vitest';
import { type Page, tokenOf, wordsOf } from '../../admin/harness.ts';
import { DEPLOYMENTS, useDeployment } from './deployments.ts';
import { type AccountPagesHarness, PASSWORD } from './harness.ts';

let harness: AccountPagesHarness;

/** A page without its CSRF token and e-mail address. */
const withoutVariables = (page: Page, email: string): string =>
  page.html.replaceAll(/(name="_(?:csrf|idempotency)" value=")[^"]+/g, '$1').replaceAll(email, 'EMAIL');

describe.each(DEPLOYMENTS)('on $name', ({ open }) => {
  useDeployment(open, { FREE_GRANT: '1234' }, (opened) => {
    harness = opened;
  });

  describe('sign-up', () => {
    it('creates the account with password and free grant when the mailed link is confirmed', async () => {
      const { account_id, visitor } = await harness.register('Ann Example');
      expect(await harness.accounts.get(account_id)).toMatchObject({
        name: 'Ann Example',
        verified: true,
        tier: 'free',
        credits: { balance: 1234, lifetime_granted: 1234 },
      });
      expect(wordsOf(await visitor.get('/account/'))).toContain('Ann Example');
    });

    it('creates no account before the address is confirmed, and sign-in fails', async () => {
      const email = 'early@example.org';
      const visitor = harness.visitor();
      await harness.signUp(visitor, email);
      await expect(harness.accounts.findByEmail(email)).rejects.toMatchObject({ code: 'account_unknown' });
      expect((await harness.signIn(visitor, email)).status).toBe(401);
    });

    it('shows the same page for a known and an unknown address', async () => {
      const { email } = await harness.customer();
      const pages = await Promise.all(
        [email, 'nobody-yet@example.org'].map(async (address) => {
          const visitor = harness.visitor();
          const page = await visitor.submit('/account/sign-up', '/account/sign-up', {
            ...{ email: address, name: 'X', password: PASSWORD },
          });
          return { status: page.status, html: withoutVariables(page, address) };
        }),
      );
      expect(pages[0]).toEqual(pages[1]);
      expect(pages[0]?.status).toBe(200);
    });

    it('changes nothing for an address with an account, and says so by mail only', async () => {
      const { email, account_id } = await harness.customer();
      const mail = harness.mailbox.next(email);
      await harness.visitor().submit('/account/sign-up', '/account/sign-up', {
        ...{ email: email.toUpperCase(), name: 'Mallory', password: 'another password' },
      });
      expect(await mail).toMatchObject({ subject: 'You already have an account' });
      expect((await harness.accounts.get(account_id)).name).toBe('Ann');
      expect((await harness.signIn(harness.visitor(), email, 'another password')).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), email)).status).toBe(303);
    });

    it('lets the first confirmed of two links set the password, and grants credits once', async () => {
      const email = 'twice@example.org';
      const mallory = await harness.signUp(harness.visitor(), email, 'Mallory', 'password of mallory');
      const ann = await harness.signUp(harness.visitor(), email, 'Ann', PASSWORD);
      await harness.visitor().submit(ann, ann, {});
      expect((await harness.visitor().submit(mallory, mallory, {})).status).toBe(200);
      expect((await harness.signIn(harness.visitor(), email, 'password of mallory')).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), email)).status).toBe(303);
      const { account_id } = await harness.accounts.findByEmail(email);
      expect(await harness.balance(account_id)).toBe(1234);
    });

    it.each([
      ['address', { email: 'ann', password: PASSWORD }, 'not an e-mail address'],
      ['password', { email: 'ann@example.org', password: 'short' }, '8 to 200 characters'],
    ])('rejects an invalid %s and keeps what was typed', async (_what, fields, sentence) => {
      const page = await harness
        .visitor()
        .submit('/account/sign-up', '/account/sign-up', { name: 'A "quoted" <b>name</b>', ...fields });
      expect(page.status).toBe(422);
      expect(page.html).toContain(sentence);
      expect(page.html).toContain(`value="${fields.email}"`);
      expect(page.html).toContain('A &quot;quoted&quot; &lt;b&gt;name&lt;/b&gt;');
    });
  });

  describe('a confirmation link', () => {
    it('survives GET requests', async () => {
      const link = await harness.signUp(harness.visitor(), 'scanner@example.org');
      for (let look = 0; look < 3; look++) expect((await harness.visitor().get(link)).status).toBe(200);
      expect((await harness.visitor().submit(link, link, {})).status).toBe(200);
    });

    it('works only once', async () => {
      const link = await harness.signUp(harness.visitor(), 'once@example.org');
      const visitor = harness.visitor();
      const token = tokenOf(await visitor.get(link));
      expect((await visitor.post(link, { _csrf: token })).status).toBe(200);
      const again = await visitor.post(link, { _csrf: token });
      expect(again.status).toBe(410);
      expect(wordsOf(again)).toContain('no longer valid');
      expect((await visitor.get(link)).status).toBe(410);
    });

    it('expires after 24 hours', async () => {
      const link = await harness.signUp(harness.visitor(), 'late@example.org');
      harness.clock.ms += 24 * 3_600_000;
      expect((await harness.visitor().get(link)).status).toBe(410);
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
    it('shows the same page for a wrong password and an unknown address', async () => {
      const { email } = await harness.customer();
      const answers = await Promise.all(
        [email, 'stranger@example.org'].map(async (address) => {
          const page = await harness.signIn(harness.visitor(), address, 'not this one');
          return { status: page.status, html: withoutVariables(page, address) };
        }),
      );
      expect(answers[0]).toEqual(answers[1]);
      expect(answers[0]?.status).toBe(401);
    });

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

    it('redirects to no other site', async () => {
      const { email } = await harness.customer();
      for (const next of ['https://evil.example/', '//evil.example/', '/account\\..\\', '/admin/']) {
        const fields = { email, password: PASSWORD, next };
        const answer = await harness.visitor().submit('/account/sign-in', '/account/sign-in', fields);
        expect([next, answer.location]).toEqual([next, '/account/']);
      }
    });
  });

  describe('password reset', () => {
    const forgot = async (email: string): Promise<Page> =>
      harness.visitor().submit('/account/forgot', '/account/forgot', { email });

    it('sets the new password by a mailed link and ends every session', async () => {
      const { email, visitor } = await harness.customer();
      const mail = harness.mailbox.next(email);
      await forgot(email);
      const link = harness.pathOf((await mail).link);
      const page = await harness.visitor().submit(link, link, { password: 'a whole new password' });
      expect(page.status).toBe(200);
      expect((await visitor.get('/account/')).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), email)).status).toBe(401);
      expect((await harness.signIn(harness.visitor(), email, 'a whole new password')).status).toBe(303);
      expect((await harness.visitor().get(link)).status).toBe(410);
    });

    it('shows the same page for a known and an unknown address', async () => {
      const { email } = await harness.customer();
      const mail = harness.mailbox.next(email);
      const [known, unknown] = [await forgot(email), await forgot('unheard-of@example.org')];
      expect(withoutVariables(known, email)).toBe(withoutVariables(unknown, 'unheard-of@example.org'));
      await mail;
      expect(harness.mailbox.to('unheard-of@example.org')).toEqual([]);
    });

    it('confirms the address of an account made on the command line, and grants the free credits', async () => {
      const { account_id, email } = await harness.accounts.create({ email: 'cli@example.org', by: 'test' });
      const mail = harness.mailbox.next(email);
      await forgot(email);
      const link = harness.pathOf((await mail).link);
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

  describe('a mail server that is down', () => {
    it('loses no mail: the job is retried', async () => {
      harness.mailbox.failure = new Error('451 come again');
      await expect(
        harness.handlers.reset({ email: (await accountOf('again@example.org')).email }),
      ).rejects.toThrow('451');
      harness.mailbox.failure = null;
      await harness.handlers.reset({ email: 'again@example.org' });
      expect(harness.mailbox.to('again@example.org')).toHaveLength(1);
    });
  });
});

const accountOf = (email: string) => harness.accounts.create({ email, verified: true, by: 'test' });
