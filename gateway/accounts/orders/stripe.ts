/**
 * Payment by card through Stripe Checkout, with the official package.
 *
 * - A session is made under an idempotency key that is the order's id: asking twice gives the same session.
 * - An event counts only when its signature holds and it is fresh. It moves an order only when that order was to be
 *   paid through Stripe and the amount is the order's; the order's own states make replays and stragglers harmless.
 * - Events that are not understood, or that are about somebody else's payment, are received and change nothing.
 */
import type { Logger } from 'pino';
import { Stripe } from 'stripe';
import type { Settings } from '../../../data/runtime/settings.ts';
import type { AccountStore } from '../account-store.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { AccountError, type OrderRecord, type OrderState } from '../records.ts';
import { type Checkout, orderPath, type PaymentMethod, PaymentUnavailable } from './payment.ts';

const TIMEOUT_MS = 10_000;
const RETRIES = 2;
/** An event's signature counts for this long. */
const FRESH_S = 300;

export type StripeSettings = Pick<
  Settings,
  'STRIPE_SECRET_KEY' | 'STRIPE_WEBHOOK_SECRET' | 'STRIPE_API_BASE'
>;

export interface StripeDependencies {
  accounts: AccountStore;
  audit: AuditLog;
  publicUrl: () => string;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
}

/** What became of an event. */
export type Receipt =
  | { kind: 'bad_signature' }
  | { kind: 'ignored'; why: string }
  | { kind: 'moved' | 'unchanged'; event_id: string; order: OrderRecord };

type Target = {
  order_id: string;
  to: Exclude<OrderState, 'pending'>;
  amount: number | null;
  currency: string | null;
};

export class StripePayment implements PaymentMethod {
  readonly id = 'stripe';
  readonly label = 'Card, through Stripe';
  readonly #stripe: Stripe;
  readonly #secret: string;
  readonly #to: StripeDependencies;

  constructor(
    keys: { secretKey: string; webhookSecret: string; apiBase?: string | undefined },
    to: StripeDependencies,
  ) {
    this.#stripe = new Stripe(keys.secretKey, {
      ...address(keys.apiBase),
      timeout: TIMEOUT_MS,
      maxNetworkRetries: RETRIES,
      telemetry: false,
    });
    this.#secret = keys.webhookSecret;
    this.#to = to;
  }

  async begin(order: OrderRecord, { email }: { email: string }): Promise<Checkout> {
    const { order_id, pack_name, credits, price_minor, currency } = order;
    const page = this.#to.publicUrl() + orderPath(order_id);
    const product = `${pack_name}: ${credits.toLocaleString('en')} credits`;
    try {
      const session = await this.#stripe.checkout.sessions.create(
        {
          mode: 'payment',
          client_reference_id: order_id,
          customer_email: email,
          metadata: { order_id },
          payment_intent_data: { metadata: { order_id } },
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: currency.toLowerCase(),
                unit_amount: price_minor,
                product_data: { name: product },
              },
            },
          ],
          success_url: page,
          cancel_url: page,
        },
        { idempotencyKey: order_id },
      );
      if (session.url === null) throw new Error('the session has no address');
      return { url: session.url, elsewhere: true };
    } catch (cause) {
      this.#to.log.error({ err: cause, order: order_id }, 'Stripe began no payment');
      throw new PaymentUnavailable('Stripe does not answer; try again in a moment.', { cause });
    }
  }

  /**
   * Takes one webhook call. @param body the bytes as they came. @throws {AccountError} `unavailable`: Stripe will send
   * it again.
   */
  async receive(body: Buffer, signature: string, request_id: string): Promise<Receipt> {
    const event = this.#verified(body, signature);
    if (event === null) return { kind: 'bad_signature' };
    const target = targetOf(event);
    if (target === null) return { kind: 'ignored', why: `nothing to do for ${event.type}` };
    try {
      return await this.#apply(event, target, request_id);
    } catch (error) {
      if (!(error instanceof AccountError) || error.code === 'unavailable') throw error;
      return this.#ignored(event, target, error.message);
    }
  }

  #verified(body: Buffer, signature: string): Stripe.Event | null {
    try {
      const { webhooks } = this.#stripe;
      return webhooks.constructEvent(body, signature, this.#secret, FRESH_S, undefined, this.#to.now());
    } catch {
      return null;
    }
  }

  async #apply(event: Stripe.Event, target: Target, request_id: string): Promise<Receipt> {
    const { accounts, audit } = this.#to;
    const placed = await accounts.getOrder(target.order_id);
    const misfit = misfitOf(placed, target);
    if (misfit !== null) return this.#ignored(event, target, misfit);
    const { order_id, state } = placed;
    const { order, changed } = await audit.attempt(
      {
        ...{ by: 'stripe', action: `order.${target.to}`, subject: `order ${order_id}` },
        ...{ before: { state }, after: { state: target.to } },
        ...{ reason: `event ${event.id}`, request_id },
      },
      () => accounts.moveOrder(order_id, target.to),
      (move) => (move.changed ? { after: { state: move.order.state, credits: move.order.credits } } : null),
      `stripe ${event.id}`,
    );
    return { kind: changed ? 'moved' : 'unchanged', event_id: event.id, order };
  }

  /** Money may have moved without its order: an operator must see it. */
  #ignored(event: Stripe.Event, target: Target, why: string): Receipt {
    this.#to.log.error(
      { event: event.id, order: target.order_id, to: target.to, why },
      'a payment event changed nothing',
    );
    return { kind: 'ignored', why };
  }
}

