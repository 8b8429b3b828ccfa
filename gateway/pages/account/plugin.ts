/**
 * The account pages under `/account`, from sign-up to erasure: rendered on the server, without scripts.
 *
 * A page reads and changes only the signed-in account. Keys, orders and requests of other accounts are 404.
 */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import type { Settings } from '../../../data/runtime/settings.ts';
import type { CreditPack } from '../../../data/schema/curated.ts';
import { AccountStore } from '../../accounts/account-store.ts';
import { AuditLog } from '../../accounts/audit/audit-log.ts';
import { Alerts } from '../../accounts/balance-alerts.ts';
import { People } from '../../accounts/identities.ts';
import { accountHandlers } from '../../accounts/jobs/handlers.ts';
import type { JobHandlers, Jobs } from '../../accounts/jobs/queue.ts';
import type { Mailer } from '../../accounts/mail/mailer.ts';
import { Links } from '../../accounts/mail/signed-links.ts';
import { Onboarding } from '../../accounts/onboarding.ts';
import { invoicePayment } from '../../accounts/orders/invoice.ts';
import { type StripePayment, stripePayment } from '../../accounts/orders/stripe.ts';
import { SubjectRights } from '../../accounts/privacy/fulfilment.ts';
import { RequestStore } from '../../accounts/privacy/requests.ts';
import { SessionStore } from '../../accounts/sign-in/sessions.ts';
import { Throttle } from '../../accounts/sign-in/throttle.ts';
import type { Archive } from '../../archive/archive.ts';
import { createPageViews, installProtectedArea, type ProtectedArea } from '../shared/protected-area.ts';
import { ACCOUNT_ROOT, type AccountContext } from './context.ts';
import { homeRoutes } from './routes/home.ts';
import { keysRoutes, revokeKeyRoutes } from './routes/keys.ts';
import { invoiceRoutes, orderRoutes, ordersRoutes } from './routes/orders.ts';
import { privacyRoutes } from './routes/privacy.ts';
import { confirmRoutes, passwordResetRoutes, signInRoutes, signUpRoutes } from './routes/sign-in.ts';
import { usageRoutes } from './routes/usage.ts';
import { walletRoutes } from './routes/wallet.ts';
import { installStripeWebhook } from './stripe-webhook.ts';

export interface AccountPagesDependencies {
  redis: RedisClient;
  settings: Settings;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  packs: readonly CreditPack[];
  jobs: Jobs;
  mailer: Mailer;
  archive: Archive;
  /** Public base URL without a trailing slash. */
  publicUrl: () => string;
}

export interface AccountPages {
  context: AccountContext;
  stripe: StripePayment | null;
  /** Background jobs that the pages queue. */
  handlers: JobHandlers;
}

const NAV = [
  { path: '/account/', label: 'Overview' },
  { path: '/account/keys', label: 'Keys' },
  { path: '/account/usage', label: 'Usage' },
  { path: '/account/wallet', label: 'Wallet' },
  { path: '/account/orders', label: 'Orders' },
  { path: '/account/data', label: 'Your data' },
];

/** Creates the services of the pages; mounts nothing. */
export function createAccountPages(dependencies: AccountPagesDependencies): AccountPages {
  const { redis, settings, now, log, packs, jobs, mailer, publicUrl, archive } = dependencies;
  const random = randomBytes;
  const accounts = new AccountStore({ redis, now, random, packs, log, archive });
  const people = new People(redis);
  const alerts = new Alerts(redis);
  const audit = new AuditLog(redis, now, archive);
  const requests = new RequestStore({ redis, now, random });
  const held = { redis, accounts, alerts, requests, audit, archive, now };
  const rights = new SubjectRights({ ...held, random, mailer, log });
  const links = new Links({ redis, now, random });
  const freeGrant = settings.FREE_GRANT;
  const onboarding = new Onboarding({ accounts, people, links, mailer, jobs, freeGrant, publicUrl });
  const stripe = stripePayment(settings, { accounts, audit, publicUrl, now, log });
  const sessions = new SessionStore(redis, now, 'account');
  const site: ProtectedArea = {
    root: ACCOUNT_ROOT,
    name: 'Almanac',
    cookie: 'almanac_account',
    sessions,
    findUser: (session) => people.personOf(session),
    nav: NAV,
    templates: [`${import.meta.dirname}/views`],
    log,
  };
  const methods = [...(stripe ? [stripe] : []), invoicePayment];
  const context: AccountContext = {
    ...{ redis, settings, now, log, site, sessions, audit, accounts, packs, people },
    ...{ onboarding, alerts, requests, rights, jobs, publicUrl },
    throttle: new Throttle(redis, now),
    payments: new Map(methods.map((method) => [method.id, method])),
    view: createPageViews(site),
  };
  const handlers = accountHandlers({
    accounts,
    alerts,
    audit,
    onboarding,
    requests,
    rights,
    jobs,
    mailer,
    publicUrl,
  });
  return { context, stripe, handlers };
}

const ROUTES = [
  signInRoutes,
  signUpRoutes,
  confirmRoutes,
  passwordResetRoutes,
  homeRoutes,
  keysRoutes,
  revokeKeyRoutes,
  usageRoutes,
  walletRoutes,
  ordersRoutes,
  orderRoutes,
  invoiceRoutes,
  privacyRoutes,
];

/** Mounts the pages. The app installs their stylesheet; see `gateway/pages/shared/stylesheet.ts`. */
export function registerAccountPages(app: FastifyInstance, { context, stripe }: AccountPages): void {
  app.register(
    async (scope) => {
      await installProtectedArea(scope, context.site);
      for (const install of ROUTES) install(scope, context);
    },
    { prefix: ACCOUNT_ROOT },
  );
  if (stripe) installStripeWebhook(app, stripe, context.log);
}
