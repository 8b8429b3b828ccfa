/**
 * The account service of a gateway: stores, payment, mail, and the worker of account jobs. Several gateways can run
 * one each; every job is done by one of them.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { connectRedis, type RedisClient } from '../../data/runtime/redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import type { CreditPack } from '../../data/schema/curated.ts';
import { contactOf } from '../api/http/http.ts';
import { FeedStore } from '../api/metering/metering.ts';
import { AccountStore, FreeGrants, MemberStore, PersonStore } from './accounts/accounts.ts';
import { Authorizations, ClientStore, ConnectionStore } from './connections/connections.ts';
import { Archive, AuditLog } from './history/history.ts';
import {
  BalanceAlerts,
  ChangeAlerts,
  createMailer,
  findExpiringKeys,
  GivenUpJobs,
  type JobHandlers,
  JobQueue,
  type Mailer,
  OperatorAlerts,
  Outbox,
  prepareJobId,
  type ServedEditions,
  SignedLinks,
  SpendingAlerts,
  startJobWorker,
  Teller,
  Webhooks,
} from './notifications/notifications.ts';
import {
  BillingStore,
  createStripePayment,
  readCountries,
  readPacks,
  salesTermsOf,
} from './orders/orders.ts';
import { EmailChanges, Invitations, Onboarding, PasswordHasher } from './people/people.ts';
import { openPrivacy } from './privacy/privacy.ts';

/** Longest wait for an unreachable Redis while stopping. */
const STOP_TIMEOUT_MS = 3_000;

interface AccountServiceDependencies {
  /** With the URL of the Redis in use, private or not. */
  settings: Settings;
  /** A connection that no paid request uses. */
  redis: RedisClient;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  /** Public base URL, without a trailing slash. */
  publicUrl: () => string;
  /** The editions whose changes cause alerts. Default: none. */
  served?: ServedEditions;
  /** Default: from the settings. */
  mailer?: Mailer;
  /** Default: from the settings; then `stop` closes it. */
  archive?: Archive;
  /** Default: at full cost. */
  passwords?: PasswordHasher;
}

export type AccountService = Awaited<ReturnType<typeof openAccountService>>;
type Parts = ReturnType<typeof openParts>;

/** What does the work: of pages, of jobs, and of the operator area. */
function openParts(dependencies: AccountServiceDependencies, packs: readonly CreditPack[]) {
  const { settings, redis, now, log, publicUrl } = dependencies;
  const mailer = dependencies.mailer ?? createMailer(settings, { now, log });
  const archive = dependencies.archive ?? new Archive(settings.ARCHIVE_DIR);
  const jobs = new JobQueue(redis);
  const store = { redis, now, random: randomBytes };
  const accounts = new AccountStore({ ...store, packs, archive, terms: salesTermsOf(settings) });
  const persons = new PersonStore(store);
  const members = new MemberStore(store);
  const outbox = new Outbox(store);
  const webhooks = new Webhooks({ ...store, allowsPrivate: settings.WEBHOOK_PRIVATE_TARGETS });
  const audit = new AuditLog(redis, now, archive);
  const { privacy, requests } = openPrivacy({ settings, redis, accounts, archive, mailer, now, log });
  const links = new SignedLinks(store);
  const connections = new ConnectionStore(store);
  const clients = new ClientStore({ ...store, allowsPrivate: settings.WEBHOOK_PRIVATE_TARGETS });
  const freeGrants = new FreeGrants({
    ...store,
    perRange: settings.FREE_GRANTS_PER_RANGE,
    perDomain: settings.FREE_GRANTS_PER_DOMAIN,
  });
  const senders = { accounts, persons, links, mailer, jobs, publicUrl };
  const tellNow = (person_id: string): Promise<void> => teller.tellNow(person_id);
  const emailChanges = new EmailChanges({ ...senders, members, tellNow });
  const operatorAlerts = new OperatorAlerts({ ...store, settings, mailer });
  const teller = new Teller({
    ...senders,
    members,
    operatorAlerts,
    outbox,
    webhooks,
    now,
    log,
    connectionsOf: (account_id) => connections.list(account_id),
    contact: () => contactOf(settings, publicUrl()),
    isExportReady: async (request_id) => (await requests.get(request_id)).status === 'ready',
    followAddress: (person_id, event) => emailChanges.follow(person_id, event),
  });
  return {
    accounts,
    persons,
    members,
    outbox,
    webhooks,
    audit,
    privacy,
    requests,
    emailChanges,
    teller,
    ...store,
    operatorAlerts,
    mailer,
    archive,
    jobs,
    publicUrl,
    connections,
    clients,
    authorizations: new Authorizations({ ...store, clients, connections, publicUrl }),
    feeds: new FeedStore(store),
    billing: new BillingStore(store),
    alerts: new BalanceAlerts(store),
    spendingAlerts: new SpendingAlerts(store),
    changeAlerts: new ChangeAlerts({
      ...store,
      outbox,
      served: dependencies.served ?? { current: () => null },
    }),
    onboarding: new Onboarding({ ...senders, freeGrants, freeGrant: settings.FREE_GRANT }),
    invitations: new Invitations({ ...senders, members }),
    givenUpJobs: new GivenUpJobs(redis),
  };
}

