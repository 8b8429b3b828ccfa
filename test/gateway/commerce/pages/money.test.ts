/** Usage, wallet and orders by invoice, on a fresh Redis and on a cluster. Card payments: stripe.test.ts. */
import { describe, expect, it } from 'vitest';
import { wordsOf } from '../../../admin/harness.ts';
import { SERVERS, useDeployment } from './deployments.ts';
import type { AccountPagesHarness, Customer } from './harness.ts';

let harness: AccountPagesHarness;
let ann: Customer;
let bob: Customer;

describe.each(SERVERS)('on $name', ({ open }) => {
  useDeployment(open, {}, async (opened) => {
    harness = opened;
    ann = await harness.customer('Ann');
    bob = await harness.customer('Bob');
  });

  describe('usage', () => {
    it('shows the numbers of GET /v1/usage by day and by route, and the rate windows', async () => {
      const { key } = await harness.makeKey(ann);
      for (const path of ['/v1/countries/KEN', '/v1/countries/ZZZ', '/v1/topics'])
        await harness.call(key, path);
      const { json } = await harness.call(key, '/v1/usage?days=7');
      const { data } = json as {
        data: { daily: Record<string, number>[]; endpoints: Record<string, number>[] };
      };
      const csv = (await ann.visitor.get('/account/usage?days=7&format=csv')).html
        .trim()
        .split('\r\n')
        .slice(1);
      const asked = data.daily.map(({ date, requests, errors, rows, credits }) =>
        [date, requests, errors, rows, credits].join(','),
      );
      // The call that asked counts itself after it has read.
      expect(csv.slice(0, -1)).toEqual(asked.slice(0, -1));
      const page = await ann.visitor.get('/account/usage?days=7');
      for (const { route } of data.endpoints) expect(page.html).toContain(`<code>${route}</code>`);
      expect(page.html).toContain('<svg');
      expect(wordsOf(page)).toContain('This minute');
      expect(page.html).toContain('100,000');
    });

    it.each(['0', '91', 'x'])('rejects days=%s', async (days) => {
      expect((await ann.visitor.get(`/account/usage?days=${days}`)).status).toBe(422);
    });
  });

  describe('the wallet', () => {
    it('lists every entry with its cause, in pages, and exports all of them without formulas', async () => {
      const carl = await harness.customer('Carl');
      const { key } = await harness.makeKey(carl);
      await harness.call(key);
      const { order_id } = await harness.accounts.orders.create(carl.account_id, 'starter');
      await harness.accounts.orders.move(order_id, 'paid');
      for (let entry = 0; entry < 60; entry++)
        await harness.accounts.grant(carl.account_id, { credits: 1, by: 'ops', reason: '=HYPERLINK("x")' });
      const first = await carl.visitor.get('/account/wallet');
      expect(first.html.match(/<tr>/g)).toHaveLength(51);
      const older = /href="(\/account\/wallet\?before=[^"]+)"/.exec(first.html)?.[1] ?? '';
      const second = wordsOf(await carl.visitor.get(older));
      for (const cause of [
        `order ${order_id}`,
        '/v1/countries/{iso3}',
        'address confirmed',
        'purchase',
        'debit',
      ])
        expect(second).toContain(cause);
      const csv = (await carl.visitor.get('/account/wallet?format=csv')).html;
      expect(csv.trim().split('\r\n')).toHaveLength(64);
      expect(csv).toContain(`"'=HYPERLINK(""x"")"`);
      expect(csv).not.toContain(',=');
    });

    it('sends one low-balance mail for each crossing of the threshold', async () => {
      const dora = await harness.customer('Dora');
      await dora.visitor.submit('/account/alerts', '/account/alerts/balance', { low_at: '1000' });
      const sweep = async (): Promise<number> => {
        await harness.handlers.sweep({});
        await harness.settled();
        return harness.mailbox.to(dora.email).filter(({ subject }) => subject.includes('below')).length;
      };
      expect(await sweep()).toBe(0);
      await harness.accounts.adjust(dora.account_id, { delta: -1, by: 'test' });
      expect([await sweep(), await sweep()]).toEqual([1, 1]);
      await harness.accounts.adjust(dora.account_id, { delta: 500, by: 'test' });
      expect(await sweep()).toBe(1);
      await harness.accounts.adjust(dora.account_id, { delta: -500, by: 'test' });
      expect([await sweep(), await sweep()]).toEqual([2, 2]);
      // Up and down again between two sweeps.
      await harness.accounts.adjust(dora.account_id, { delta: 500, by: 'test' });
      await harness.accounts.adjust(dora.account_id, { delta: -500, by: 'test' });
      expect([await sweep(), await sweep()]).toEqual([3, 3]);
      await dora.visitor.submit('/account/alerts', '/account/alerts/balance', { low_at: '' });
      await harness.accounts.adjust(dora.account_id, { delta: 500, by: 'test' });
      await harness.accounts.adjust(dora.account_id, { delta: -900, by: 'test' });
      expect(await sweep()).toBe(3);
    });

    it.each(['-5', 'many', '1.5'])('rejects the threshold %s and keeps what was typed', async (low_at) => {
      const page = await bob.visitor.submit('/account/alerts', '/account/alerts/balance', { low_at });
      expect(page.status).toBe(422);
      expect(page.html).toContain(`value="${low_at}"`);
    });
  });

  describe('orders', () => {
    it('of other accounts are 404', async () => {
      const { order_id } = await harness.accounts.orders.create(ann.account_id, 'starter');
      for (const path of [`/account/orders/${order_id}`, `/account/orders/${order_id}/invoice`])
        expect((await bob.visitor.get(path)).status).toBe(404);
      const cancelled = await bob.visitor.submit('/account/orders', `/account/orders/${order_id}/cancel`, {});
      expect(cancelled.status).toBe(404);
      expect((await harness.accounts.orders.get(order_id)).state).toBe('pending');
    });

    it('with an unknown pack or payment method are rejected', async () => {
      const place = (fields: Record<string, string>) =>
        bob.visitor.submit('/account/orders', '/account/orders', fields);
      expect((await place({ pack: 'nothing', payment: 'invoice' })).status).toBe(409);
      expect((await place({ pack: 'starter', payment: 'stripe' })).status).toBe(409);
      expect((await place({ pack: 'starter', payment: 'barter' })).status).toBe(422);
      expect(await harness.accounts.orders.list(bob.account_id)).toEqual([]);
    });
  });
});
