/**
 * A fake Stripe: the Checkout API over HTTP, a payment page, and webhooks signed by the official package. A repeated
 * idempotency key gets the first response.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { Stripe } from 'stripe';
import { stopAfterTests } from '../../../after-tests.ts';
import { listen } from '../../../listen.ts';

export const STRIPE_API_KEY = 'sk_test_stand_in';
export const WEBHOOK_SECRET = 'whsec_stand_in';

export interface CheckoutCall {
  authorization: string;
  idempotencyKey: string;
  form: Record<string, string>;
}

export interface Session {
  id: string;
  object: 'checkout.session';
  url: string;
  amount_total: number;
  currency: string;
  status: 'open' | 'complete' | 'expired';
  payment_status: string;
  payment_intent: string;
  metadata: Record<string, string>;
}

let events = 0;

export class FakeStripe {
  readonly calls: CheckoutCall[] = [];
  readonly sessions = new Map<string, Session>();
  /** While set, the API returns this status. */
  failing: number | null = null;
  /** Called before a session ends, as when a customer pays at that moment. */
  beforeExpiring: ((session: Session) => void) | null = null;
  declare readonly url: string;
  declare readonly stop: () => Promise<void>;
  declare readonly [Symbol.asyncDispose]: () => Promise<void>;

  private constructor(server: Server) {
    server.on('request', (request, response) => {
      void this.#respond(request).then(({ status, type, body }) => {
        response.writeHead(status, { 'content-type': type }).end(body);
      });
    });
  }

  static async start(): Promise<FakeStripe> {
    const server = createServer();
    return Object.assign(new FakeStripe(server), await listen(server));
  }

  async #respond(request: IncomingMessage): Promise<{ status: number; type: string; body: string }> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const json = (status: number, body: unknown) => ({
      status,
      type: 'application/json',
      body: JSON.stringify(body),
    });
    if (request.url?.startsWith('/pay/'))
      return {
        status: 200,
        type: 'text/html',
        body: '<!doctype html><title>Pay</title><h1>Stand-in for Stripe</h1>',
      };
    if (this.failing !== null) return json(this.failing, { error: { type: 'api_error', message: 'away' } });
    const [, id, end] = /^\/v1\/checkout\/sessions\/(\w+)(\/expire)?$/.exec(request.url ?? '') ?? [];
    if (id !== undefined) {
      const session = [...this.sessions.values()].find((one) => one.id === id);
      if (!session) return json(404, { error: { message: 'no such session' } });
      if (end === undefined) return json(200, session);
      this.beforeExpiring?.(session);
      if (session.status !== 'open')
        return json(400, { error: { type: 'invalid_request_error', message: 'the session is not open' } });
      session.status = 'expired';
      return json(200, session);
    }
    if (request.url !== '/v1/checkout/sessions') return json(404, { error: { message: 'no such route' } });
    const form = Object.fromEntries(new URLSearchParams(Buffer.concat(parts).toString()));
    const idempotencyKey = String(request.headers['idempotency-key']);
    this.calls.push({ authorization: String(request.headers.authorization), idempotencyKey, form });
    const known = this.sessions.get(idempotencyKey);
    if (known) return json(200, known);
    const name = `cs_test_${this.sessions.size}`;
    const session: Session = {
      id: name,
      object: 'checkout.session',
      url: `${this.url}/pay/${name}`,
      amount_total: Number(form['line_items[0][price_data][unit_amount]']),
      currency: form['line_items[0][price_data][currency]'] ?? '',
      status: 'open',
      payment_status: 'unpaid',
      payment_intent: `pi_test_${this.sessions.size}`,
      metadata: { order_id: form['metadata[order_id]'] ?? '' },
    };
    this.sessions.set(idempotencyKey, session);
    return json(200, session);
  }

  /** The newest session of an order. */
  sessionOf(order_id: string): Session {
    const session = this.sessionsOf(order_id).at(-1);
    if (!session) throw new Error(`no session for ${order_id}`);
    return session;
  }

  /** Oldest first. */
  sessionsOf(order_id: string): Session[] {
    return [...this.sessions.values()].filter(({ metadata }) => metadata.order_id === order_id);
  }
}

/** The body of an event. */
export const eventText = (type: string, object: unknown): string =>
  JSON.stringify({ id: `evt_${events++}`, object: 'event', type, data: { object } });

/** Sends an event to the webhook, signed at `at_ms`. @returns the status */
export async function deliver(
  url: string,
  payload: string,
  { at_ms, secret = WEBHOOK_SECRET }: { at_ms: number; secret?: string },
): Promise<number> {
  const signature = new Stripe(STRIPE_API_KEY).webhooks.generateTestHeaderString({
    payload,
    secret,
    timestamp: Math.floor(at_ms / 1000),
  });
  const headers = { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature };
  const response = await fetch(`${url}/account/stripe/webhook`, { method: 'POST', headers, body: payload });
  await response.text();
  return response.status;
}

export const stripeSettings = (stripe: FakeStripe): Record<string, string> => ({
  STRIPE_SECRET_KEY: STRIPE_API_KEY,
  STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
  STRIPE_API_BASE: stripe.url,
});

/** Stopped after the tests of the file or suite. */
export const useFakeStripe = (): Promise<FakeStripe> => stopAfterTests(FakeStripe.start());
