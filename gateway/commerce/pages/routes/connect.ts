/** Where clients of connections send people: the request is checked before anybody signs in, and answered on the page after it. */
import type { FastifyInstance } from 'fastify';
import { PageError } from '../../../web/forms.ts';
import type { AccountContext } from '../context.ts';
import { ANONYMOUS } from '../forms.ts';
import { throttleConnect } from '../throttles.ts';

export function connectRoutes(scope: FastifyInstance, context: AccountContext): void {
  scope.get('/connect', ANONYMOUS, async (request, reply) => {
    const wait_s = await throttleConnect(context.throttle, request.ip);
    if (wait_s > 0) {
      reply.header('Retry-After', wait_s);
      throw new PageError(429, `Too many programs were sent here. Try again in ${wait_s} s.`);
    }
    const begun = await context.authorizations.begin(request.query as Record<string, unknown>);
    return reply.redirect('redirect' in begun ? begun.redirect : `/account/connect/${begun.request_id}`, 303);
  });
}
