/**
 * Card payment through Stripe Checkout.
 *
 * - Sessions are stored with their order. Paying again returns the session that is open; a new one starts only after
 *   the last one ended. The order id and a number are its idempotency key.
 * - A webhook event needs a valid, fresh signature, and concerns an order only if the order is paid through Stripe and
 *   amount and currency match. It is recorded with the order, whose state follows from all that was recorded: replayed,
 *   late and early events end in the same books (`move-order.lua`).
 * - Unknown events and events about other payments are accepted and ignored.
 */
import type { Logger } from 'pino';
import { Stripe } from 'stripe';
import type { Settings } from '../../../data/runtime/settings.ts';
import type { AuditLog, AuditOutcome } from '../history/history.ts';
import { AccountError, type OrderRecord } from '../store/store.ts';
import type { OrderStore, PaymentReport, Settlement } from './order-store.ts';
import { type Checkout, orderPath, type PaymentMethod, PaymentUnavailable } from './payment.ts';

const TIMEOUT_MS = 10_000;
const RETRIES = 2;
/** Maximum age of an event's signature. */
const MAX_SIGNATURE_AGE_S = 300;

interface StripeDependencies {
  orders: OrderStore;
  audit: AuditLog;
  publicUrl: () => string;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
}

/** What an event or a session of Stripe reports about an order. */
interface OrderReport {
  order_id: string;
  report: PaymentReport;
  amount: number | null;
  currency: string | null;
}

type WebhookResult =
  | { kind: 'bad_signature' }
  | { kind: 'ignored'; reason: string }
  | { kind: 'moved' | 'unchanged'; source: string; order: OrderRecord };

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

  async startCheckout(order: OrderRecord, customer: { email: string }): Promise<Checkout> {
    try {
      return await this.#startCheckout(order, customer);
    } catch (cause) {
      if (cause instanceof AccountError) throw cause;
      this.#deps.log.error({ err: cause, order: order.order_id }, 'Stripe checkout failed');
      throw new PaymentUnavailable('Stripe is not available; try again in a moment.', { cause });
    }
  }

  async #startCheckout(order: OrderRecord, { email }: { email: string }): Promise<Checkout> {
    const { orders } = this.#deps;
    const { order_id } = order;
    const known = await orders.sessions(order);
    for (const { session_id } of known.filter(({ state }) => state === 'open')) {
      const session = await this.#find(session_id);
      if (session?.status === 'open' && session.url) return { url: session.url, isExternal: true };
      if (session?.status === 'complete') return this.#checkoutOfComplete(order, session);
    }
    const session = await this.#create(order, email, known.length);
    if (session.url === null) throw new Error('the session has no URL');
    await orders.settle(order_id, { kind: 'open', session_id: session.id, payment_id: '' });
    return { url: session.url, isExternal: true };
  }

  /**
   * Ends the payment pages of an order that are open, so that nobody can pay it any more. What was paid before is recorded.
   * @throws {AccountError} `unavailable` when Stripe does not answer; a repeat completes it
   */
  async endCheckout(order: OrderRecord): Promise<void> {
    for (const { session_id, state } of await this.#deps.orders.sessions(order)) {
      if (state !== 'open') continue;
      try {
        const session = await this.#expire(session_id);
        const paid = session?.payment_status === 'paid' ? fromSession(session, 'paid') : null;
        if (paid !== null) await this.#apply(`session ${session_id}`, paid, '');
      } catch (cause) {
        if (cause instanceof AccountError) throw cause;
        this.#deps.log.error({ err: cause, order: order.order_id }, 'a Stripe session is not ended');
        throw new AccountError('unavailable', 'Stripe is not available; try again in a moment.', { cause });
      }
    }
  }

  /** The session as it is afterwards; a customer may complete it meanwhile. */
  async #expire(session_id: string): Promise<Stripe.Checkout.Session | null> {
    const session = await this.#find(session_id);
    if (session?.status !== 'open') return session;
    return this.#stripe.checkout.sessions.expire(session_id).catch((error: unknown) => {
      if (error instanceof Stripe.errors.StripeInvalidRequestError) return this.#find(session_id);
      throw error;
    });
  }

  /** Null if Stripe does not know the session, such as after a change of the Stripe account. */
  #find(session_id: string): Promise<Stripe.Checkout.Session | null> {
    return this.#stripe.checkout.sessions.retrieve(session_id).catch((error: unknown) => {
      if (error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 404) return null;
      throw error;
    });
  }

  /** @param earlier sessions of this order */
  #create(order: OrderRecord, email: string, earlier: number): Promise<Stripe.Checkout.Session> {
    const { order_id, pack_name, credits, price_minor, currency } = order;
    const url = this.#deps.publicUrl() + orderPath(order_id);
    const product = `${pack_name}: ${credits.toLocaleString('en')} credits`;
    return this.#stripe.checkout.sessions.create(
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
      { idempotencyKey: earlier === 0 ? order_id : `${order_id}:${earlier}` },
    );
  }

  /** The customer has paid, but the event is late or lost: the session itself says what happened. */
  async #checkoutOfComplete(order: OrderRecord, session: Stripe.Checkout.Session): Promise<Checkout> {
    const paid = session.payment_status === 'paid' ? fromSession(session, 'paid') : null;
    if (paid === null)
      throw new AccountError('order_state', 'Stripe is still processing the payment of this order.');
    await this.#apply(`session ${session.id}`, paid, '');
    return { url: orderPath(order.order_id), isExternal: false };
  }

  /** @param body the raw bytes @throws {AccountError} `unavailable`; Stripe then sends the event again. */
  async handleWebhook(body: Buffer, signature: string, request_id: string): Promise<WebhookResult> {
    const event = this.#verified(body, signature);
    if (event === null) return { kind: 'bad_signature' };
    const report = readReport(event);
    if (report === null) return { kind: 'ignored', reason: `nothing to do for ${event.type}` };
    try {
      return await this.#apply(`event ${event.id}`, report, request_id);
    } catch (error) {
      if (!(error instanceof AccountError) || error.code === 'unavailable') throw error;
      return this.#ignore(`event ${event.id}`, report, error.message);
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

  /** @param source event or session that reports */
  async #apply(source: string, reported: OrderReport, request_id: string): Promise<WebhookResult> {
    const { orders, audit } = this.#deps;
    const { order_id, report } = reported;
    const placed = await orders.get(order_id);
    const mismatch = describeMismatch(placed, reported);
    if (mismatch !== null) return this.#ignore(source, reported, mismatch);
    const settled = await audit.attempt(
      {
        by: 'stripe',
        action: `order.${report.kind}`,
        subject: `order ${order_id}`,
        before: { state: placed.state },
        after: {},
        reason: source,
        request_id,
      },
      () => orders.settle(order_id, report),
      auditOutcome,
      `stripe ${source} ${order_id}`,
    );
    const { order, changed } = settled;
    if (isUnmatched(report, settled)) this.#warn(source, reported, `the order was ${settled.before}`);
    return { kind: changed ? 'moved' : 'unchanged', source, order };
  }

  #ignore(source: string, reported: OrderReport, reason: string): WebhookResult {
    this.#warn(source, reported, reason);
    return { kind: 'ignored', reason };
  }

  /** Logged as an error: money may have moved without its order, which an operator must see. */
  #warn(source: string, { order_id, report }: OrderReport, reason: string): void {
    const { kind, payment_id } = report;
    this.#deps.log.error({ source, order: order_id, kind, payment_id, reason }, 'payment event ignored');
  }
}

