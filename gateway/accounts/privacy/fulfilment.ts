/**
 * Carries out what subject-rights requests ask for.
 *
 * An export is prepared as compressed JSON that its person can download for a week; the first download closes the
 * request. An erasure is only planned here, its account left as it is; `erase` carries it out, and is called from the
 * command line (by hand, or by the nightly batch), never from a page.
 *
 * An erasure closes the account, takes the ways to it and the names in it away and puts an opaque id in their place.
 * The ledger, orders and usage stay: they hold no name, and the books must still add up. Every step may be repeated;
 * one that was cut short is finished by the next try.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Logger } from 'pino';
import { readScript, ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type RandomBytes, randomId } from '../../metering/keys.ts';
import type { Mailer } from '../mail/mailer.ts';
import { AccountError } from '../records.ts';
import { type HeldDataDependencies, heldData, subjectOf } from './data-export.ts';
import type { RequestKind, SubjectRequest } from './requests.ts';

const ERASE = readScript(import.meta.url, '../lua/erase.lua', 4);
const FORGET_ADDRESS = readScript(import.meta.url, '../lua/forget-address.lua', 1);

export const EXPORT_KEPT_MS = 7 * 86_400_000;
const ID_LENGTH = 16;
const BY = 'system';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

export interface SubjectRightsDependencies extends HeldDataDependencies {
  random: RandomBytes;
  mailer: Mailer;
  log: Logger;
}

export interface Erasure {
  request_id: string;
  account_id: string;
  /** What stands for the person from now on. */
  erased_as: string;
}

export class SubjectRights {
  readonly #to: SubjectRightsDependencies;
  readonly #runner: ScriptRunner;

  constructor(dependencies: SubjectRightsDependencies) {
    this.#to = dependencies;
    this.#runner = new ScriptRunner(dependencies.redis);
  }

  /** Prepares a pending request; of any other it does nothing. Returns it as it then is. */
  async prepare(request_id: string): Promise<SubjectRequest> {
    const { requests } = this.#to;
    const request = await requests.get(request_id);
    if (request.status !== 'pending') return request;
    const plan = request.kind === 'export' ? await this.#prepareExport(request) : await this.#plan(request);
    return requests.makeReady(request_id, plan);
  }

  async #prepareExport({ request_id, account_id }: SubjectRequest): Promise<string> {
    const text = JSON.stringify(await heldData(this.#to, account_id), null, 2);
    const file = redisKeys.exportFile(account_id, request_id);
    await this.#to.redis.set(file, await compress(text), 'PX', EXPORT_KEPT_MS);
    return `${Buffer.byteLength(text)} bytes of JSON, kept for seven days`;
  }

  async #plan({ account_id }: SubjectRequest): Promise<string> {
    const { accounts } = this.#to;
    const [keys, orders] = await Promise.all([
      accounts.listKeys(account_id),
      accounts.listOrders(account_id),
    ]);
    const open = orders.filter(({ state }) => state === 'pending').length;
    return (
      `Closes the account, revokes ${keys.filter(({ state }) => state === 'active').length} keys, cancels ${open} ` +
      'open orders, removes address, name, password, labels of keys, alert and exports; keeps ledger, orders and usage.'
    );
  }

  /** The JSON of an export that is ready, or null when it has expired. Downloading it closes the request. */
  async download(request: SubjectRequest): Promise<Buffer | null> {
    const { redis, requests } = this.#to;
    const file = await redis.getBuffer(redisKeys.exportFile(request.account_id, request.request_id));
    if (file === null) return null;
    if (request.status === 'ready')
      await requests.close(request.request_id, 'done', { note: 'Downloaded.', by: BY });
    return decompress(file);
  }

