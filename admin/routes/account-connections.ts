/** Ends a connection of an account: with a reason, audited, and told by mail to the owner and to whoever allowed it. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ConnectionRecord } from '../../gateway/commerce/connections/connections.ts';
import { accountSubject } from '../../gateway/commerce/history/history.ts';
import { type Confirmation, confirmedAction, counted, REASON } from '../../gateway/commerce/people/people.ts';
import { PageError } from '../../gateway/web/forms.ts';
import { formatMoment } from '../../gateway/web/templates.ts';
import { type AdminArea, idOf, userPath } from '../context.ts';

export function accountConnectionsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { accounts, connections } = area;

  /** @throws {PageError} 404, and 409 where it no longer works */
  async function find(request: FastifyRequest): Promise<ConnectionRecord> {
    const { account_id } = await accounts.get(idOf(request));
    const { connection: wanted } = request.params as { connection: string };
    const found = (await connections.list(account_id)).find(({ connection_id }) => connection_id === wanted);
    if (!found) throw new PageError(404, `The account has no connection ${wanted}.`);
    if (found.state !== 'active') throw new PageError(409, `The connection is ${found.state}.`);
    return found;
  }

  confirmedAction(scope, area, {
    path: '/users/:id/connections/:connection/end',
    fields: z.object({}),
    reason: () => ({ ...REASON, hint: 'mailed to the customer and stored in the audit log: name no person' }),
    ask: async (request) => ending(await find(request)),
    async act(request, _reply, { reason }) {
      const { account_id, connection_id, state } = await find(request);
      const change = {
        ...{ action: 'connection.end', subject: accountSubject(account_id), reason },
        ...{ before: { connection_id, state }, after: { connection_id, state: 'ended' } },
      };
      const end = { by: 'operator', because: 'operator', reason } as const;
      await request.audited(change, () => connections.end(account_id, connection_id, end));
      return {
        path: userPath(account_id),
        notice: 'The connection has ended. The customer is told by mail.',
      };
    },
  });
}

const ending = (connection: ConnectionRecord): Confirmation => ({
  title: `End the connection of ${connection.client_name}`,
  effects: [
    'The host is refused from its next request on. Keys and other connections stay; the customer can connect it anew.',
  ],
  figures: [
    { label: 'Connection', value: connection.connection_id },
    { label: 'Host', value: connection.host },
    { label: 'Made', value: formatMoment(connection.created_at_ms) },
    { label: 'Last used', value: formatMoment(connection.last_used_at_ms) },
    { label: 'This month', value: counted(connection.month_credits, 'credit', 'credits') },
  ],
  button: 'End connection',
  back: userPath(connection.account_id),
});
