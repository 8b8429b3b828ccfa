/** Keys: make one (its text is shown in that answer and never again), see them, revoke one. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DAY_MS } from '../../../../data/schema/redis-keys.ts';
import { ACTIVE_KEYS_AT_MOST, AccountError, type KeyRecord } from '../../../accounts/records.ts';
import { readFields, text } from '../../shared/fields.ts';
import { type AccountArea, accountIdOf, change, goOn } from '../context.ts';

const LABEL_AT_MOST = 100;
const keyForm = z.object({ label: text(LABEL_AT_MOST), expires: text(10) });

interface KeysPage {
  keys: KeyRecord[];
  active: number;
  most: number;
  form: { label: string; expires: string; problem: string };
}

export function keysRoutes(scope: FastifyInstance, area: AccountArea): void {
  makeRoutes(scope, area);
  revokeRoutes(scope, area);
}

function makeRoutes(scope: FastifyInstance, area: AccountArea): void {
  const view = area.view<KeysPage>('keys.njk');
  const made = area.view<{ key: string; key_id: string; label: string; curl: string }>('key-made.njk');

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    form = { label: '', expires: '', problem: '' },
  ): Promise<FastifyReply> => {
    const keys = (await area.accounts.listKeys(accountIdOf(request))).toReversed();
    const active = keys.filter(({ state }) => state === 'active').length;
    return view(reply, 'Keys', { keys, active, most: ACTIVE_KEYS_AT_MOST, form });
  };

  scope.get('/keys', (request, reply) => show(request, reply));

  scope.post('/keys', async (request, reply) => {
    const { label, expires } = readFields(keyForm, request.body);
    try {
      const expires_at_ms = endOf(expires);
      const { key, key_id } = await change(
        area,
        request,
        { action: 'key.create', after: { expires_at_ms } },
        () => area.accounts.mintKey(accountIdOf(request), { label, expires_at_ms }),
        (minted) => ({ after: { key_id: minted.key_id, expires_at_ms } }),
      );
      const curl = `curl -H 'Authorization: Bearer ${key}' ${area.publicUrl()}/v1/ping`;
      return made(reply, 'Your new key', { key, key_id, label, curl });
    } catch (error) {
      if (!(error instanceof AccountError) || error.code === 'unavailable') throw error;
      const status = error.code === 'bad_input' ? 422 : 409;
      return show(request, reply.code(status), { label, expires, problem: error.message });
    }
  });
}

/** A key that ends on a day works until that day is over, in UTC. Blank: it never ends. */
function endOf(day: string): number | null {
  if (day === '') return null;
  const begin_ms = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(begin_ms)) throw new AccountError('bad_input', `"${day}" is not a day like 2027-01-31.`);
  return begin_ms + DAY_MS;
}

function revokeRoutes(scope: FastifyInstance, area: AccountArea): void {
  const view = area.view<{ key: KeyRecord }>('key-revoke.njk');
  const path = '/keys/:key_id/revoke';

  const own = async (request: FastifyRequest): Promise<KeyRecord> => {
    const { key_id } = request.params as { key_id: string };
    const keys = await area.accounts.listKeys(accountIdOf(request));
    const key = keys.find((candidate) => candidate.key_id === key_id);
    if (!key) throw new AccountError('key_unknown', `You have no key with the id ${key_id}.`);
    return key;
  };

  scope.get(path, async (request, reply) => view(reply, 'Revoke a key', { key: await own(request) }));

  scope.post(path, async (request, reply) => {
    const { key_id, state } = await own(request);
    const facts = { before: { key_id, state }, after: { key_id, state: 'revoked' } };
    await change(area, request, { action: 'key.revoke', ...facts }, () => area.accounts.revokeKey(key_id));
    return goOn(area, reply, '/account/keys', `Key ${key_id} is revoked.`);
  });
}
