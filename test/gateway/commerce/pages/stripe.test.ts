/** Stripe Checkout against a fake API, with webhooks signed by the official package. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { wordsOf } from '../../../admin/harness.ts';
import { booksOf } from '../../api/metering/harness.ts';
import { SERVERS, useDeployment } from './deployments.ts';
import {
  deliver,
  eventText,
  type Session,
  STRIPE_API_KEY,
  stripeSettings,
  useFakeStripe,
} from './fake-stripe.ts';
import type { AccountPagesHarness, Customer } from './harness.ts';

let harness: AccountPagesHarness;
let buyers = 0;
const stripe = await useFakeStripe();

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

/** The same without pages: an account that buys nothing else, and an order whose payment has begun. */
async function bought(): Promise<{ account_id: string; order_id: string; session: Session }> {
  const email = `buyer-${buyers++}@example.org`;
  const { account_id } = await harness.accounts.create({ email, verified: true, by: 'test' });
  const { order_id } = await harness.accounts.orders.create(account_id, 'starter', 'stripe');
  return { account_id, order_id, session: await checkout(order_id) };
}

/** Goes to the payment page of an order. @returns its session */
async function checkout(order_id: string): Promise<Session> {
  const order = await harness.accounts.orders.get(order_id);
  await harness.context.stripe?.startCheckout(order, { email: 'buyer@example.org' });
  return stripe.sessionOf(order_id);
}

const paid = (session: Session): string =>
  eventText('checkout.session.completed', { ...session, payment_status: 'paid' });
const send = (payload: string, at_ms = harness.clock.ms, secret?: string): Promise<number> =>
  deliver(harness.url, payload, { at_ms, ...(secret !== undefined && { secret }) });
const stateOf = async (order_id: string): Promise<string> =>
  (await harness.accounts.orders.get(order_id)).state;

/** What happens to one payment session. */
interface Fate {
  end: 'none' | 'expired' | 'failed' | 'paid' | 'paid days later';
  refund: 'none' | 'partial' | 'full';
}
const history = fc.array(
  fc.record<Fate>({
    end: fc.constantFrom('none', 'expired', 'failed', 'paid', 'paid days later'),
    refund: fc.constantFrom('none', 'partial', 'full'),
  }),
  { minLength: 1, maxLength: 2 },
);

const isPaid = ({ end }: Fate): boolean => end.startsWith('paid');

/** The events that Stripe sends about it. */
function eventsOf(fate: Fate, session: Session): string[] {
  const { end, refund } = fate;
  const charge = { ...chargeOf(session), refunded: false, amount_refunded: 100 };
  const async = eventText('checkout.session.completed', { ...session, payment_status: 'unpaid' });
  const events = {
    none: [],
    expired: [expired(session)],
    failed: [async, eventText('checkout.session.async_payment_failed', session)],
    paid: [paid(session)],
    'paid days later': [async, eventText('checkout.session.async_payment_succeeded', session)],
  }[end];
  if (!isPaid(fate) || refund === 'none') return events;
  return [...events, refund === 'full' ? refunded(session) : eventText('charge.refunded', charge)];
}

/** State and balance in the end, from what happened and not from its sequence. */
function expectedBooks(fates: readonly Fate[]): { state: string; balance: number } {
  const payments = fates.filter(isPaid);
  if (payments.some(({ refund }) => refund !== 'full')) return { state: 'paid', balance: 10_000 };
  if (payments.length > 0) return { state: 'refunded', balance: 0 };
  if (fates.some(({ end }) => end === 'none')) return { state: 'pending', balance: 0 };
  const state = fates.some(({ end }) => end === 'failed') ? 'failed' : 'cancelled';
  return { state, balance: 0 };
}

const chargeOf = ({ payment_intent, metadata }: Session) => ({
  amount: 900,
  currency: 'eur',
  payment_intent,
  metadata,
});
const refunded = (session: Session): string =>
  eventText('charge.refunded', { ...chargeOf(session), refunded: true, amount_refunded: 900 });
const expired = (session: Session): string => eventText('checkout.session.expired', session);

/** Ends the open session at Stripe and pays again. @returns the new session */
function payAgain(order_id: string): Promise<Session> {
  stripe.sessionOf(order_id).status = 'expired';
  return checkout(order_id);
}

