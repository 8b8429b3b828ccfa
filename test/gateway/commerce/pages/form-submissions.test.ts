/** Forms that are sent more than once: carried out once, and the repeat gets the answer of the first. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import {
  createFormToken,
  FormClaim,
  FormSubmissions,
  PAGE_TTL_MS,
} from '../../../../gateway/commerce/people/form-submissions.ts';
import { type Fields, hiddenTokens, type Page, wordsOf } from '../../../admin/harness.ts';
import { cases } from '../../../environment.ts';
import { silentLog } from '../../../redis.ts';
import { type Customer, keyIn, useAccountPages } from './harness.ts';

const harness = await useAccountPages({ settings: { FREE_GRANT: '5' } });

const repository = join(import.meta.dirname, '../../../..');
const keysOf = ({ account_id }: Customer) => harness.accounts.keys.list(account_id);
const ordersOf = ({ account_id }: Customer) => harness.accounts.orders.list(account_id);
const filledForm = async ({ visitor }: Customer, path: string, fields: Fields): Promise<Fields> => ({
  ...hiddenTokens(await visitor.get(path)),
  ...fields,
});
const ORDER = { pack: 'starter', payment: 'invoice' };

/** What Redis stores about a form. */
function storedNames({ visitor }: Customer, form: Fields): { claim: string; page: string } {
  const secret = visitor.cookies.get(harness.context.site.cookie) ?? '';
  const { name } = new FormClaim(secret, form._idempotency ?? '', '');
  return { claim: redisKeys.form(name), page: redisKeys.formPage(name) };
}

async function storedText(name: string): Promise<string> {
  const type = await harness.redis.type(name);
  if (type === 'string') return (await harness.redis.get(name)) ?? '';
  if (type === 'hash') return JSON.stringify(await harness.redis.hgetall(name));
  if (type === 'stream') return JSON.stringify(await harness.redis.xrange(name, '-', '+'));
  return '';
}

describe('every form', () => {
  it('has an idempotency token of its own, except sign-in and sign-out', () => {
    const folders = ['gateway/commerce/pages/views', 'gateway/web/views', 'admin/views'];
    const without: string[] = [];
    for (const folder of folders)
      for (const file of readdirSync(join(repository, folder))) {
        const text = readFileSync(join(repository, folder, file), 'utf8');
        for (const [form] of text.matchAll(/<form method="post".*?<\/form>/gs))
          if (!form.includes('parts.token(csrf)') && !/sign-(in|out|in\/code)"/.test(form))
            without.push(file);
      }
    expect(without).toEqual([]);
  });

  it('has a new token whenever its page is opened', async () => {
    const { visitor } = await harness.customer();
    const tokens = await Promise.all(
      ['/account/keys', '/account/keys', '/account/orders'].map(
        async (path) => hiddenTokens(await visitor.get(path))._idempotency,
      ),
    );
    expect(new Set(tokens).size).toBe(3);
    for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{22}$/);
  });
});

