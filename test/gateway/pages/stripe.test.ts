/** Stripe Checkout against a fake API, with webhooks signed by the official package. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wordsOf } from '../../admin/harness.ts';
import { DEPLOYMENTS, type OpenDeployment } from './deployments.ts';
import {
  deliver,
  eventText,
  FakeStripe,
  type Session,
  STRIPE_API_KEY,
  stripeSettings,
} from './fake-stripe.ts';
import type { AccountPagesHarness, Customer } from './harness.ts';

let harness: AccountPagesHarness;
let stripe: FakeStripe;

interface Purchase extends Customer {
  order_id: string;
  session: Session;
}

async function purchase(): Promise<Purchase> {
  const customer = await harness.customer();
  await customer.visitor.submit('/account/orders', '/account/orders', { pack: 'starter', payment: 'stripe' });
  const [order] = await harness.accounts.orders.list(customer.account_id);
  const order_id = order?.order_id ?? '';
  return { ...customer, order_id, session: stripe.sessionOf(order_id) };
}

const paid = (session: Session): string =>
  eventText('checkout.session.completed', { ...session, payment_status: 'paid' });
const send = (payload: string, at_ms = harness.clock.ms, secret?: string): Promise<number> =>
  deliver(harness.url, payload, { at_ms, ...(secret !== undefined && { secret }) });
const stateOf = async (order_id: string): Promise<string> =>
  (await harness.accounts.orders.get(order_id)).state;

describe.each(DEPLOYMENTS)('on $name', ({ open }) => {
  let opened: OpenDeployment;
  beforeAll(async () => {
    stripe = await FakeStripe.start();
    opened = await open({ ...stripeSettings(stripe), FREE_GRANT: '0' });
    harness = opened.harness;
  });
  afterAll(async () => {
    await opened.stop();
    stripe.stop();
  });

  describe('beginning a payment', () => {
    it('asks Stripe for a session with the price of the pack, under the key of the order', async () => {
      const { order_id, email } = await purchase();
      const call = stripe.calls.at(-1);
      expect(call?.authorization).toBe(`Bearer ${STRIPE_API_KEY}`);
      expect(call?.idempotencyKey).toBe(order_id);
      expect(call?.form).toMatchObject({
        mode: 'payment',
        client_reference_id: order_id,
        customer_email: email,
        'metadata[order_id]': order_id,
        'payment_intent_data[metadata][order_id]': order_id,
        'line_items[0][quantity]': '1',
        'line_items[0][price_data][currency]': 'eur',
        'line_items[0][price_data][unit_amount]': '900',
        success_url: `${harness.url}/account/orders/${order_id}`,
      });
    });

    it('again for the same order gives the same session', async () => {
      const { order_id, visitor, session } = await purchase();
      const path = `/account/orders/${order_id}`;
      const page = await visitor.submit(path, `${path}/pay`, {});
      expect(page.html).toContain(`href="${session.url}"`);
      expect([...stripe.sessions.keys()].filter((key) => key === order_id)).toHaveLength(1);
    });

    it('while Stripe is down leaves the order pending, says so and grants nothing', async () => {
      const { visitor, account_id } = await harness.customer();
      stripe.failing = 400;
      const page = await visitor.submit('/account/orders', '/account/orders', {
        pack: 'starter',
        payment: 'stripe',
      });
      stripe.failing = null;
      expect(page.status).toBe(503);
      expect(wordsOf(page)).toContain('Stripe is not available');
      expect(await harness.accounts.orders.list(account_id)).toMatchObject([{ state: 'pending' }]);
      expect(await harness.balance(account_id)).toBe(0);
    });
  });

  describe('a webhook', () => {
    it('for a paid session grants the credits once, however often it arrives', async () => {
      const { account_id, order_id, session } = await purchase();
      const event = paid(session);
      const answers = await Promise.all(Array.from({ length: 6 }, () => send(event)));
      expect(answers).toEqual([200, 200, 200, 200, 200, 200]);
      expect(await send(paid(session))).toBe(200);
      expect(await stateOf(order_id)).toBe('paid');
      expect(await harness.balance(account_id)).toBe(10_000);
      expect(await harness.context.audit.list({ subject: `order ${order_id}` })).toMatchObject([
        { by: 'stripe', action: 'order.paid' },
      ]);
    });

    it.each([
      ['with an invalid signature', 'whsec_of_another_account', 0],
      ['that is older than five minutes', undefined, -301_000],
    ])('%s is rejected and changes nothing', async (_what, secret, late_ms) => {
      const { order_id, session } = await purchase();
      expect(await send(paid(session), harness.clock.ms + late_ms, secret)).toBe(400);
      expect(await stateOf(order_id)).toBe('pending');
    });

    it('without a signature, or with a changed body, is rejected', async () => {
      const { order_id, session } = await purchase();
      const url = `${harness.url}/account/stripe/webhook`;
      const plain = await fetch(url, { method: 'POST', body: paid(session) });
      expect(plain.status).toBe(400);
      expect(plain.headers.get('cache-control')).toBe('no-store');
      expect(await stateOf(order_id)).toBe('pending');
    });

    it.each([
      ['of an unknown type', 'customer.created', {}],
      ['for a session that is not paid yet', 'checkout.session.completed', { payment_status: 'unpaid' }],
      ['for an order of another service', 'checkout.session.async_payment_succeeded', { metadata: {} }],
      [
        'for an unknown order',
        'checkout.session.async_payment_succeeded',
        { metadata: { order_id: 'ord_x' } },
      ],
      ['with another amount', 'checkout.session.async_payment_succeeded', { amount_total: 1 }],
      ['in another currency', 'checkout.session.async_payment_succeeded', { currency: 'usd' }],
    ])('%s is accepted and changes nothing', async (_what, type, changes) => {
      const { account_id, order_id, session } = await purchase();
      expect(await send(eventText(type, { ...session, ...changes }))).toBe(200);
      expect(await stateOf(order_id)).toBe('pending');
      expect(await harness.balance(account_id)).toBe(0);
    });

    it('never pays an order with payment by invoice', async () => {
      const { account_id } = await harness.customer();
      const { order_id } = await harness.accounts.orders.create(account_id, 'starter', 'invoice');
      const session = { amount_total: 900, currency: 'eur', metadata: { order_id } };
      expect(await send(eventText('checkout.session.async_payment_succeeded', session))).toBe(200);
      expect(await stateOf(order_id)).toBe('pending');
    });

    it.each([
      ['checkout.session.async_payment_succeeded', 'paid'],
      ['checkout.session.async_payment_failed', 'failed'],
      ['checkout.session.expired', 'cancelled'],
    ])('%s sets the order to %s', async (type, state) => {
      const { order_id, session } = await purchase();
      expect(await send(eventText(type, session))).toBe(200);
      expect(await stateOf(order_id)).toBe(state);
    });

    it('for a full refund takes back the remaining credits; for a partial refund changes nothing', async () => {
      const { account_id, order_id, session } = await purchase();
      await send(paid(session));
      const charge = { amount: 900, currency: 'eur', metadata: { order_id } };
      await send(eventText('charge.refunded', { ...charge, refunded: false, amount_refunded: 100 }));
      expect(await stateOf(order_id)).toBe('paid');
      await send(eventText('charge.refunded', { ...charge, refunded: true }));
      expect(await stateOf(order_id)).toBe('refunded');
      expect(await harness.balance(account_id)).toBe(0);
      await send(paid(session));
      expect(await harness.balance(account_id)).toBe(0);
    });

    it('rejects other methods and oversized bodies', async () => {
      const url = `${harness.url}/account/stripe/webhook`;
      expect((await fetch(url)).status).toBe(401);
      expect(
        (await fetch(url, { method: 'POST', body: 'x'.repeat(2_000_000) })).status,
      ).toBeGreaterThanOrEqual(400);
    });
  });

  describe('an order at Stripe', () => {
    it('cannot be cancelled here while it may be paid there', async () => {
      const { order_id, visitor } = await purchase();
      const path = `/account/orders/${order_id}`;
      expect((await visitor.submit(path, `${path}/cancel`, {})).status).toBe(409);
      expect(await stateOf(order_id)).toBe('pending');
    });
  });
});