/** @throws {CuratedError} if credit packs or countries cannot be read. */
export async function openAccountService(dependencies: AccountServiceDependencies) {
  const { settings, now, log, publicUrl } = dependencies;
  const packs = await readPacks(settings.CURATED_DIR);
  const countries = readCountries(settings.CURATED_DIR);
  const parts = openParts(dependencies, packs);
  const { accounts, audit, archive, jobs, givenUpJobs, webhooks, operatorAlerts, clients } = parts;
  const handlers = createJobHandlers(parts);
  const closed = [
    jobs,
    givenUpJobs,
    webhooks,
    operatorAlerts,
    clients,
    ...(dependencies.archive ? [] : [archive]),
  ];
  const stops = closed.map((part) => (): Promise<unknown> => part.close());
  return {
    ...parts,
    settings,
    log,
    packs,
    countries,
    handlers,
    stripe: createStripePayment(settings, { orders: accounts.orders, audit, publicUrl, now, log }),
    passwords: dependencies.passwords ?? new PasswordHasher(),
    startWorker(): void {
      const start = (worker: (connection: RedisClient) => { stop(): Promise<void> }): void => {
        const connection = connectRedis(settings, log, 'jobs');
        const { stop } = worker(connection);
        stops.push(async () => connection.disconnect(), stop);
      };
      start((connection) => startJobWorker(connection, handlers, log));
      start((connection) => webhooks.startWorker(connection, log));
    },
    /** Schedules the periodic jobs; each run is done by one of all workers. Idempotent; rejects without Redis. */
    scheduleJobs: () => jobs.schedule(settings.NIGHTLY_CRON),
    async stop(): Promise<void> {
      for (const stop of stops.toReversed())
        await Promise.race([stop().catch(() => {}), pause(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    },
  };
}

/** Handlers of the account jobs. All are idempotent: a job may run again after it was done. */
const createJobHandlers = (parts: Parts): JobHandlers => ({
  'sign-up': (signUp) => parts.onboarding.sendSignUpMail(signUp),
  'sign-in-link': ({ email }) => parts.onboarding.sendSignInLink(email),
  reset: ({ email }) => parts.onboarding.sendResetMail(email),
  'email-change': ({ person_id, email }) => parts.emailChanges.sendLink(person_id, email),
  'address-changed': (change) => parts.emailChanges.tell(change),
  invitation: ({ account_id, invitation_id }) => parts.invitations.send(account_id, invitation_id),
  told: (job) => parts.teller.send(job),
  'expiring-keys': () => findExpiringKeys(parts, parts.accounts, parts.outbox),
  prepare: async ({ request_id }) => {
    await parts.privacy.prepare(request_id);
    await parts.teller.tellNow('requests');
  },
  erasure: async ({ request_id }) => {
    await parts.privacy.erasures.erase(request_id, { by: 'nightly batch' });
  },
  // `npm run account -- erase --ready` does the same at once.
  erase: async () => {
    for (const { request_id } of await parts.privacy.listErasable())
      await parts.jobs.add('erasure', { request_id }, `erasure-${request_id}`);
  },
  // Looks for what is to be told, tells what the outbox holds, issues invoices, deletes expired exports, and queues jobs that
  // were lost when a process died between a change and its job.
  sweep: async () => {
    await parts.audit.recoverPending();
    await parts.privacy.deleteExpired();
    for (const { request_id } of await parts.privacy.listUnprepared())
      await parts.jobs.add('prepare', { request_id }, prepareJobId(request_id));
    await parts.alerts.lookAtAll();
    await parts.spendingAlerts.lookAtAll();
    await parts.changeAlerts.findConcerned();
    await parts.teller.sweep();
    await parts.accounts.orders.invoices.sweep();
  },
});