describe('a form sent more than once', () => {
  it('makes one order for each form, whatever the number and the order of the requests', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.nat(2), { minLength: 1, maxLength: 20 }),
        fc.boolean(),
        async (count, picks, isConcurrent) => {
          const customer = await harness.customer();
          const forms: Fields[] = [];
          while (forms.length < count) forms.push(await filledForm(customer, '/account/orders', ORDER));
          const chosen = picks.map((pick) => pick % count);
          const send = (index: number) => customer.visitor.post('/account/orders', forms[index] ?? {});
          const pages: Page[] = [];
          if (isConcurrent) pages.push(...(await Promise.all(chosen.map(send))));
          else for (const index of chosen) pages.push(await send(index));
          expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([303]));
          const targets = Map.groupBy(pages, (_page, at) => chosen[at]);
          for (const same of targets.values())
            expect(new Set(same.map(({ location }) => location)).size).toBe(1);
          expect(await ordersOf(customer)).toHaveLength(targets.size);
          expect(new Set(pages.map(({ location }) => location)).size).toBe(targets.size);
        },
      ),
      { numRuns: cases(15) },
    );
  });

  it('makes one key, and shows it each time', async () => {
    const customer = await harness.customer();
    const form = await filledForm(customer, '/account/keys', { label: 'twice', expires: '' });
    const pages = await Promise.all([1, 2, 3].map(() => customer.visitor.post('/account/keys', form)));
    pages.push(await customer.visitor.post('/account/keys', form));
    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(pages.map(keyIn)).size).toBe(1);
    const [page] = pages;
    expect(page && (await harness.call(keyIn(page))).status).toBe(200);
    expect(await keysOf(customer)).toHaveLength(1);
  });

  it('stores the key encrypted, for two minutes, and shows it to no other session', async () => {
    const customer = await harness.customer();
    const form = await filledForm(customer, '/account/keys', { label: 'secret', expires: '' });
    const key = keyIn(await customer.visitor.post('/account/keys', form));
    const names = storedNames(customer, form);
    expect(key).not.toBe('');
    expect(await harness.allKeys()).toEqual(expect.arrayContaining(Object.values(names)));
    for (const name of await harness.allKeys()) expect(await storedText(name)).not.toContain(key.slice(-40));
    expect(await harness.redis.pttl(names.page)).toBeGreaterThan(0);
    expect(await harness.redis.pttl(names.page)).toBeLessThanOrEqual(PAGE_TTL_MS);

    const other = { ...customer, visitor: harness.visitor() };
    const { email } = customer;
    expect((await harness.signIn(other.visitor, email)).status).toBe(303);
    const tokens = await filledForm(other, '/account/keys', {});
    const page = await other.visitor.post('/account/keys', { ...form, _csrf: tokens._csrf ?? '' });
    expect(keyIn(page)).not.toBe(key);

    await harness.redis.del(names.page);
    const late = await customer.visitor.post('/account/keys', form);
    expect([late.status, keyIn(late)]).toEqual([409, '']);
    expect(wordsOf(late)).toContain('cannot be shown again');
  });

  it('shows the notice of the first again', async () => {
    const customer = await harness.customer();
    const form = await filledForm(customer, '/account/alerts', { low_at: '50' });
    for (let time = 0; time < 2; time++) {
      const { location } = await customer.visitor.post('/account/alerts/balance', form);
      expect(wordsOf(await customer.visitor.get(location))).toContain('fewer than 50');
    }
  });

  it('may be corrected and sent again after a refusal', async () => {
    const customer = await harness.customer();
    const form = await filledForm(customer, '/account/keys', { label: '', expires: 'soon' });
    expect((await customer.visitor.post('/account/keys', form)).status).toBe(422);
    const page = await customer.visitor.post('/account/keys', { ...form, expires: '2027-01-31' });
    expect([page.status, (await keysOf(customer)).length]).toEqual([200, 1]);
  });

  it('is refused with other values, and changes nothing', async () => {
    const customer = await harness.customer();
    const form = await filledForm(customer, '/account/keys', { label: 'first', expires: '' });
    expect((await customer.visitor.post('/account/keys', form)).status).toBe(200);
    const other = await customer.visitor.post('/account/keys', { ...form, label: 'second' });
    expect([other.status, wordsOf(other)]).toEqual([409, expect.stringContaining('with other values')]);
    expect(await keysOf(customer)).toMatchObject([{ label: 'first' }]);
  });

  it('is not carried out again when it is unknown what the first did', async () => {
    const customer = await harness.customer();
    const form = await filledForm(customer, '/account/orders', ORDER);
    const list = redisKeys.accountOrders(customer.account_id);
    // A value of the wrong type makes the creation of the order fail halfway.
    await harness.redis.set(list, 'x');
    expect((await customer.visitor.post('/account/orders', form)).status).toBe(503);
    await harness.redis.del(list);
    const repeat = await customer.visitor.post('/account/orders', form);
    expect([repeat.status, wordsOf(repeat)]).toEqual([409, expect.stringContaining('was interrupted')]);
    expect(await ordersOf(customer)).toEqual([]);
  });

  it('is not carried out again when the first never ended', async () => {
    const submissions = new FormSubmissions(harness.redis, silentLog, { wait_ms: 0 });
    const claim = new FormClaim('secret of the browser', createFormToken(), 'the fields');
    expect(await submissions.claim(claim)).toBeNull();
    await expect(submissions.claim(claim)).rejects.toThrow('still being processed');
  });

  it('with a malformed token is refused', async () => {
    const customer = await harness.customer();
    const form = await filledForm(customer, '/account/orders', ORDER);
    for (const token of ['', 'x', `${createFormToken()}x`, "'; DROP TABLE"])
      expect((await customer.visitor.post('/account/orders', { ...form, _idempotency: token })).status).toBe(
        422,
      );
    expect(await ordersOf(customer)).toEqual([]);
  });
});