/** Null where the settings turn it off. */
export function stripePayment(settings: StripeSettings, to: StripeDependencies): StripePayment | null {
  const {
    STRIPE_SECRET_KEY: secretKey,
    STRIPE_WEBHOOK_SECRET: webhookSecret,
    STRIPE_API_BASE: apiBase,
  } = settings;
  if (secretKey === undefined || webhookSecret === undefined) return null;
  return new StripePayment({ secretKey, webhookSecret, apiBase }, to);
}

function address(apiBase: string | undefined) {
  if (apiBase === undefined) return {};
  const { protocol, hostname, port } = new URL(apiBase);
  const isTls = protocol === 'https:';
  return { protocol: isTls ? 'https' : 'http', host: hostname, port: port || (isTls ? 443 : 80) } as const;
}

/** Why an event does not fit its order; null when it does. */
function misfitOf(order: OrderRecord, { amount, currency }: Target): string | null {
  if (order.payment !== 'stripe') return 'the order is not paid through Stripe';
  if (amount !== null && amount !== order.price_minor) return `${amount} is not the price of the order`;
  if (currency !== null && currency.toUpperCase() !== order.currency)
    return `${currency} is not the order's currency`;
  return null;
}

/** What an event asks for, or null when it is of no interest. */
function targetOf(event: Stripe.Event): Target | null {
  switch (event.type) {
    case 'checkout.session.completed':
      // A payment that takes days says so later.
      return event.data.object.payment_status === 'paid' ? ofSession(event.data.object, 'paid') : null;
    case 'checkout.session.async_payment_succeeded':
      return ofSession(event.data.object, 'paid');
    case 'checkout.session.async_payment_failed':
      return ofSession(event.data.object, 'failed');
    case 'checkout.session.expired':
      return ofSession(event.data.object, 'cancelled');
    case 'charge.refunded':
      return ofCharge(event.data.object);
    default:
      return null;
  }
}

function ofSession(session: Stripe.Checkout.Session, to: Target['to']): Target | null {
  const order_id = session.metadata?.order_id;
  if (order_id === undefined) return null;
  return { order_id, to, amount: session.amount_total, currency: session.currency };
}

/** Only a refund of everything takes the credits back: how many a part of the money is worth is a person's decision. */
function ofCharge(charge: Stripe.Charge): Target | null {
  const order_id = charge.metadata.order_id;
  if (order_id === undefined || !charge.refunded) return null;
  return { order_id, to: 'refunded', amount: charge.amount, currency: charge.currency };
}
