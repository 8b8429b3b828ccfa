/**
 * The account service of a gateway: stores, payment, mail, and the worker of account jobs. Several gateways can run
 * one each; every job is done by one of them.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { connectRedis, type RedisClient } from '../../data/runtime/redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { contactOf } from '../api/http/http.ts';
import { AccountStore, FreeGrants, MemberStore, PersonStore } from './accounts/accounts.ts';
import { Archive, AuditLog } from './history/history.ts';
import { createJobHandlers } from './job-handlers.ts';
import {
  BalanceAlerts,
  ChangeAlerts,
  createMailer,
  GivenUpJobs,
  JobQueue,
  type Mailer,
  OperatorAlerts,
  Outbox,
  openWebhooks,
  type ServedEditions,
  SignedLinks,
  SpendingAlerts,
  startJobWorker,
  Teller,
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

/** @throws {CuratedError} if credit packs or countries cannot be read. */
export async function openAccountService(dependencies: AccountServiceDependencies) {
  const { settings, redis, now, log, publicUrl } = dependencies;
  const packs = await readPacks(settings.CURATED_DIR);
  const countries = await readCountries(settings.CURATED_DIR);
  const mailer = dependencies.mailer ?? createMailer(settings, { now, log });
  const archive = dependencies.archive ?? new Archive(settings.ARCHIVE_DIR);
  const jobs = new JobQueue(redis);
  const givenUpJobs = new GivenUpJobs(redis);
  const stops: (() => Promise<unknown>)[] = [() => jobs.close(), () => givenUpJobs.close()];
  if (!dependencies.archive) stops.push(() => archive.close());

  const store = { redis, now, random: randomBytes };
  const accounts = new AccountStore({ ...store, packs, archive, terms: salesTermsOf(settings) });
  const billing = new BillingStore(store);
  const persons = new PersonStore(store);
  const members = new MemberStore(store, persons);
  const alerts = new BalanceAlerts(store);
  const spendingAlerts = new SpendingAlerts(store);
  const outbox = new Outbox(store);
  const changeAlerts = new ChangeAlerts(redis, dependencies.served ?? { current: () => null }, outbox);
  const webhooks = openWebhooks(store, settings);
  stops.push(() => webhooks.close());
  const audit = new AuditLog(redis, now, archive);
  const { privacy, requests } = openPrivacy({ settings, redis, accounts, archive, mailer, now, log });
  const links = new SignedLinks(store);
  const freeGrant = settings.FREE_GRANT;
  const bounds = { perRange: settings.FREE_GRANTS_PER_RANGE, perDomain: settings.FREE_GRANTS_PER_DOMAIN };
  const freeGrants = new FreeGrants(store, bounds);
  const parties = { accounts, persons, links, mailer, jobs };
  const onboarding = new Onboarding({ ...parties, freeGrants, freeGrant, publicUrl });
  const invitations = new Invitations({ ...parties, members, publicUrl });
  const tellNow = (person_id: string): Promise<void> => teller.tellNow(person_id);
  const emailChanges = new EmailChanges({ ...parties, members, tellNow, publicUrl });
  const stripe = createStripePayment(settings, { orders: accounts.orders, audit, publicUrl, now, log });
  const operatorAlerts = new OperatorAlerts({ ...store, settings, mailer });
  stops.push(() => operatorAlerts.close());
  const contact = (): string => contactOf(settings, publicUrl());
  const teller = new Teller({
    ...{
      accounts,
      persons,
      members,
      operatorAlerts,
      outbox,
      webhooks,
      jobs,
      mailer,
      now,
      log,
      publicUrl,
      contact,
    },
    isExportReady: async (request_id) => (await requests.get(request_id)).status === 'ready',
    followAddress: (person_id, event) => emailChanges.follow(person_id, event),
  });
  const parts = {
    accounts,
    redis,
    now,
    outbox,
    teller,
    alerts,
    spendingAlerts,
    changeAlerts,
    webhooks,
    audit,
    onboarding,
    invitations,
    emailChanges,
    operatorAlerts,
    requests,
    privacy,
    jobs,
    mailer,
    publicUrl,
  };
  const handlers = createJobHandlers(parts);
  return {
    ...parts,
    ...{ settings, log, packs, countries, billing, persons, members },
    ...{ stripe, handlers, givenUpJobs },
    passwords: dependencies.passwords ?? new PasswordHasher(),
    startWorker(): void {
      const blocking = connectRedis(settings, log, 'jobs');
      stops.push(async () => blocking.disconnect());
      const worker = startJobWorker(blocking, handlers, log);
      stops.push(() => worker.stop());
      const sending = connectRedis(settings, log, 'jobs');
      stops.push(async () => sending.disconnect());
      const sender = webhooks.startWorker(sending, log);
      stops.push(() => sender.stop());
    },
    /** Schedules the periodic jobs; each run is done by one of all workers. Idempotent; rejects without Redis. */
    scheduleJobs: () => jobs.schedule(settings.NIGHTLY_CRON),
    async stop(): Promise<void> {
      for (const stop of stops.toReversed())
        await Promise.race([stop().catch(() => {}), pause(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    },
  };
}