/** Whether a payment granted nothing: the order had been paid, or was refunded by hand. */
const isUnmatched = ({ kind }: PaymentReport, { isNew, payments, order }: Settlement): boolean =>
  kind === 'paid' && isNew && (payments > 1 || (payments === 1 && order.state !== 'paid'));

function auditOutcome({ changed, isNew, before, order, payments }: Settlement): AuditOutcome | null {
  const { state, credits, shortfall } = order;
  const facts = { before: { state: before }, after: { state, credits, shortfall } };
  if (changed) return { action: `order.${state}`, ...facts };
  return isNew && payments > 1 ? { action: 'order.paid_again', ...facts } : null;
}

/** Null if the settings disable it. */
export function createStripePayment(
  { STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_API_BASE: apiBase }: Settings,
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

/** Null for events that concern no order. */
function readReport(event: Stripe.Event): OrderReport | null {
  switch (event.type) {
    case 'checkout.session.completed':
      // A payment that takes days is reported by a later event.
      return event.data.object.payment_status === 'paid' ? fromSession(event.data.object, 'paid') : null;
    case 'checkout.session.async_payment_succeeded':
      return fromSession(event.data.object, 'paid');
    case 'checkout.session.async_payment_failed':
      return fromSession(event.data.object, 'failed');
    case 'checkout.session.expired':
      return fromSession(event.data.object, 'expired');
    case 'charge.refunded':
      return fromCharge(event.data.object);
    default:
      return null;
  }
}

function fromSession(
  session: Stripe.Checkout.Session,
  kind: 'paid' | 'failed' | 'expired',
): OrderReport | null {
  const order_id = session.metadata?.order_id;
  if (order_id === undefined) return null;
  const report = { kind, session_id: session.id, payment_id: idOf(session.payment_intent) };
  return { order_id, report, amount: session.amount_total, currency: session.currency };
}

/** Only a full refund takes the credits back; for a partial one an operator decides. */
function fromCharge(charge: Stripe.Charge): OrderReport | null {
  const order_id = charge.metadata.order_id;
  if (order_id === undefined || !charge.refunded) return null;
  const report = { kind: 'refunded', session_id: '', payment_id: idOf(charge.payment_intent) } as const;
  return { order_id, report, amount: charge.amount, currency: charge.currency };
}

const idOf = (payment: Stripe.PaymentIntent | string | null | undefined): string =>
  typeof payment === 'string' ? payment : (payment?.id ?? '');

/** Why a report does not match its order; null if it does. */
function describeMismatch(order: OrderRecord, { amount, currency }: OrderReport): string | null {
  if (order.payment !== 'stripe') return 'the order is not paid through Stripe';
  if (amount !== null && amount !== order.price_minor) return `${amount} is not the price of the order`;
  if (currency !== null && currency.toUpperCase() !== order.currency)
    return `${currency} is not the order's currency`;
  return null;
}
