/**
 * The account pages as a running part of a gateway: connections, mail, payment, and the worker that does what pages
 * ask for. Any number of gateways may run it: each job is done by one of them.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { connectRedis, type RedisClient } from '../../data/runtime/redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { Archive } from '../archive/archive.ts';
import { type AccountPages, createAccountPages } from '../pages/account/plugin.ts';
import { JobQueue, startWorker } from './jobs/queue.ts';
import { createMailer, type Mailer } from './mail/mailer.ts';
import { readPacks } from './orders/packs.ts';

/** A stop does not wait longer than this for a Redis that is away. */
const STOP_WITHIN_MS = 3_000;

export interface AccountServiceDependencies {
  /** With the address of the Redis that is used, a private one too. */
  settings: Settings;
  /** A connection that no paid request waits behind. */
  redis: RedisClient;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  /** Where people reach the service, without a slash at the end. */
  publicUrl: () => string;
  /** Default: as the settings say. */
  mailer?: Mailer;
  /** Default: where the settings say; closed by `stop` then. */
  archive?: Archive;
}

export interface AccountService {
  pages: AccountPages;
  mailer: Mailer;
  /** Begins to do jobs. */
  work(): void;
  /** Has balances watched and the night's erasures carried out, by one of all workers. */
  schedule(): Promise<void>;
  stop(): Promise<void>;
}

/** @throws {CuratedError} when the credit packs cannot be read. */
export async function openAccountService(dependencies: AccountServiceDependencies): Promise<AccountService> {
  const { settings, redis, now, log, publicUrl } = dependencies;
  const packs = await readPacks(settings.CURATED_DIR);
  const mailer = dependencies.mailer ?? createMailer(settings, { now, log });
  const archive = dependencies.archive ?? new Archive(settings.ARCHIVE_DIR);
  const jobs = new JobQueue(redis);
  const pages = createAccountPages({ redis, settings, now, log, packs, jobs, mailer, publicUrl, archive });
  const stops: (() => Promise<unknown>)[] = [() => jobs.close()];
  if (!dependencies.archive) stops.push(() => archive.close());
  return {
    pages,
    mailer,
    work() {
      const waiting = connectRedis(settings, log, 'jobs');
      stops.push(async () => waiting.disconnect());
      const worker = startWorker(waiting, pages.handlers, log);
      stops.push(() => worker.stop());
    },
    async schedule() {
      // Redis being away is no reason not to start; the schedule is written again with every start.
      await jobs
        .schedule(settings.NIGHTLY_CRON)
        .catch((error: unknown) => log.warn({ err: error }, 'nothing is scheduled yet'));
    },
    async stop() {
      for (const end of stops.toReversed())
        await Promise.race([end().catch(() => {}), pause(STOP_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}
