/**
 * Carries out privacy requests.
 *
 * An export is prepared as gzipped JSON and can be downloaded for seven days; the first download closes the request.
 * An erasure is only planned by `prepare`. `erase` carries it out; the command line and the nightly job call it, pages
 * never do.
 *
 * An erasure closes the account, deletes its sign-in and all names in it, and stores an opaque id instead. Ledger,
 * orders and usage stay: they contain no names, and the accounting must still add up. Each step is idempotent, so the
 * next attempt completes an interrupted erasure.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Logger } from 'pino';
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type RandomBytes, randomId } from '../../metering/keys.ts';
import { accountSubject } from '../audit/audit-log.ts';
import type { Mailer } from '../mail/mailer.ts';
import { AccountError } from '../records.ts';
import { createRunScript, type RunScript } from '../redis-access.ts';
import { type DataExportDependencies, exportAccountData } from './data-export.ts';
import type { PrivacyRequest } from './request-store.ts';

const ERASE = readScript(import.meta.url, 'erase-account.lua', 4);
const FORGET_ADDRESS = readScript(import.meta.url, 'forget-address.lua', 1);

const EXPORT_TTL_MS = 7 * 86_400_000;
const ID_LENGTH = 16;
const BY = 'system';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

export interface PrivacyServiceDependencies extends DataExportDependencies {
  random: RandomBytes;
  mailer: Mailer;
  log: Logger;
}

export interface Erasure {
  request_id: string;
  account_id: string;
  /** The opaque id that replaces the person. */
  erased_as: string;
}

export class PrivacyService {
  readonly #deps: PrivacyServiceDependencies;
  readonly #run: RunScript;

  constructor(dependencies: PrivacyServiceDependencies) {
    this.#deps = dependencies;
    this.#run = createRunScript(dependencies.redis);
  }

  /** Prepares a pending request; leaves any other unchanged. */
  async prepare(request_id: string): Promise<PrivacyRequest> {
    const { requests } = this.#deps;
    const request = await requests.get(request_id);
    if (request.status !== 'pending') return request;
    const plan = request.kind === 'export' ? await this.#prepareExport(request) : await this.#plan(request);
    return requests.markReady(request_id, plan);
  }

  async #prepareExport({ request_id, account_id }: PrivacyRequest): Promise<string> {
    const text = JSON.stringify(await exportAccountData(this.#deps, account_id), null, 2);
    const file = redisKeys.exportFile(account_id, request_id);
    await this.#deps.redis.set(file, await compress(text), 'PX', EXPORT_TTL_MS);
    return `${Buffer.byteLength(text)} bytes of JSON, kept for seven days`;
  }

  async #plan({ account_id }: PrivacyRequest): Promise<string> {
    const { accounts } = this.#deps;
    const [keys, orders] = await Promise.all([
      accounts.keys.list(account_id),
      accounts.orders.list(account_id),
    ]);
    const active = keys.filter(({ state }) => state === 'active').length;
    const open = orders.filter(({ state }) => state === 'pending').length;
    return (
      `Closes the account, revokes ${active} keys, cancels ${open} open orders, removes address, name, password, ` +
      'labels of keys, alert and exports; keeps ledger, orders and usage.'
    );
  }

  /** The JSON of a prepared export, or null if it has expired. The first download closes the request. */
  async download(request: PrivacyRequest): Promise<Buffer | null> {
    const { redis, requests } = this.#deps;
    const file = await redis.getBuffer(redisKeys.exportFile(request.account_id, request.request_id));
    if (file === null) return null;
    if (request.status === 'ready')
      await requests.close(request.request_id, 'done', { note: 'Downloaded.', by: BY });
    return decompress(file);
  }

  /** Whether the export can still be downloaded. */
  async hasExport({ account_id, request_id }: PrivacyRequest): Promise<boolean> {
    return (await this.#deps.redis.exists(redisKeys.exportFile(account_id, request_id))) === 1;
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

  /**
   * Erases an account. Idempotent: a repeat returns the first result.
   * @throws {AccountError} `request_unknown`; `request_state` if it is not an erasure, or was closed as failed.
   */
  async erase(request_id: string, by: string): Promise<Erasure> {
    const { requests, accounts, audit, log } = this.#deps;
    const { kind, status, account_id } = await this.prepare(request_id);
    if (kind !== 'erasure') throw new AccountError('request_state', 'This request is not an erasure.');
    if (status === 'failed')
      throw new AccountError('request_state', 'This request was closed as failed; open a new one.');
    await accounts.close(account_id);
    await this.#cancelOrders(account_id);
    await this.#deleteExports(account_id);
    await this.#deleteAddress(account_id);
    const erased_as = await this.#replaceIdentity(account_id);
    await audit.record(
      {
        by,
        action: 'account.erase',
        subject: accountSubject(account_id),
        before: {},
        after: { erased_as },
        reason: `request ${request_id}`,
        request_id: '',
      },
      `erase ${request_id}`,
    );
    await requests.close(request_id, 'done', { note: `Erased; ${erased_as} replaces the person.`, by });
    log.info({ request: request_id, erased_as }, 'account erased');
    return { request_id, account_id, erased_as };
  }

  async #cancelOrders(account_id: string): Promise<void> {
    const { orders } = this.#deps.accounts;
    for (const { order_id, state } of await orders.list(account_id)) {
      if (state !== 'pending') continue;
      // An order that was paid at this moment stays paid: its credits are in the ledger.
      await orders.move(order_id, 'cancelled').catch((error: unknown) => {
        if (!(error instanceof AccountError && error.code === 'order_state')) throw error;
      });
    }
  }

  async #deleteExports(account_id: string): Promise<void> {
    const { requests, redis } = this.#deps;
    for (const { request_id, kind, status } of await requests.listOf(account_id)) {
      if (kind !== 'export') continue;
      await redis.del(redisKeys.exportFile(account_id, request_id));
      if (status === 'pending' || status === 'ready')
        await requests.close(request_id, 'failed', { note: 'The account was erased.', by: BY });
    }
  }

  /** Runs while the account still contains the address, so that a retry finds it there. */
  async #deleteAddress(account_id: string): Promise<void> {
    const { accounts, redis, mailer } = this.#deps;
    const { email } = await accounts.get(account_id);
    await this.#run(FORGET_ADDRESS, [redisKeys.email(email), account_id]);
    await mailer.deleteFor(email);
    await redis.zrem(redisKeys.alerts, account_id);
  }

  async #replaceIdentity(account_id: string): Promise<string> {
    const { redis, now, random } = this.#deps;
    await redis.zadd(redisKeys.accountsChanged, now(), account_id);
    const [result, erased_as] = await this.#run(ERASE, [
      redisKeys.account(account_id),
      redisKeys.keys(account_id),
      redisKeys.login(account_id),
      redisKeys.alert(account_id),
      now(),
      `erased_${randomId(ID_LENGTH, random)}`,
    ]);
    if (result === 'unknown' || result === 'open')
      throw new AccountError('account_state', `The account ${account_id} could not be erased.`);
    return String(erased_as);
  }
}