  /** Whether an export can still be downloaded. */
  async isHeld({ account_id, request_id }: SubjectRequest): Promise<boolean> {
    return (await this.#to.redis.exists(redisKeys.exportFile(account_id, request_id))) === 1;
  }

  /** Requests that nobody has prepared yet, of all accounts. */
  async unprepared(): Promise<SubjectRequest[]> {
    return (await this.#to.requests.listOpen()).filter(({ status }) => status === 'pending');
  }

  /** Erasures that are prepared, oldest first. */
  async erasable(): Promise<SubjectRequest[]> {
    const kind: RequestKind = 'erasure';
    const open = await this.#to.requests.listOpen();
    return open.filter((request) => request.kind === kind && request.status === 'ready');
  }

  /**
   * Carries out an erasure. One that was carried out before answers as it did then.
   * @throws {AccountError} `request_unknown`; `request_state` when it is no erasure, or was refused.
   */
  async erase(request_id: string, by: string): Promise<Erasure> {
    const { requests, accounts, audit, log } = this.#to;
    const request = await this.prepare(request_id);
    if (request.kind !== 'erasure')
      throw new AccountError('request_state', 'This request asks for no erasure.');
    if (request.status === 'failed')
      throw new AccountError('request_state', 'This request was closed as failed; there must be a new one.');
    const { account_id } = request;
    await accounts.close(account_id);
    await this.#cancelOrders(account_id);
    await this.#removeExports(account_id);
    await this.#removeWaysIn(account_id);
    const erased_as = await this.#replaceIdentity(account_id);
    await audit.record(
      {
        by,
        action: 'account.erase',
        subject: subjectOf(account_id),
        before: {},
        after: { erased_as },
        reason: `request ${request_id}`,
        request_id: '',
      },
      `erase ${request_id}`,
    );
    await requests.close(request_id, 'done', { note: `Erased; ${erased_as} stands for the person.`, by });
    log.info({ request: request_id, erased_as }, 'an account was erased');
    return { request_id, account_id, erased_as };
  }

  async #cancelOrders(account_id: string): Promise<void> {
    const { accounts } = this.#to;
    for (const { order_id, state } of await accounts.listOrders(account_id)) {
      if (state !== 'pending') continue;
      // One that was paid this very moment stays paid: its credits are in the books.
      await accounts.moveOrder(order_id, 'cancelled').catch((error: unknown) => {
        if (!(error instanceof AccountError && error.code === 'order_state')) throw error;
      });
    }
  }

  async #removeExports(account_id: string): Promise<void> {
    const { requests, redis } = this.#to;
    for (const { request_id, kind, status } of await requests.listOf(account_id)) {
      if (kind !== 'export') continue;
      await redis.del(redisKeys.exportFile(account_id, request_id));
      if (status === 'pending' || status === 'ready')
        await requests.close(request_id, 'failed', { note: 'The account was erased.', by: BY });
    }
  }

  /** While the address still stands in the account: after a cut, the next try finds it there. */
  async #removeWaysIn(account_id: string): Promise<void> {
    const { accounts, redis, mailer } = this.#to;
    const { email } = await accounts.get(account_id);
    await this.#runner.runIdempotent(FORGET_ADDRESS, [redisKeys.email(email), account_id]);
    await mailer.forget(email);
    await redis.zrem(redisKeys.alerts, account_id);
  }

  async #replaceIdentity(account_id: string): Promise<string> {
    const { redis, now, random } = this.#to;
    await redis.zadd(redisKeys.accountsChanged, now(), account_id);
    const reply = await this.#runner.runIdempotent(ERASE, [
      redisKeys.account(account_id),
      redisKeys.keys(account_id),
      redisKeys.login(account_id),
      redisKeys.alert(account_id),
      now(),
      `erased_${randomId(ID_LENGTH, random)}`,
    ]);
    const [outcome, erased_as] = Array.isArray(reply) ? reply : [];
    if (outcome === 'unknown' || outcome === 'open')
      throw new AccountError('account_state', `The account ${account_id} could not be erased.`);
    return String(erased_as);
  }
}
