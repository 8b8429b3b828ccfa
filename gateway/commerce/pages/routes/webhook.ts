/** One webhook: where it is and what it is told, its secret, its log; and one delivery, which can be sent again. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PageError, parseFields } from '../../../web/forms.ts';
import { DISABLE_AFTER_DAYS, KEPT, OLD_SECRET_MS } from '../../notifications/notifications.ts';
import { type AccountContext, accountIdOf } from '../context.ts';
import { orShowAgain } from '../forms.ts';
import { throttleWebhooks } from '../throttles.ts';
import {
  auditedEndpoint,
  type EndpointFields,
  endpointForm,
  findOwnEndpoint,
  secretView,
  TYPE_CHOICES,
  WEBHOOKS_PATH,
} from './webhooks.ts';

const pathOf = (endpoint_id: string): string => `${WEBHOOKS_PATH}/${encodeURIComponent(endpoint_id)}`;

export function webhookRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('webhook.njk');
  const secretShown = secretView(context);
  const { endpoints, deliveries } = context.webhooks;

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    refused?: { form: EndpointFields; problem: string },
  ): Promise<FastifyReply> => {
    const { secrets, ...endpoint } = await findOwnEndpoint(context, request);
    const { endpoint_id, url, types } = endpoint;
    return view(reply, 'Webhook', {
      ...{ endpoint, path: pathOf(endpoint_id), choices: TYPE_CHOICES, hasOldSecret: secrets.length > 1 },
      deliveries: await deliveries.list(accountIdOf(request), endpoint_id),
      ...{ kept: KEPT, disableAfterDays: DISABLE_AFTER_DAYS },
      ...(refused ?? { form: { url, types: [...types] }, problem: '' }),
    });
  };

  scope.get('/webhooks/:endpoint_id', (request, reply) => show(request, reply));

  scope.post('/webhooks/:endpoint_id/change', async (request, reply) => {
    const form = parseFields(endpointForm, request.body);
    const found = await findOwnEndpoint(context, request);
    const { endpoint_id } = found;
    const before = { endpoint_id, ...auditedEndpoint(found) };
    const after = { endpoint_id, ...auditedEndpoint(form) };
    const again = (problem: string) => show(request, reply, { form, problem });
    return orShowAgain(reply, again, async () => {
      await request.audited({ action: 'webhook.change', before, after }, () =>
        endpoints.change(accountIdOf(request), endpoint_id, form),
      );
      const notice = found.state === 'disabled' ? 'The webhook is enabled.' : 'The webhook is changed.';
      return reply.leadTo(pathOf(endpoint_id), notice);
    });
  });

  scope.post('/webhooks/:endpoint_id/rotate', async (request, reply) => {
    const { endpoint_id, url } = await findOwnEndpoint(context, request);
    const facts = { before: { endpoint_id }, after: { endpoint_id } };
    const secret = await request.audited({ action: 'webhook.rotate', ...facts }, () =>
      endpoints.rotate(accountIdOf(request), endpoint_id),
    );
    return secretShown(reply, { endpoint_id, url, secret, old_until_ms: context.now() + OLD_SECRET_MS });
  });

  scope.post('/webhooks/:endpoint_id/test', async (request, reply) => {
    const { endpoint_id, state } = await findOwnEndpoint(context, request);
    if (state === 'disabled') throw new PageError(409, 'The webhook is disabled: enable it first.');
    await limitSending(context, request, reply);
    const message_id = await context.webhooks.test(accountIdOf(request), endpoint_id);
    const notice = `A test event is on its way: ${message_id}. Reload to see the answer.`;
    return reply.leadTo(pathOf(endpoint_id), notice);
  });
}

export function webhookDeliveryRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('webhook-delivery.njk');
  const { webhooks } = context;

  scope.get('/webhooks/:endpoint_id/deliveries/:message_id', async (request, reply) => {
    const { message_id } = request.params as { message_id: string };
    const { secrets: _, ...endpoint } = await findOwnEndpoint(context, request);
    const { endpoint_id } = endpoint;
    const delivery = await webhooks.deliveries.get(accountIdOf(request), endpoint_id, message_id);
    return view(reply, 'Delivery', { endpoint, path: pathOf(endpoint_id), delivery });
  });

  scope.post('/webhooks/:endpoint_id/deliveries/:message_id/replay', async (request, reply) => {
    const { message_id } = request.params as { message_id: string };
    const account_id = accountIdOf(request);
    const { endpoint_id } = await findOwnEndpoint(context, request);
    await limitSending(context, request, reply);
    await webhooks.replay({ account_id, endpoint_id, message_id });
    const path = `${pathOf(endpoint_id)}/deliveries/${encodeURIComponent(message_id)}`;
    return reply.leadTo(path, 'It is being sent again. Reload to see the answer.');
  });
}

/** Nobody can have this service send as many requests as they like. @throws {PageError} 429 */
async function limitSending(
  { throttle }: AccountContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const wait_s = await throttleWebhooks(throttle, accountIdOf(request));
  if (wait_s === 0) return;
  reply.header('retry-after', String(wait_s));
  throw new PageError(429, `That was sent too often. Try again in ${wait_s} s.`);
}
