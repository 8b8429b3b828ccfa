/**
 * The account pages under `/account`, from sign-up to erasure: rendered on the server, complete without a script.
 *
 * A page reads and changes only the signed-in account. Keys, orders and requests of other accounts are 404.
 */
import type { FastifyInstance } from 'fastify';
import type { Snapshots } from '../../api/snapshot/snapshot.ts';
import { installOAuth } from '../connections/connections.ts';
import { accountSubject, personSubject } from '../history/history.ts';
import { invoicePayment, missingForInvoices, salesTermsOf } from '../orders/orders.ts';
import {
  createPageViews,
  installProtectedArea,
  openRealm,
  type ProtectedArea,
  Throttle,
} from '../people/people.ts';
import type { AccountService } from '../service.ts';
import { authorise } from './access.ts';
import { ACCOUNT_ROOT, type AccountContext, accountIdOf, personIdOf } from './context.ts';
import { accountsRoutes } from './routes/accounts.ts';
import { alertsRoutes } from './routes/alerts.ts';
import { connectionsRoutes } from './routes/connections.ts';
import { consentRoutes } from './routes/consent.ts';
import { feedRoutes } from './routes/feeds.ts';
import { homeRoutes, summaryRoutes } from './routes/home.ts';
import { invitationRoutes } from './routes/invitation.ts';
import { billingRoutes, invoiceRoutes } from './routes/invoices.ts';
import { keyRoutes, keysRoutes, revokeKeyRoutes } from './routes/keys.ts';
import { leavingRoutes } from './routes/leaving.ts';
import { membersRoutes, ownershipRoutes, removeMemberRoutes } from './routes/members.ts';
import { orderRoutes, ordersRoutes } from './routes/orders.ts';
import { privacyRoutes } from './routes/privacy.ts';
import {
  emailChangeRoutes,
  profileErasureRoutes,
  profileRoutes,
  secondFactorRoutes,
} from './routes/profile.ts';
import { passwordResetRoutes, signInRoutes, signUpRoutes } from './routes/sign-in.ts';
import { usageRoutes } from './routes/usage.ts';
import { walletRoutes } from './routes/wallet.ts';
import { webhookDeliveryRoutes, webhookRoutes, webhooksRoutes } from './routes/webhooks.ts';
import { userFinder } from './signed-in.ts';
import { installStripeWebhook } from './stripe-webhook.ts';

const NAV = [
  { path: '/account/', label: 'Overview' },
  { path: '/account/keys', label: 'Keys' },
  { path: '/account/connections', label: 'Connections' },
  { path: '/account/feeds', label: 'Feed links' },
  { path: '/account/webhooks', label: 'Webhooks' },
  { path: '/account/usage', label: 'Usage' },
  { path: '/account/wallet', label: 'Wallet' },
  { path: '/account/orders', label: 'Orders' },
  { path: '/account/alerts', label: 'Alerts' },
  { path: '/account/members', label: 'Members' },
  { path: '/account/profile', label: 'Profile' },
  { path: '/account/data', label: 'Your data' },
];

export function createAccountContext(service: AccountService): AccountContext {
  const { redis, now, log, stripe } = service;
  const realm = openRealm(service, 'account', log);
  const { sessions } = realm;
  const site: ProtectedArea = {
    ...realm,
    root: ACCOUNT_ROOT,
    name: 'Almanac',
    navName: 'Account',
    isPublic: true,
    cookie: 'almanac_account',
    findUser: userFinder({ ...service, sessions }),
    authorise,
    audit: service.audit,
    auditFacts: (request) => ({
      by: personSubject(personIdOf(request)),
      subject: accountSubject(accountIdOf(request)),
    }),
    nav: NAV,
    templates: [`${import.meta.dirname}/views`],
    log,
  };
  const takesTransfers = missingForInvoices(salesTermsOf(service.settings)).length === 0;
  const methods = [...(stripe ? [stripe] : []), ...(takesTransfers ? [invoicePayment] : [])];
  return {
    ...service,
    site,
    sessions,
    throttle: new Throttle(redis, now),
    payments: new Map(methods.map((method) => [method.id, method])),
    view: createPageViews(site),
  };
}

const ROUTES = [
  signInRoutes,
  signUpRoutes,
  passwordResetRoutes,
  secondFactorRoutes,
  accountsRoutes,
  profileRoutes,
  profileErasureRoutes,
  emailChangeRoutes,
  invitationRoutes,
  membersRoutes,
  removeMemberRoutes,
  ownershipRoutes,
  homeRoutes,
  keysRoutes,
  keyRoutes,
  revokeKeyRoutes,
  consentRoutes,
  connectionsRoutes,
  webhooksRoutes,
  webhookRoutes,
  webhookDeliveryRoutes,
  summaryRoutes,
  usageRoutes,
  walletRoutes,
  alertsRoutes,
  ordersRoutes,
  orderRoutes,
  invoiceRoutes,
  billingRoutes,
  privacyRoutes,
  leavingRoutes,
];

/** Mounts the pages. The app serves what they load; see `gateway/site/assets.ts`. @param snapshots on which calls of feed links are tried */
export function registerAccountPages(
  app: FastifyInstance,
  service: AccountService,
  snapshots: Snapshots,
): void {
  const context = createAccountContext(service);
  app.register(
    async (scope) => {
      await installProtectedArea(scope, context.site);
      for (const install of ROUTES) install(scope, context);
      feedRoutes(scope, context, snapshots);
    },
    { prefix: ACCOUNT_ROOT },
  );
  installOAuth(app, context);
  if (service.stripe) installStripeWebhook(app, service.stripe, service.log);
}
