/**
 * Carries out privacy requests.
 *
 * An export is prepared as a zip file and can be downloaded for seven days; the first download closes the request.
 * An erasure is only planned by `prepare`; see `Erasures`.
 */
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import type { Settings } from '../../../data/runtime/settings.ts';
import { type AccountStore, MemberStore, PersonStore } from '../accounts/accounts.ts';
import { ConnectionStore } from '../connections/connections.ts';
import { type Archive, AuditLog } from '../history/history.ts';
import { BalanceAlerts, createMailer, type Mailer } from '../notifications/notifications.ts';
import { createStripePayment } from '../orders/orders.ts';
import { AccountError, nullIf } from '../store/store.ts';
import { countLedger, type DataExportDependencies, listAccountData } from './data-export.ts';
import { type ErasureDependencies, Erasures } from './erasures.ts';
import { ExportFiles } from './export-files.ts';
import { type PrivacyRequest, PrivacyRequestStore } from './request-store.ts';

const EXPORT_TTL_MS = 7 * 86_400_000;
/** Ledger entries between two reports of progress. */
const PROGRESS_STEP = 5_000;
const BY = 'system';

interface Dependencies extends DataExportDependencies, ErasureDependencies {}

interface ExportDownload {
  content: Readable;
  size_bytes: number;
}

export class PrivacyService {
  readonly #deps: Dependencies;
  readonly erasures: Erasures;

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies;
    this.erasures = new Erasures(dependencies);
  }

  /** Prepares a pending request; leaves any other unchanged. */
  async prepare(request_id: string): Promise<PrivacyRequest> {
    const { requests } = this.#deps;
    const request = await requests.get(request_id);
    if (request.status !== 'pending') return request;
    if (request.kind === 'export') return this.#prepareExport(request);
    return requests.markReady(request_id, await this.erasures.plan(request.account_id));
  }

  async #prepareExport({ request_id, account_id }: PrivacyRequest): Promise<PrivacyRequest> {
    const { redis, requests, exports } = this.#deps;
    const total = await countLedger(redis, account_id);
    let done = 0;
    await exports.delete(request_id);
    await requests.setProgress(request_id, { done, total });
    const bytes = await exports.write(request_id, listAccountData(this.#deps, account_id), (list) => {
      if (list.name !== 'ledger') return undefined;
      done += 1;
      return done % PROGRESS_STEP === 0 ? requests.setProgress(request_id, { done, total }) : undefined;
    });
    const [size, entries] = [bytes, done].map((count) => count.toLocaleString('en'));
    const plan = `A zip file of ${size} bytes with ${entries} ledger entries, kept for seven days`;
    try {
      return await requests.markReady(request_id, plan);
    } catch (error) {
      // The account was erased meanwhile.
      if (error instanceof AccountError && error.code === 'request_state') await exports.delete(request_id);
      throw error;
    }
  }

  /** The file of a prepared export, or null if it has expired. The first download closes the request. */
  async download(request: PrivacyRequest): Promise<ExportDownload | null> {
    const found = this.#isKept(request) ? await this.#open(request) : null;
    if (found !== null && request.status === 'ready')
      await this.#deps.requests.complete(request.request_id, { note: 'Downloaded.', by: BY });
    return found;
  }

  async #open({ request_id }: PrivacyRequest): Promise<ExportDownload | null> {
    const { exports } = this.#deps;
    const size_bytes = await exports.size(request_id);
    return size_bytes === null ? null : { content: exports.read(request_id), size_bytes };
  }

  /** Whether the export can still be downloaded. */
  async hasExport(request: PrivacyRequest): Promise<boolean> {
    if (!this.#isKept(request)) return false;
    return (await this.#deps.exports.size(request.request_id)) !== null;
  }

  #isKept({ kind, status, ready_at_ms }: PrivacyRequest): boolean {
    if (kind !== 'export' || ready_at_ms === null || status === 'failed') return false;
    return this.#deps.now() < ready_at_ms + EXPORT_TTL_MS;
  }

  /** Deletes files of exports that have expired, were closed or belong to nobody any more. */
  async deleteExpired(): Promise<void> {
    const { requests, exports } = this.#deps;
    for (const request_id of await exports.list()) {
      const request = await requests.get(request_id).catch(nullIf('request_unknown'));
      const isInUse = request && (request.status === 'pending' || this.#isKept(request));
      const isErased = request && (await this.#isErased(request.account_id));
      if (!isInUse || isErased) await exports.delete(request_id);
    }
  }

  async #isErased(account_id: string): Promise<boolean> {
    const all = await this.#deps.requests.listOf(account_id);
    return all.some(({ kind, status }) => kind === 'erasure' && status === 'done');
  }

  /** Pending requests of all accounts, oldest first. */
  async listUnprepared(): Promise<PrivacyRequest[]> {
    return (await this.#deps.requests.listOpen()).filter(({ status }) => status === 'pending');
  }

  /** Prepared erasures, oldest first. */
  async listErasable(): Promise<PrivacyRequest[]> {
    const open = await this.#deps.requests.listOpen();
    return open.filter(({ kind, status }) => kind === 'erasure' && status === 'ready');
  }
}

/** What a program has that carries out requests. */
interface ProgramParts {
  settings: Settings;
  redis: RedisClient;
  accounts: AccountStore;
  archive: Archive;
  /** Default: from the settings. */
  mailer?: Mailer;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
}

export function openPrivacy({ settings, redis, accounts, archive, mailer, now, log }: ProgramParts) {
  const base = { redis, now, random: randomBytes };
  const requests = new PrivacyRequestStore(base);
  const persons = new PersonStore(base);
  const audit = new AuditLog(redis, now, archive);
  const { orders } = accounts;
  const privacy = new PrivacyService({
    ...base,
    accounts,
    persons,
    requests,
    archive,
    log,
    members: new MemberStore(base),
    connections: new ConnectionStore(base),
    alerts: new BalanceAlerts(base),
    audit,
    // It starts no payment here, so nobody is sent back from one.
    stripe: createStripePayment(settings, { orders, audit, publicUrl: () => '', now, log }),
    mailer: mailer ?? createMailer(settings, { now, log }),
    exports: new ExportFiles(settings.EXPORT_DIR),
  });
  return { requests, privacy };
}
