/** Who may open which route of the account pages: one table, read at each request. */
import type { FastifyRequest } from 'fastify';
import { PageError } from '../../web/forms.ts';
import type { Permission } from '../accounts/accounts.ts';

/** `self`: everybody who is signed in, about oneself. */
type Access = Permission | 'self';

/** Routes that answer without a session are not listed. */
export const ACCESS: Readonly<Record<string, Access>> = {
  'GET /account': 'read',
  'GET /account/keys': 'read',
  'POST /account/keys': 'keys',
  'GET /account/keys/:key_id': 'read',
  'POST /account/keys/:key_id/label': 'keys',
  'POST /account/keys/:key_id/rules': 'keys',
  'POST /account/keys/:key_id/rotate': 'keys',
  'GET /account/keys/:key_id/revoke': 'keys',
  'POST /account/keys/:key_id/revoke': 'keys',
  'GET /account/connections': 'read',
  'GET /account/connections/:connection_id/end': 'read',
  'POST /account/connections/:connection_id/end': 'read',
  'GET /account/feeds': 'read',
  'POST /account/feeds': 'keys',
  'GET /account/feeds/:feed_id/revoke': 'keys',
  'POST /account/feeds/:feed_id/revoke': 'keys',
  'GET /account/webhooks': 'read',
  'POST /account/webhooks': 'webhooks',
  'GET /account/webhooks/:endpoint_id': 'read',
  'POST /account/webhooks/:endpoint_id/change': 'webhooks',
  'POST /account/webhooks/:endpoint_id/rotate': 'webhooks',
  'POST /account/webhooks/:endpoint_id/test': 'webhooks',
  'GET /account/webhooks/:endpoint_id/remove': 'webhooks',
  'POST /account/webhooks/:endpoint_id/remove': 'webhooks',
  'GET /account/webhooks/:endpoint_id/deliveries/:message_id': 'read',
  'POST /account/webhooks/:endpoint_id/deliveries/:message_id/replay': 'webhooks',
  'GET /account/usage': 'read',
  'GET /account/wallet': 'read',
  'GET /account/alerts': 'read',
  'POST /account/alerts/balance': 'billing',
  'POST /account/alerts/spending': 'billing',
  'POST /account/alerts/changes': 'billing',
  'GET /account/orders': 'read',
  'POST /account/orders': 'billing',
  'GET /account/orders/:order_id': 'read',
  'GET /account/orders/:order_id/invoice': 'read',
  'GET /account/invoices/:number': 'read',
  'GET /account/invoices/:number/pdf': 'read',
  'GET /account/billing': 'read',
  'POST /account/billing': 'billing',
  'POST /account/orders/:order_id/pay': 'billing',
  'GET /account/orders/:order_id/cancel': 'billing',
  'POST /account/orders/:order_id/cancel': 'billing',
  'GET /account/data': 'manage',
  'POST /account/data/export': 'manage',
  'GET /account/data/:request_id/download': 'manage',
  'GET /account/data/erasure': 'manage',
  'POST /account/data/erasure': 'manage',
  'GET /account/close': 'manage',
  'POST /account/close': 'manage',
  'GET /account/members': 'read',
  'POST /account/members/invite': 'manage',
  'POST /account/members/name': 'manage',
  'POST /account/members/invitations/:invitation_id/withdraw': 'manage',
  'POST /account/members/:person_id/role': 'manage',
  'GET /account/members/:person_id/remove': 'manage',
  'POST /account/members/:person_id/remove': 'manage',
  'GET /account/members/:person_id/ownership': 'manage',
  'POST /account/members/:person_id/ownership': 'manage',
  'GET /account/members/leave': 'read',
  'POST /account/members/leave': 'read',
  'GET /account/connect/:request_id': 'self',
  'POST /account/connect/:request_id': 'self',
  'GET /account/accounts': 'self',
  'POST /account/accounts/switch': 'self',
  'POST /account/accounts/open': 'self',
  'GET /account/profile': 'self',
  'GET /account/profile/erase': 'self',
  'POST /account/profile/erase': 'self',
  'POST /account/profile/name': 'self',
  'POST /account/profile/email': 'self',
  'POST /account/profile/sessions/:session/end': 'self',
  'POST /account/profile/sessions/end-others': 'self',
  'POST /account/password': 'self',
  'GET /account/second-factor': 'self',
  'GET /account/second-factor/set-up': 'self',
  'POST /account/second-factor/set-up': 'self',
  'POST /account/second-factor/recovery-codes': 'self',
  'POST /account/second-factor/off': 'self',
  'POST /account/sign-out': 'self',
  'POST /account/sign-out-everywhere': 'self',
};

const REFUSALS: Readonly<Record<Permission, string>> = {
  read: 'You are not a member of this account.',
  keys: 'Your role does not allow changes of keys and feed links. Developers and the owner of the account may make them.',
  webhooks:
    'Your role does not allow changes of webhooks. Developers and the owner of the account may make them.',
  billing:
    'Your role does not allow orders, billing details and alerts. Billing members and the owner of the account may make them.',
  manage: 'Only the owner of the account can do this.',
};

/** Whether the role of the signed-in person now includes a permission. */
export const may = ({ user }: FastifyRequest, permission: Permission): boolean =>
  user?.account?.permissions.includes(permission) ?? false;

/** Refuses what the role does not allow; routes that are missing in the table are for the owner. @throws {PageError} 403 */
export function authorise(request: FastifyRequest): void {
  const { url = '' } = request.routeOptions;
  if (url.endsWith('*')) return;
  const verb = request.method === 'HEAD' ? 'GET' : request.method;
  const access = ACCESS[`${verb} ${url.replace(/\/$/, '')}`] ?? 'manage';
  if (access !== 'self' && !may(request, access)) throw new PageError(403, REFUSALS[access]);
}
