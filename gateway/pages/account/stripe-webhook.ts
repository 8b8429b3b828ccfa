/**
 * `POST /account/stripe/webhook`: Stripe says what became of a payment. Not a page: no session, no form; the signature
 * over the very bytes is what lets it in.
 *
 * 200 says that the event was taken, also when it changed nothing; 400 that its signature does not hold; 503 that it
 * should be sent again.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import type { Receipt, StripePayment } from '../../accounts/orders/stripe.ts';
import { AccountError } from '../../accounts/records.ts';

export const STRIPE_WEBHOOK_PATH = '/account/stripe/webhook';
const BODY_BYTES_AT_MOST = 1024 * 1024;

export function installStripeWebhook(app: FastifyInstance, stripe: StripePayment, log: Logger): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: BODY_BYTES_AT_MOST },
      (_request, body, done) => done(null, body),
    );
    scope.post(STRIPE_WEBHOOK_PATH, async (request, reply) => {
      reply.header('Cache-Control', 'no-store');
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const signature = request.headers['stripe-signature'];
      try {
        const held = typeof signature === 'string' ? signature : '';
        const receipt = await stripe.receive(body, held, request.id);
        return answer(reply, receipt);
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        log.error({ err: error, request_id: request.id }, 'a payment event could not be taken');
        return reply.code(503).header('Retry-After', '30').send({ received: false });
      }
    });
  });
}

function answer(reply: FastifyReply, receipt: Receipt): FastifyReply {
  if (receipt.kind === 'bad_signature') return reply.code(400).send({ received: false });
  return reply.send({ received: true });
}
