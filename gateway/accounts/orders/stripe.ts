/**
 * Card payment through Stripe Checkout.
 *
 * - The order id is the idempotency key of the session: repeating a checkout returns the same session.
 * - A webhook event needs a valid, fresh signature. It moves an order only if the order is paid through Stripe and
 *   amount and currency match. The order's states make replayed and late events harmless.
 * - Unknown events and events about other payments are accepted and ignored.
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
/** Maximum age of an event's signature. */
const MAX_SIGNATURE_AGE_S = 300;

type StripeSettings = Pick<Settings, 'STRIPE_SECRET_KEY' | 'STRIPE_WEBHOOK_SECRET' | 'STRIPE_API_BASE'>;

export interface StripeDependencies {
  accounts: AccountStore;
  audit: AuditLog;
  publicUrl: () => string;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
}

export type WebhookResult =
  | { kind: 'bad_signature' }
  | { kind: 'ignored'; reason: string }
  | { kind: 'moved' | 'unchanged'; event_id: string; order: OrderRecord };

/** The order change that an event reports. */
interface OrderChange {
  order_id: string;
  to: Exclude<OrderState, 'pending'>;
  amount: number | null;
  currency: string | null;
}

export class StripePayment implements PaymentMethod {
  readonly id = 'stripe';
  readonly label = 'Card, through Stripe';
  readonly #stripe: Stripe;
  readonly #secret: string;
  readonly #deps: StripeDependencies;

  constructor(stripe: Stripe, webhookSecret: string, dependencies: StripeDependencies) {
    this.#stripe = stripe;
    this.#secret = webhookSecret;
    this.#deps = dependencies;
  }

  async startCheckout(order: OrderRecord, { email }: { email: string }): Promise<Checkout> {
    const { order_id, pack_name, credits, price_minor, currency } = order;
    const url = this.#deps.publicUrl() + orderPath(order_id);
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
          success_url: url,
          cancel_url: url,
        },
        { idempotencyKey: order_id },
      );
      if (session.url === null) throw new Error('the session has no URL');
      return { url: session.url, isExternal: true };
    } catch (cause) {
      this.#deps.log.error({ err: cause, order: order_id }, 'Stripe checkout failed');
      throw new PaymentUnavailable('Stripe is not available; try again in a moment.', { cause });
    }
  }

  /** @param body the raw bytes @throws {AccountError} `unavailable`; Stripe then sends the event again. */
  async handleWebhook(body: Buffer, signature: string, request_id: string): Promise<WebhookResult> {
    const event = this.#verified(body, signature);
    if (event === null) return { kind: 'bad_signature' };
    const change = orderChangeOf(event);
    if (change === null) return { kind: 'ignored', reason: `nothing to do for ${event.type}` };
    try {
      return await this.#apply(event, change, request_id);
    } catch (error) {
      if (!(error instanceof AccountError) || error.code === 'unavailable') throw error;
      return this.#ignore(event, change, error.message);
    }
  }

  #verified(body: Buffer, signature: string): Stripe.Event | null {
    try {
      const { webhooks } = this.#stripe;
      return webhooks.constructEvent(
        body,
        signature,
        this.#secret,
        MAX_SIGNATURE_AGE_S,
        undefined,
        this.#deps.now(),
      );
    } catch {
      return null;
    }
  }

  async #apply(event: Stripe.Event, change: OrderChange, request_id: string): Promise<WebhookResult> {
    const { accounts, audit } = this.#deps;
    const placed = await accounts.orders.get(change.order_id);
    const mismatch = mismatchOf(placed, change);
    if (mismatch !== null) return this.#ignore(event, change, mismatch);
    const { order_id, state } = placed;
    const { order, changed } = await audit.attempt(
      {
        ...{ by: 'stripe', action: `order.${change.to}`, subject: `order ${order_id}` },
        ...{ before: { state }, after: { state: change.to } },
        ...{ reason: `event ${event.id}`, request_id },
      },
      () => accounts.orders.move(order_id, change.to),
      (move) => (move.changed ? { after: { state: move.order.state, credits: move.order.credits } } : null),
      `stripe ${event.id}`,
    );
    return { kind: changed ? 'moved' : 'unchanged', event_id: event.id, order };
  }

  /** Logged as an error: money may have moved without its order, which an operator must see. */
  #ignore(event: Stripe.Event, { order_id, to }: OrderChange, reason: string): WebhookResult {
    this.#deps.log.error({ event: event.id, order: order_id, to, reason }, 'payment event ignored');
    return { kind: 'ignored', reason };
  }
}

/** Null if the settings disable it. */
export function createStripePayment(
  { STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_API_BASE: apiBase }: StripeSettings,
  dependencies: StripeDependencies,
): StripePayment | null {
  if (key === undefined || webhookSecret === undefined) return null;
  const options = { timeout: TIMEOUT_MS, maxNetworkRetries: RETRIES, telemetry: false };
  return new StripePayment(
    new Stripe(key, { ...apiAddress(apiBase), ...options }),
    webhookSecret,
    dependencies,
  );
}

function apiAddress(apiBase: string | undefined) {
  if (apiBase === undefined) return {};
  const { protocol, hostname, port } = new URL(apiBase);
  const isTls = protocol === 'https:';
  return { protocol: isTls ? 'https' : 'http', host: hostname, port: port || (isTls ? 443 : 80) } as const;
}

/** Why an event does not match its order; null if it does. */
function mismatchOf(order: OrderRecord, { amount, currency }: OrderChange): string | null {
  if (order.payment !== 'stripe') return 'the order is not paid through Stripe';
  if (amount !== null && amount !== order.price_minor) return `${amount} is not the price of the order`;
  if (currency !== null && currency.toUpperCase() !== order.currency)
    return `${currency} is not the order's currency`;
  return null;
}

/** Null for events that change no order. */
function orderChangeOf(event: Stripe.Event): OrderChange | null {
  switch (event.type) {
    case 'checkout.session.completed':
      // A payment that takes days is reported by a later event.
      return event.data.object.payment_status === 'paid' ? fromSession(event.data.object, 'paid') : null;
    case 'checkout.session.async_payment_succeeded':
      return fromSession(event.data.object, 'paid');
    case 'checkout.session.async_payment_failed':
      return fromSession(event.data.object, 'failed');
    case 'checkout.session.expired':
      return fromSession(event.data.object, 'cancelled');
    case 'charge.refunded':
      return fromCharge(event.data.object);
    default:
      return null;
  }
}

function fromSession(session: Stripe.Checkout.Session, to: OrderChange['to']): OrderChange | null {
  const order_id = session.metadata?.order_id;
  if (order_id === undefined) return null;
  return { order_id, to, amount: session.amount_total, currency: session.currency };
}

/** Only a full refund takes the credits back; for a partial one an operator decides. */
function fromCharge(charge: Stripe.Charge): OrderChange | null {
  const order_id = charge.metadata.order_id;
  if (order_id === undefined || !charge.refunded) return null;
  return { order_id, to: 'refunded', amount: charge.amount, currency: charge.currency };
}