describe.each(SERVERS)('on $name', ({ numRuns, open }) => {
  useDeployment(open, { ...stripeSettings(stripe), FREE_GRANT: '0' }, (opened) => {
    harness = opened;
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
      const { account_id, order_id, session } = await bought();
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
      const { order_id, session } = await bought();
      expect(await send(paid(session), harness.clock.ms + late_ms, secret)).toBe(400);
      expect(await stateOf(order_id)).toBe('pending');
    });

    it('without a signature, or with a changed body, is rejected', async () => {
      const { order_id, session } = await bought();
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
      const { account_id, order_id, session } = await bought();
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

    it('rejects other methods and oversized bodies', async () => {
      const url = `${harness.url}/account/stripe/webhook`;
      expect((await fetch(url)).status).toBe(401);
      expect(
        (await fetch(url, { method: 'POST', body: 'x'.repeat(2_000_000) })).status,
      ).toBeGreaterThanOrEqual(400);
    });
  });

  describe('events out of order', () => {
    it('a refund before its payment leaves no credits, not even for a moment', async () => {
      const { account_id, order_id, session } = await bought();
      expect(await send(refunded(session))).toBe(200);
      expect(await stateOf(order_id)).toBe('pending');
      expect(await send(paid(session))).toBe(200);
      expect(await stateOf(order_id)).toBe('refunded');
      expect(await harness.accounts.get(account_id)).toMatchObject({ tier: 'free', credits: { balance: 0 } });
      const kinds = (await harness.accounts.ledger(account_id)).map(({ kind, delta }) => [kind, delta]);
      expect(kinds).toEqual([
        ['refund', -10_000],
        ['purchase', 10_000],
      ]);
    });

    it('orders paid and refunded by hand keep their books when Stripe reports the same', async () => {
      const { account_id, order_id, session } = await bought();
      await harness.accounts.orders.move(order_id, 'paid');
      await send(paid(session));
      expect(await harness.balance(account_id)).toBe(10_000);
      await harness.accounts.orders.move(order_id, 'refunded');
      await send(eventText('checkout.session.async_payment_succeeded', session));
      await send(refunded(session));
      expect([await stateOf(order_id), await harness.balance(account_id)]).toEqual(['refunded', 0]);
    });

    it('credits that were spent before a refund are not granted again by a second payment', async () => {
      const order = await bought();
      const newer = await payAgain(order.order_id);
      await send(paid(order.session));
      await harness.redis.hincrby(redisKeys.account(order.account_id), 'balance', -4_000);
      await send(refunded(order.session));
      expect(await harness.accounts.orders.get(order.order_id)).toMatchObject({ shortfall: 4_000 });
      await send(paid(newer));
      expect(await harness.balance(order.account_id)).toBe(6_000);
      expect(await harness.accounts.orders.get(order.order_id)).toMatchObject({
        state: 'paid',
        shortfall: 0,
      });
    });

    it('a payment whose event was lost is found when the customer pays again', async () => {
      const { account_id, order_id, visitor, session } = await purchase();
      const path = `/account/orders/${order_id}`;
      session.status = 'complete';
      expect((await visitor.submit(path, `${path}/pay`, {})).status).toBe(409);
      session.payment_status = 'paid';
      expect(await visitor.submit(path, `${path}/pay`, {})).toMatchObject({ status: 303, location: path });
      expect([await stateOf(order_id), await harness.balance(account_id)]).toEqual(['paid', 10_000]);
      expect(stripe.sessionsOf(order_id)).toHaveLength(1);
    });

    it('every sequence of the events of an order, with repeats, ends in the same books', async () => {
      await fc.assert(
        fc.asyncProperty(history, fc.infiniteStream(fc.nat()), async (fates, picks) => {
          const order = await bought();
          const sessions =
            fates.length === 1 ? [order.session] : [order.session, await payAgain(order.order_id)];
          const events = fates.flatMap((fate, index) => eventsOf(fate, sessions[index] ?? order.session));
          // Each event once or twice, in any sequence.
          const queue = [...events, ...events.filter(() => (picks.next().value ?? 0) % 2 === 0)];
          while (queue.length > 0) {
            const [event = ''] = queue.splice((picks.next().value ?? 0) % queue.length, 1);
            expect(await send(event)).toBe(200);
          }
          const { balance, state } = expectedBooks(fates);
          expect(await harness.accounts.orders.get(order.order_id)).toMatchObject({ state, shortfall: 0 });
          expect(await harness.accounts.get(order.account_id)).toMatchObject({
            tier: state === 'paid' ? 'paid' : 'free',
            credits: { balance, lifetime_granted: balance },
          });
          const books = await booksOf({ redis: harness.redis, store: harness.accounts }, order.account_id);
          expect(books.ledger).toBe(balance);
        }),
        { numRuns: 4 * numRuns },
      );
    });
  });

  describe('an order at Stripe', () => {
    it('cannot be cancelled here while it may be paid there', async () => {
      const { order_id, visitor } = await purchase();
      const path = `/account/orders/${order_id}`;
      expect((await visitor.submit(path, `${path}/cancel`, {})).status).toBe(409);
      expect(await stateOf(order_id)).toBe('pending');
    });

    it('ends there with the erasure of its account, also when it had been given up here', async () => {
      const first = await bought();
      await harness.erase(first.account_id);
      expect([await stateOf(first.order_id), first.session.status]).toEqual(['cancelled', 'expired']);
      expect(await send(expired(first.session))).toBe(200);
      const second = await bought();
      await harness.accounts.orders.move(second.order_id, 'cancelled');
      await harness.erase(second.account_id);
      expect(second.session.status).toBe('expired');
    });

    it('keeps an erasure open while Stripe is down; the next attempt completes it', async () => {
      const { account_id, order_id, session } = await bought();
      stripe.failing = 400;
      await expect(harness.erase(account_id)).rejects.toMatchObject({ code: 'unavailable' });
      stripe.failing = null;
      expect([await stateOf(order_id), session.status]).toEqual(['pending', 'open']);
      await harness.erase(account_id);
      const requests = await harness.context.requests.listOf(account_id);
      expect(requests).toMatchObject([{ kind: 'erasure', status: 'done' }]);
      expect([await stateOf(order_id), session.status]).toEqual(['cancelled', 'expired']);
    });

    it('stays paid when the customer pays at the moment of the erasure', async () => {
      const { account_id, order_id, session } = await bought();
      stripe.beforeExpiring = (one) => Object.assign(one, { status: 'complete', payment_status: 'paid' });
      await harness.erase(account_id);
      stripe.beforeExpiring = null;
      expect([await stateOf(order_id), session.status]).toEqual(['paid', 'complete']);
    });
  });
});
