/** Webhooks: the list, a new one (its secret is shown once), and removing one. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseFields, textField } from '../../../web/forms.ts';
import {
  MAX_ENDPOINTS,
  type SigningEndpoint,
  SUBSCRIBABLE,
  WEBHOOK_EVENTS,
  type WebhookEndpoint,
} from '../../notifications/notifications.ts';
import type { Confirmation } from '../../people/people.ts';
import { type AccountContext, accountIdOf, personIdOf, withMakers } from '../context.ts';
import { confirmed, orShowAgain } from '../forms.ts';

export const WEBHOOKS_PATH = '/account/webhooks';

/** A box for each type: forms have one value of a name. */
const BOX = 'type:';

export const endpointForm = z
  .looseObject({ url: textField(4_000) })
  .transform(({ url, ...boxes }) => ({ url, types: SUBSCRIBABLE.filter((type) => BOX + type in boxes) }));

export type EndpointFields = z.infer<typeof endpointForm>;

/** What endpoints can subscribe to, as the form lists it. */
export const TYPE_CHOICES: readonly { type: string; box: string; help: string }[] = WEBHOOK_EVENTS.filter(
  ({ type }) => SUBSCRIBABLE.includes(type),
).map(({ type, help }) => ({ type, box: BOX + type, help }));

/** Shows a new secret. @returns a view; `old_until_ms`: until when the former secret signs too, null for a new webhook */
export function secretView(context: AccountContext) {
  const view = context.view('webhook-secret.njk');
  return (
    reply: FastifyReply,
    page: { endpoint_id: string; url: string; secret: string; old_until_ms: number | null },
  ): Promise<FastifyReply> => view(reply, 'The secret of your webhook', page);
}

/** The endpoint of the path. @throws {AccountError} `endpoint_unknown` */
export function findOwnEndpoint(context: AccountContext, request: FastifyRequest): Promise<SigningEndpoint> {
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

/** The host alone: the rest of a URL may hold a secret of its owner. */
export const auditedEndpoint = ({ url, types }: { url: string; types: readonly string[] }) => ({
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
  back: `${WEBHOOKS_PATH}/${encodeURIComponent(endpoint_id)}`,
});
