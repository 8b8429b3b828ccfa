/** Closing the account and requesting its erasure; both ask on a page of their own, and for the password. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Confirmation, clearSessionCookie, counted } from '../../people/people.ts';
import { type AccountContext, accountIdOf, accountOf, personIdOf } from '../context.ts';
import { ANONYMOUS, confirmed, RESTRICTED } from '../forms.ts';
import { openRequest, PRIVACY_PATH } from './privacy.ts';

/** What ends with the account. */
async function listHoldings(context: AccountContext, request: FastifyRequest) {
  const [account, { keys }, orders] = await Promise.all([
    accountOf(context, request),
    context.accounts.holdings(accountIdOf(request)),
    context.accounts.orders.list(accountIdOf(request)),
  ]);
  return { ...account, keys, orders: orders.filter(({ state }) => state === 'pending').length };
}
type Holdings = Awaited<ReturnType<typeof listHoldings>>;

export function leavingRoutes(scope: FastifyInstance, context: AccountContext): void {
  confirmed(scope, context, {
    path: '/close',
    asksPassword: true,
    ask: async (request) => closing(await listHoldings(context, request)),
    async act(request, reply) {
      const account_id = accountIdOf(request);
      const before = { ...(await context.accounts.holdings(account_id)) };
      const facts = { before, after: { state: 'closed' } };
      await request.audited(
        { action: 'account.close', ...facts },
        () => context.accounts.close(account_id, personIdOf(request)),
        () => (before.state === 'closed' ? null : {}),
      );
      await context.persons.endSessions(personIdOf(request));
      if (request.webSession) await context.sessions.end(request.webSession);
      clearSessionCookie(reply, context.site);
      return { path: '/account/closed', notice: null };
    },
  });

  confirmed(scope, context, {
    path: '/data/erasure',
    asksPassword: true,
    options: RESTRICTED,
    ask: async (request) => erasure(await listHoldings(context, request)),
    async act(request) {
      await openRequest(context, request, 'erasure');
      const notice = 'Your erasure is requested. It will be carried out within days.';
      return { path: PRIVACY_PATH, notice };
    },
  });

  const closed = context.view('closed.njk');
  scope.get('/closed', ANONYMOUS, (_request, reply) => closed(reply, 'Your account is closed', {}));
}

const figuresOf = ({ email, credits, keys, orders }: Holdings) => [
  { label: 'Account', value: email },
  { label: 'Balance', value: counted(credits.balance, 'credit', 'credits') },
  { label: 'Active keys', value: counted(keys, 'key', 'keys') },
  { label: 'Open orders', value: counted(orders, 'order', 'orders') },
];

/** What closing does to the credits; see the page of terms. */
const creditsAfter = ({ credits: { balance } }: Holdings): string =>
  balance === 0
    ? 'The account has no credits left, so none are lost.'
    : `${counted(balance, 'credit is', 'credits are')} lost: what is left can no longer be spent, is not paid out and cannot be moved to another account.`;
const OPEN_ORDERS = 'Open orders stay open: cancel them first, and do not pay for them afterwards.';

const closing = (holdings: Holdings): Confirmation => ({
  title: 'Close your account',
  effects: [
    'All keys, feed links, webhooks and sessions end immediately. This cannot be undone.',
    creditsAfter(holdings),
    ...(holdings.orders > 0 ? [OPEN_ORDERS] : []),
    'You can still sign in to download your data or to have it erased.',
  ],
  figures: figuresOf(holdings),
  button: 'Close account permanently',
  back: PRIVACY_PATH,
});

const erasure = (holdings: Holdings): Confirmation => ({
  title: 'Erase your data',
  effects: [
    'Closes the account and removes your e-mail address, name, password, billing details, feed links, webhooks, connections, and labels, makers and rules of keys. Open orders are cancelled.',
    creditsAfter(holdings),
    'The ledger stays under an anonymous id, and invoices that were issued stay as they are, with the name and address on them, because accounting records must be kept.',
    'The erasure is carried out within days and cannot be undone.',
  ],
  figures: figuresOf(holdings),
  button: 'Erase my data permanently',
  back: PRIVACY_PATH,
});
