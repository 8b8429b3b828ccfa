/** Issue 5, item 1: sign up, verify, sign in, reset. */
import { describe, expect, it } from 'vitest';
import { type Page, tokenOf, wordsOf } from '../../admin/harness.ts';
import { PLACES, useWorld } from './deployments.ts';
import { type AccountWorld, PASSWORD } from './harness.ts';

let world: AccountWorld;

/** A page without what differs between two requests of anybody. */
const bare = (page: Page, email: string): string =>
  page.html.replaceAll(/(name="_csrf" value=")[^"]+/g, '$1').replaceAll(email, 'EMAIL');

describe.each(PLACES)('on $name', ({ open }) => {
  useWorld(open, { FREE_GRANT: '1234' }, (opened) => {
    world = opened;
  });

  describe('signing up', () => {
    it('mails a link; the address it confirms has an account, signed in with the password of the sign-up, and the free grant', async () => {
      const { account_id, visitor } = await world.register('Ann Example');
      expect(await world.accounts.get(account_id)).toMatchObject({
        name: 'Ann Example',
        verified: true,
        tier: 'free',
        credits: { balance: 1234, lifetime_granted: 1234 },
      });
      expect(wordsOf(await visitor.get('/account/'))).toContain('Ann Example');
    });

    it('makes no account before the address is confirmed, and nobody can sign in', async () => {
      const email = 'early@example.org';
      const visitor = world.visitor();
      await world.signUp(visitor, email);
      await expect(world.accounts.findByEmail(email)).rejects.toMatchObject({ code: 'account_unknown' });
      expect((await world.signIn(visitor, email)).status).toBe(401);
    });

    it('answers a known and an unknown address with the same page', async () => {
      const { email } = await world.customer();
      const pages = await Promise.all(
        [email, 'nobody-yet@example.org'].map(async (address) => {
          const visitor = world.visitor();
          const page = await visitor.submit('/account/sign-up', '/account/sign-up', {
            ...{ email: address, name: 'X', password: PASSWORD },
          });
          return { status: page.status, html: bare(page, address) };
        }),
      );
      expect(pages[0]).toEqual(pages[1]);
      expect(pages[0]?.status).toBe(200);
    });

    it('with an address that has an account changes nothing and says so by mail only', async () => {
      const { email, account_id } = await world.customer();
      const mail = world.mailbox.next(email);
      await world.visitor().submit('/account/sign-up', '/account/sign-up', {
        ...{ email: email.toUpperCase(), name: 'Mallory', password: 'another password' },
      });
      expect(await mail).toMatchObject({ subject: 'You already have an account' });
      expect((await world.accounts.get(account_id)).name).toBe('Ann');
      expect((await world.signIn(world.visitor(), email, 'another password')).status).toBe(401);
      expect((await world.signIn(world.visitor(), email)).status).toBe(303);
    });

    it('twice before confirming: the link that is used decides, and the other grants nothing more', async () => {
      const email = 'twice@example.org';
      const mallory = await world.signUp(world.visitor(), email, 'Mallory', 'password of mallory');
      const ann = await world.signUp(world.visitor(), email, 'Ann', PASSWORD);
      await world.visitor().submit(ann, ann, {});
      expect((await world.visitor().submit(mallory, mallory, {})).status).toBe(200);
      expect((await world.signIn(world.visitor(), email, 'password of mallory')).status).toBe(401);
      expect((await world.signIn(world.visitor(), email)).status).toBe(303);
      const { account_id } = await world.accounts.findByEmail(email);
      expect(await world.balance(account_id)).toBe(1234);
    });

    it.each([
      ['an address', { email: 'ann', password: PASSWORD }, 'not an e-mail address'],
      ['a password', { email: 'ann@example.org', password: 'short' }, '8 to 200 characters'],
    ])('keeps what was typed when %s is not right', async (_what, fields, sentence) => {
      const page = await world
        .visitor()
        .submit('/account/sign-up', '/account/sign-up', { name: 'A "quoted" <b>name</b>', ...fields });
      expect(page.status).toBe(422);
      expect(page.html).toContain(sentence);
      expect(page.html).toContain(`value="${fields.email}"`);
      expect(page.html).toContain('A &quot;quoted&quot; &lt;b&gt;name&lt;/b&gt;');
    });
  });

  describe('a mailed link', () => {
    it('is not used up by looking at it', async () => {
      const link = await world.signUp(world.visitor(), 'scanner@example.org');
      for (let look = 0; look < 3; look++) expect((await world.visitor().get(link)).status).toBe(200);
      expect((await world.visitor().submit(link, link, {})).status).toBe(200);
    });

    it('works once', async () => {
      const link = await world.signUp(world.visitor(), 'once@example.org');
      const visitor = world.visitor();
      const token = tokenOf(await visitor.get(link));
      expect((await visitor.post(link, { _csrf: token })).status).toBe(200);
      const again = await visitor.post(link, { _csrf: token });
      expect(again.status).toBe(410);
      expect(wordsOf(again)).toContain('no longer valid');
      expect((await visitor.get(link)).status).toBe(410);
    });

    it('expires after 24 hours, a reset after one', async () => {
      const link = await world.signUp(world.visitor(), 'late@example.org');
      world.clock.ms += 24 * 3_600_000;
      expect((await world.visitor().get(link)).status).toBe(410);
    });

    it('with any character changed is refused', async () => {
      const link = await world.signUp(world.visitor(), 'forged@example.org');
      const at = link.lastIndexOf('/') + 1;
      const dots = [...link.matchAll(/\./g)].map(({ index }) => index);
      for (const place of [at, at + 20, (dots[0] ?? 0) + 3, (dots[1] ?? 0) + 5]) {
        const forged = link.slice(0, place) + (link[place] === 'a' ? 'b' : 'a') + link.slice(place + 1);
        expect((await world.visitor().get(forged)).status).toBe(410);
      }
      expect((await world.visitor().get(link.replace('/confirm/', '/reset/'))).status).toBe(410);
      expect((await world.visitor().get(link)).status).toBe(200);
    });
  });

  describe('signing in', () => {
    it('says the same of a wrong password and of an unknown address', async () => {
      const { email } = await world.customer();
      const answers = await Promise.all(
        [email, 'stranger@example.org'].map(async (address) => {
          const page = await world.signIn(world.visitor(), address, 'not this one');
          return { status: page.status, html: bare(page, address) };
        }),
      );
      expect(answers[0]).toEqual(answers[1]);
      expect(answers[0]?.status).toBe(401);
    });

    it('begins a new session whatever the browser came with, and ends it with the sign-out', async () => {
      const { email } = await world.customer();
      const visitor = world.visitor();
      visitor.cookies.set('almanac_account', 'A'.repeat(43));
      await world.signIn(visitor, email);
      const id = visitor.cookies.get('almanac_account') ?? '';
      expect(id).not.toBe('A'.repeat(43));
      await visitor.submit('/account/', '/account/sign-out', {});
      visitor.cookies.set('almanac_account', id);
      expect((await visitor.get('/account/')).status).toBe(401);
    });

    it('everywhere ends with one form', async () => {
      const { email, visitor } = await world.customer();
      const other = world.visitor();
      await world.signIn(other, email);
      await visitor.submit('/account/', '/account/sign-out-everywhere', {});
      expect((await other.get('/account/')).status).toBe(401);
    });

    it('slows down by account, without waiting inside of a request, and says when to come again', async () => {
      const { email } = await world.customer();
      const visitor = world.visitor();
      const statuses: number[] = [];
      for (let guess = 0; guess < 4; guess++)
        statuses.push((await world.signIn(visitor, email, `guess ${guess}`)).status);
      expect(statuses).toEqual([401, 401, 401, 429]);
      const refused = await world.signIn(visitor, email);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      world.clock.ms += 300_000;
      expect((await world.signIn(visitor, email)).status).toBe(303);
    });

    it('takes nobody to another site afterwards', async () => {
      const { email } = await world.customer();
      for (const next of ['https://evil.example/', '//evil.example/', '/account\\..\\', '/admin/']) {
        const fields = { email, password: PASSWORD, next };
        const answer = await world.visitor().submit('/account/sign-in', '/account/sign-in', fields);
        expect([next, answer.location]).toEqual([next, '/account/']);
      }
    });
  });

  describe('a lost password', () => {
    const forgot = async (email: string): Promise<Page> =>
      world.visitor().submit('/account/forgot', '/account/forgot', { email });

    it('is replaced by way of a mailed link; every session ends', async () => {
      const { email, visitor } = await world.customer();
      const mail = world.mailbox.next(email);
      await forgot(email);
      const link = world.pathOf((await mail).link);
      const page = await world.visitor().submit(link, link, { password: 'a whole new password' });
      expect(page.status).toBe(200);
      expect((await visitor.get('/account/')).status).toBe(401);
      expect((await world.signIn(world.visitor(), email)).status).toBe(401);
      expect((await world.signIn(world.visitor(), email, 'a whole new password')).status).toBe(303);
      expect((await world.visitor().get(link)).status).toBe(410);
    });

    it('answers a known and an unknown address with the same page', async () => {
      const { email } = await world.customer();
      const mail = world.mailbox.next(email);
      const [known, unknown] = [await forgot(email), await forgot('unheard-of@example.org')];
      expect(bare(known, email)).toBe(bare(unknown, 'unheard-of@example.org'));
      await mail;
      expect(world.mailbox.to('unheard-of@example.org')).toEqual([]);
    });

    it('of an account that the command line made confirms its address, with the free grant', async () => {
      const { account_id, email } = await world.accounts.create({ email: 'cli@example.org', by: 'test' });
      const mail = world.mailbox.next(email);
      await forgot(email);
      const link = world.pathOf((await mail).link);
      await world.visitor().submit(link, link, { password: PASSWORD });
      expect((await world.signIn(world.visitor(), email)).status).toBe(303);
      expect(await world.accounts.get(account_id)).toMatchObject({
        verified: true,
        credits: { balance: 1234 },
      });
    });

    it('can be asked for so often only, known or not', async () => {
      for (const email of [(await world.customer()).email, 'unknown-too@example.org']) {
        const statuses: number[] = [];
        for (let time = 0; time < 5; time++) statuses.push((await forgot(email)).status);
        expect([200, 429]).toContain(statuses[2]);
        expect(statuses[4]).toBe(429);
        world.clock.ms += 3_600_000;
      }
    });
  });

  describe('a mail server that is away', () => {
    it('loses no mail: the job is tried again', async () => {
      world.mailbox.failure = new Error('451 come again');
      await expect(
        world.handlers.reset({ email: (await accountOf('again@example.org')).email }),
      ).rejects.toThrow('451');
      world.mailbox.failure = null;
      await world.handlers.reset({ email: 'again@example.org' });
      expect(world.mailbox.to('again@example.org')).toHaveLength(1);
    });
  });
});

const accountOf = (email: string) => world.accounts.create({ email, verified: true, by: 'test' });
