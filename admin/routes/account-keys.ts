/** Revokes one key of a customer, who is told by mail. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { accountSubject } from '../../gateway/commerce/history/history.ts';
import {
  type Confirmation,
  confirmedAction,
  REASON,
  type ReasonField,
} from '../../gateway/commerce/people/people.ts';
import type { AccountRecord, KeyRecord } from '../../gateway/commerce/store/store.ts';
import { PageError } from '../../gateway/web/forms.ts';
import { type AdminArea, auditedChange, userPath } from '../context.ts';

const TOLD: ReasonField = {
  ...REASON,
  hint: 'mailed to the customer and stored in the audit log: name no person',
};

export function accountKeyRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { accounts } = area;

  async function find(request: FastifyRequest): Promise<{ account: AccountRecord; key: KeyRecord }> {
    const { id, key: key_id } = request.params as { id: string; key: string };
    const account = await accounts.get(id);
    const key = (await accounts.keys.list(id)).find((one) => one.key_id === key_id);
    if (!key) throw new PageError(404, `The account has no key ${key_id}.`);
    if (key.state !== 'active') throw new PageError(409, `The key ${key_id} is already ${key.state}.`);
    return { account, key };
  }

  confirmedAction(scope, area, {
    path: '/users/:id/keys/:key/revoke',
    fields: z.object({}),
    reason: () => TOLD,
    async ask(request) {
      const { account, key } = await find(request);
      return revocation(account, key);
    },
    async act(request, _reply, { reason }) {
      const { account, key } = await find(request);
      const { account_id, email } = account;
      const { key_id } = key;
      const change = {
        ...{ action: 'key.revoke', subject: accountSubject(account_id), reason },
        ...{ before: { key_id, state: key.state }, after: { key_id, state: 'revoked' } },
      };
      await auditedChange(area, request, change, () => accounts.keys.revoke(key_id));
      return { path: userPath(account_id), notice: `The key is revoked. ${email} is told by mail.` };
    },
  });
}

const moment = (at_ms: number | null): string =>
  at_ms === null ? 'never' : new Date(at_ms).toISOString().replace('T', ' ').slice(0, 16);

const revocation = (
  { account_id, email }: AccountRecord,
  { key_id, label, last4, created_at_ms, last_used_at_ms }: KeyRecord,
): Confirmation => ({
  title: `Revoke a key of ${email}`,
  effects: [
    'Requests with this key are refused from now on. This cannot be undone.',
    'Other keys, the balance and orders stay. The customer can make a new key.',
  ],
  figures: [
    { label: 'Key', value: key_id },
    { label: 'Label', value: label || '–' },
    { label: 'Ends with', value: last4 },
    { label: 'Created', value: moment(created_at_ms) },
    { label: 'Last used', value: moment(last_used_at_ms) },
  ],
  button: 'Revoke key',
  isDestructive: true,
  back: userPath(account_id),
});
