/** Webhooks: the list, a new one (its secret is shown once), what it is told, its log, and removing one; deliveries, which can be sent again. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PageError, parseFields, textField } from '../../../web/forms.ts';
import {
  DISABLE_AFTER_DAYS,
  KEPT,
  MAX_ENDPOINTS,
  OLD_SECRET_MS,
  type SigningEndpoint,
  SUBSCRIBABLE,
  WEBHOOK_EVENTS,
  type WebhookEndpoint,
} from '../../notifications/notifications.ts';
import type { Confirmation } from '../../people/people.ts';
import { type AccountContext, accountIdOf, personIdOf, withMakers } from '../context.ts';
import { confirmed, orShowAgain } from '../forms.ts';
import { throttleWebhooks } from '../throttles.ts';

const WEBHOOKS_PATH = '/account/webhooks';

const pathOf = (endpoint_id: string): string => `${WEBHOOKS_PATH}/${encodeURIComponent(endpoint_id)}`;

/** A box for each type: forms have one value of a name. */
const BOX = 'type:';

const endpointForm = z
  .looseObject({ url: textField(4_000) })
  .transform(({ url, ...boxes }) => ({ url, types: SUBSCRIBABLE.filter((type) => BOX + type in boxes) }));

type EndpointFields = z.infer<typeof endpointForm>;

/** What endpoints can subscribe to, as the form lists it. */
const TYPE_CHOICES: readonly { type: string; box: string; help: string }[] = WEBHOOK_EVENTS.filter(
  ({ type }) => SUBSCRIBABLE.includes(type),
).map(({ type, help }) => ({ type, box: BOX + type, help }));

/** Shows a new secret. @returns a view; `old_until_ms`: until when the former secret signs too, null for a new webhook */
function secretView(context: AccountContext) {
  const view = context.view('webhook-secret.njk');
  return (
    reply: FastifyReply,
    page: { endpoint_id: string; url: string; secret: string; old_until_ms: number | null },
  ): Promise<FastifyReply> => view(reply, 'The secret of your webhook', page);
}

/** The endpoint of the path. @throws {AccountError} `endpoint_unknown` */
function findOwnEndpoint(context: AccountContext, request: FastifyRequest): Promise<SigningEndpoint> {
  const { endpoint_id } = request.params as { endpoint_id: string };
  return context.webhooks.endpoints.get(accountIdOf(request), endpoint_id);
}

export function webhooksRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('webhooks.njk');
  const secretShown = secretView(context);
  const { endpoints: store } = context.webhooks;

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { form, problem }: { form: EndpointFields; problem: string },
  ): Promise<FastifyReply> => {
    const endpoints = await withMakers(context.persons, await store.list(accountIdOf(request)));
    return view(reply, 'Webhooks', { endpoints, most: MAX_ENDPOINTS, choices: TYPE_CHOICES, form, problem });
  };

  scope.get('/webhooks', (request, reply) =>
    show(request, reply, { form: { url: '', types: [] }, problem: '' }),
  );

  scope.post('/webhooks', async (request, reply) => {
    const form = parseFields(endpointForm, request.body);
    const by = personIdOf(request);
    const after = auditedEndpoint(form);
    const again = (problem: string) => show(request, reply, { form, problem });
    return orShowAgain(reply, again, async () => {
      const { endpoint_id, secret } = await request.audited(
        { action: 'webhook.create', after },
        () => store.create(accountIdOf(request), { ...form, by }),
        (made) => ({ after: { endpoint_id: made.endpoint_id, ...after } }),
      );
      return secretShown(reply, { endpoint_id, url: form.url, secret, old_until_ms: null });
    });
  });

  confirmed(scope, context, {
    path: '/webhooks/:endpoint_id/remove',
    ask: async (request) => removal(await findOwnEndpoint(context, request)),
    async act(request) {
      const endpoint = await findOwnEndpoint(context, request);
      const { endpoint_id } = endpoint;
      const before = { endpoint_id, ...auditedEndpoint(endpoint) };
      await request.audited({ action: 'webhook.remove', before }, () =>
        store.remove(accountIdOf(request), endpoint_id),
      );
      return { path: WEBHOOKS_PATH, notice: 'The webhook is removed.' };
    },
  });
}

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
      endpoint,
      path: pathOf(endpoint_id),
      choices: TYPE_CHOICES,
      hasOldSecret: secrets.length > 1,
      deliveries: await deliveries.list(accountIdOf(request), endpoint_id),
      kept: KEPT,
      disableAfterDays: DISABLE_AFTER_DAYS,
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

/** The host alone: the rest of a URL may hold a secret of its owner. */
const auditedEndpoint = ({ url, types }: { url: string; types: readonly string[] }) => ({
  host: URL.parse(url)?.host ?? '',
  types: types.join(' '),
});

const removal = ({ endpoint_id, url, types }: WebhookEndpoint): Confirmation => ({
  title: 'Remove a webhook',
  effects: ['No more events are sent to it, and its log of deliveries is deleted. This cannot be undone.'],
  figures: [
    { label: 'URL', value: url },
    { label: 'Events', value: types.join(', ') },
  ],
  button: 'Remove webhook',
  back: pathOf(endpoint_id),
});
