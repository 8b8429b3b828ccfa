/** Keys: list, create (the secret is shown once) and revoke. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DAY_MS } from '../../../../data/schema/redis-keys.ts';
import { AccountError, type KeyRecord, MAX_ACTIVE_KEYS } from '../../../accounts/records.ts';
import { type Confirmation, confirmedAction } from '../../shared/confirmation.ts';
import { parseFields, textField } from '../../shared/forms.ts';
import { formatMoment } from '../../shared/template-filters.ts';
import { type AccountContext, accountIdOf, auditedChange } from '../context.ts';

const MAX_LABEL_LENGTH = 100;
const keyForm = z.object({ label: textField(MAX_LABEL_LENGTH), expires: textField(10) });

const PATH = '/account/keys';

interface KeysPage {
  keys: KeyRecord[];
  active: number;
  most: number;
  form: { label: string; expires: string; problem: string };
}

export function keysRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<KeysPage>('keys.njk');
  const created = context.view<{ key: string; key_id: string; label: string; curl: string }>(
    'key-created.njk',
  );

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    form = { label: '', expires: '', problem: '' },
  ): Promise<FastifyReply> => {
    const keys = (await context.accounts.keys.list(accountIdOf(request))).toReversed();
    const active = keys.filter(({ state }) => state === 'active').length;
    return view(reply, 'Keys', { keys, active, most: MAX_ACTIVE_KEYS, form });
  };

  scope.get('/keys', (request, reply) => show(request, reply));

  scope.post('/keys', async (request, reply) => {
    const { label, expires } = parseFields(keyForm, request.body);
    try {
      const expires_at_ms = endOfDay(expires);
      const { key, key_id } = await auditedChange(
        context,
        request,
        { action: 'key.create', after: { expires_at_ms } },
        () => context.accounts.keys.mint(accountIdOf(request), { label, expires_at_ms }),
        (minted) => ({ after: { key_id: minted.key_id, expires_at_ms } }),
      );
      const curl = `curl -H 'Authorization: Bearer ${key}' ${context.publicUrl()}/v1/ping`;
      return created(reply, 'Your new key', { key, key_id, label, curl });
    } catch (error) {
      if (!(error instanceof AccountError) || error.code === 'unavailable') throw error;
      const status = error.code === 'bad_input' ? 422 : 409;
      return show(request, reply.code(status), { label, expires, problem: error.message });
    }
  });
}

/** Unix milliseconds of the end of a UTC day; null when blank. */
function endOfDay(day: string): number | null {
  if (day === '') return null;
  const start_ms = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(start_ms))
    throw new AccountError('bad_input', `"${day}" is not a date such as 2027-01-31.`);
  return start_ms + DAY_MS;
}

export function revokeKeyRoutes(scope: FastifyInstance, context: AccountContext): void {
  const findOwnKey = async (request: FastifyRequest): Promise<KeyRecord> => {
    const { key_id } = request.params as { key_id: string };
    const keys = await context.accounts.keys.list(accountIdOf(request));
    const key = keys.find((candidate) => candidate.key_id === key_id);
    if (!key) throw new AccountError('key_unknown', `You have no key with the id ${key_id}.`);
    return key;
  };

  confirmedAction(scope, context, {
    path: '/keys/:key_id/revoke',
    fields: z.object({}),
    reason: () => null,
    ask: async (request) => revocation(await findOwnKey(request)),
    async act(request) {
      const { key_id, state } = await findOwnKey(request);
      const facts = { before: { key_id, state }, after: { key_id, state: 'revoked' } };
      await auditedChange(context, request, { action: 'key.revoke', ...facts }, () =>
        context.accounts.keys.revoke(key_id),
      );
      return { path: PATH, notice: `Key ${key_id} is revoked.` };
    },
  });
}

function revocation({ key_id, label, last4, state, last_used_at_ms }: KeyRecord): Confirmation {
  return {
    title: 'Revoke a key',
    effects: [
      state === 'active'
        ? 'Programs that use this key are refused from their next request on. This cannot be undone.'
        : `This key is ${state} already.`,
    ],
    figures: [
      { label: 'Id', value: key_id },
      { label: 'Label', value: label || '–' },
      { label: 'Ends with', value: `…${last4}` },
      { label: 'Last used', value: formatMoment(last_used_at_ms) },
    ],
    button: 'Revoke key permanently',
    isDestructive: true,
    back: PATH,
  };
}
