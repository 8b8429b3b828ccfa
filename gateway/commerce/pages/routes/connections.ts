/** Hosts that are connected to the account: a member sees and ends those that the member allowed, the owner all. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { formatMoment } from '../../../web/templates.ts';
import type { ConnectionRecord } from '../../connections/connections.ts';
import { type Confirmation, counted } from '../../people/people.ts';
import { AccountError } from '../../store/store.ts';
import { may } from '../access.ts';
import { type AccountContext, accountIdOf, personIdOf, withMakers } from '../context.ts';
import { confirmed } from '../forms.ts';

const PATH = '/account/connections';

export function connectionsRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('connections.njk');

  /** Those that whoever is signed in may see. */
  const listSeen = async (request: FastifyRequest): Promise<ConnectionRecord[]> => {
    const all = await context.connections.list(accountIdOf(request));
    return may(request, 'manage') ? all : all.filter(({ person_id }) => person_id === personIdOf(request));
  };

  const find = async (request: FastifyRequest): Promise<ConnectionRecord> => {
    const { connection_id } = request.params as { connection_id: string };
    const found = (await listSeen(request)).find((one) => one.connection_id === connection_id);
    if (!found) throw new AccountError('connection_unknown', `You have no connection ${connection_id}.`);
    return found;
  };

  scope.get('/connections', async (request, reply) => {
    const seen = (await listSeen(request)).map((one) => ({ ...one, by: one.person_id }));
    const connections = await withMakers(context.persons, seen);
    return view(reply, 'Connections', { connections, address: `${context.publicUrl()}/mcp` });
  });

  confirmed(scope, context, {
    path: '/connections/:connection_id/end',
    ask: async (request) => ending(await find(request)),
    async act(request) {
      const { account_id, connection_id, client_name, state } = await find(request);
      const facts = { before: { connection_id, state }, after: { connection_id, state: 'ended' } };
      await request.audited({ action: 'connection.end', ...facts }, () =>
        context.connections.end(account_id, connection_id, { by: personIdOf(request) }),
      );
      return { path: PATH, notice: `The connection of ${client_name} has ended.` };
    },
  });
}

const ending = (connection: ConnectionRecord): Confirmation => ({
  title: `End the connection of ${connection.client_name}`,
  effects: ['The host is refused from its next request on. To use it again, connect it anew there.'],
  figures: [
    { label: 'Host', value: connection.host },
    { label: 'Made', value: formatMoment(connection.created_at_ms) },
    { label: 'Last used', value: formatMoment(connection.last_used_at_ms) },
    { label: 'This month', value: counted(connection.month_credits, 'credit', 'credits') },
  ],
  button: 'End connection',
  back: PATH,
});
