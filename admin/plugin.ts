/**
 * Registers the operator area below `/admin`, in the gateway or in a process of its own.
 *
 * The plugin is encapsulated: none of its hooks run on public routes.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { JobService } from '../data/runtime/jobs.ts';
import { RunStore } from '../data/runtime/run-store.ts';
import { MemberStore, PersonStore } from '../gateway/commerce/accounts/accounts.ts';
import { ConnectionStore } from '../gateway/commerce/connections/connections.ts';
import { AuditLog } from '../gateway/commerce/history/history.ts';
import { GivenUpJobs, JobQueue, SignedLinks } from '../gateway/commerce/notifications/notifications.ts';
import {
  createPageViews,
  installProtectedArea,
  openRealm,
  PasswordHasher,
  type ProtectedArea,
  SecondFactorStore,
  type SignedInUser,
  signInRoutes,
  Throttle,
} from '../gateway/commerce/people/people.ts';
import { PrivacyRequestStore } from '../gateway/commerce/privacy/privacy.ts';
import { PageError } from '../gateway/web/forms.ts';
import { AccountIndex } from './account-index.ts';
import { ConditionWatch } from './condition-watch.ts';
import { type AdminArea, type AdminDependencies, actorOf } from './context.ts';
import { openDecisions } from './decision-store.ts';
import { IndicatorAdmin } from './indicator-admin.ts';
import { OperatorLinks, OperatorStore } from './operators.ts';
import { providerReader } from './provider-freshness.ts';
import { Reconciler } from './reconcile/reconciler.ts';
import { accountRoutes } from './routes/account.ts';
import { auditRoutes } from './routes/audit.ts';
import { dashboardRoutes } from './routes/dashboard.ts';
import { givenUpJobsRoutes } from './routes/given-up-jobs.ts';
import { indicatorRoutes } from './routes/indicator.ts';
import { indicatorsRoutes } from './routes/indicators.ts';
import { licenceRoutes } from './routes/licences.ts';
import {
  operatorPasswordRoutes,
  operatorSecondFactorRoutes,
  recordSignIn,
} from './routes/operator-sign-in.ts';
import { operatorRoutes, operatorSubject } from './routes/operators.ts';
import { ordersRoutes } from './routes/orders.ts';
import { privacyRequestRoutes } from './routes/privacy-requests.ts';
import { providerRoutes } from './routes/providers.ts';
import { qualityRoutes } from './routes/quality.ts';
import { reconcileRoutes } from './routes/reconcile.ts';
import { runComparisonRoutes } from './routes/run-comparison.ts';
import { runsRoutes } from './routes/runs.ts';
import { snapshotsRoutes } from './routes/snapshots.ts';
import { usageRoutes } from './routes/usage.ts';
import { usersRoutes } from './routes/users.ts';

export const ADMIN_ROOT = '/admin';

const NAV = [
  { path: '/admin/', label: 'Dashboard' },
  { path: '/admin/indicators', label: 'Indicators' },
  { path: '/admin/quality', label: 'Quality' },
  { path: '/admin/providers', label: 'Providers' },
  { path: '/admin/licences', label: 'Licences' },
  { path: '/admin/runs', label: 'Runs' },
  { path: '/admin/snapshots', label: 'Snapshots' },
  { path: '/admin/users', label: 'Users' },
  { path: '/admin/orders', label: 'Orders' },
  { path: '/admin/usage', label: 'Usage' },
  { path: '/admin/reconcile', label: 'Reconciliation' },
  { path: '/admin/gdpr', label: 'Privacy' },
  { path: '/admin/operators', label: 'Operators' },
  { path: '/admin/audit', label: 'Audit log' },
];

const WATCH_EVERY_MS = 60_000;

const WITHOUT_SECOND_FACTOR = {
  restrictedTo: `${ADMIN_ROOT}/second-factor/set-up`,
  restrictedBecause: 'Set up your second factor first.',
} as const;

/** Mounts the area. The caller serves what its pages load; see `gateway/site/assets.ts`. */
export function registerAdmin(app: FastifyInstance, dependencies: AdminDependencies): void {
  const { redis, now, log, archive, settings } = dependencies;
  const store = { redis, now, random: randomBytes };
  const realm = openRealm(store, 'operator', log);
  const { sessions, secondFactor } = realm;
  const passwords = new PasswordHasher();
  const operators = new OperatorStore(redis, now, passwords);
  const links = new SignedLinks(store);
  const persons = new PersonStore(store);
  const restrictUntilSecure = async (user: SignedInUser | null): Promise<SignedInUser | null> => {
    if (user === null || settings.ADMIN_SECOND_FACTOR !== 'required') return user;
    return (await secondFactor.isOn(user.subject)) ? user : { ...user, ...WITHOUT_SECOND_FACTOR };
  };
  const audit = new AuditLog(redis, now, archive);
  const pages: ProtectedArea = {
    ...realm,
    root: ADMIN_ROOT,
    name: 'Almanac operations',
    navName: 'Operations',
    isPublic: false,
    cookie: 'almanac_admin',
    findUser: async (session) => restrictUntilSecure(await operators.findUser(session)),
    audit,
    auditFacts: (request) => ({ by: actorOf(request), subject: operatorSubject(actorOf(request)) }),
    nav: NAV,
    templates: [`${import.meta.dirname}/views`],
    log,
  };
  const decisions = openDecisions(redis);
  const mailJobs = new JobQueue(redis);
  const area: AdminArea = {
    ...dependencies,
    sessions,
    passwords,
    secondFactor,
    members: new MemberStore(store),
    connections: new ConnectionStore(store),
    persons,
    customerSecondFactor: new SecondFactorStore(store, 'account'),
    operators,
    operatorLinks: new OperatorLinks({ ...dependencies, operators, links }),
    throttle: new Throttle(redis, now),
    audit,
    index: new AccountIndex(redis, now),
    requests: new PrivacyRequestStore(store),
    reconciler: new Reconciler(
      { redis, now, archiveDir: archive.directory, workDir: join(settings.VAR_DIR, 'reconcile') },
      log,
    ),
    indicators: new IndicatorAdmin(redis, () => dependencies.snapshots.current(), now),
    jobs: new JobService(redis, now),
    mailJobs,
    givenUpJobs: new GivenUpJobs(redis),
    runs: new RunStore(redis, now),
    decisions,
    providers: providerReader(settings.CURATED_DIR, decisions),
    view: createPageViews(pages),
  };
  app.register(
    async (scope) => {
      await installProtectedArea(scope, pages);
      signInRoutes(scope, pages, {
        realm: 'operator',
        throttle: area.throttle,
        passwords,
        findLogin: (address) => operators.findLogin(address),
        endSessions: (subject) => operators.endSessions(subject),
        onAttempt: (attempt) => recordSignIn(area, attempt),
        signedOutPath: `${ADMIN_ROOT}/`,
      });
      scope.addHook('preHandler', async ({ user, routeOptions }) => {
        if (routeOptions.config.ownersOnly && user?.role !== 'owner')
          throw new PageError(403, 'Only an owner may do this.');
      });
      operatorSecondFactorRoutes(scope, pages, area);
      for (const install of ROUTES) install(scope, area);
    },
    { prefix: ADMIN_ROOT },
  );
  app.addHook('onClose', () => Promise.all([area.jobs.close(), mailJobs.close(), area.givenUpJobs.close()]));
  if (dependencies.operatorAlerts.channels.length > 0) {
    const watch = new ConditionWatch(area, dependencies.watchEvery_ms ?? WATCH_EVERY_MS);
    app.addHook('onReady', async () => watch.start());
    app.addHook('preClose', () => watch.stop());
  }
  // Loads the search index before the first search; without Redis, the first search loads it.
  app.addHook('onReady', async () => {
    area.index
      .refresh()
      .catch((error: Error) =>
        log.debug({ reason: error.message }, 'account index is loaded by the first search'),
      );
  });
}

const ROUTES = [
  dashboardRoutes,
  indicatorsRoutes,
  indicatorRoutes,
  qualityRoutes,
  providerRoutes,
  licenceRoutes,
  runsRoutes,
  runComparisonRoutes,
  snapshotsRoutes,
  givenUpJobsRoutes,
  usersRoutes,
  accountRoutes,
  ordersRoutes,
  usageRoutes,
  reconcileRoutes,
  privacyRequestRoutes,
  operatorRoutes,
  operatorPasswordRoutes,
  auditRoutes,
];
