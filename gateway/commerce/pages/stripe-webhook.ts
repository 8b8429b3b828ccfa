/**
 * `POST /account/stripe/webhook`: payment events from Stripe, authenticated by a signature over the raw body.
 *
 * 200: processed, even if nothing changed. 400: invalid signature. 503: Stripe should send the event again.
 */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { StripePayment } from '../orders/orders.ts';
import { AccountError } from '../store/store.ts';

const STRIPE_WEBHOOK_PATH = '/account/stripe/webhook';
const MAX_BODY_BYTES = 1024 * 1024;

export function installStripeWebhook(app: FastifyInstance, stripe: StripePayment, log: Logger): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES },
      (_request, body, done) => done(null, body),
    );
    scope.post(STRIPE_WEBHOOK_PATH, async (request, reply) => {
      reply.header('Cache-Control', 'no-store');
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const header = request.headers['stripe-signature'];
      const signature = typeof header === 'string' ? header : '';
      try {
        const { kind } = await stripe.handleWebhook(body, signature, request.id);
        const received = kind !== 'bad_signature';
        return reply.code(received ? 200 : 400).send({ received });
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        log.error({ err: error, request_id: request.id }, 'payment event not processed');
        return reply.code(503).header('Retry-After', '30').send({ received: false });
      }
    });
  });
}
