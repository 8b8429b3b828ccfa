/**
 * Carries out erasures, for the nightly job, the command line and the operator area.
 *
 * An erasure closes the account, deletes all names in it and its list of members, and stores an opaque id instead. Its
 * owner is erased too, unless a member of another account. Ledger, orders and usage stay: they contain no names, and the
 * accounting must still add up. Invoices that were issued stay as they are, because tax law demands it. Each step is idempotent, so the next attempt completes an interrupted erasure.
 *
 * What there is to remove is counted and stored with the request before the first step, so that the record is right
 * after an interruption too. The request is done only when a second count finds nothing left.
 */
import type { Logger } from 'pino';
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { FeedStore } from '../../api/metering/metering.ts';
import type {
  AccountStore,
  KeyRecord,
  MemberStore,
  PersonRecord,
  PersonStore,
} from '../accounts/accounts.ts';
import type { ConnectionStore } from '../connections/connections.ts';
import { type AuditLog, accountSubject } from '../history/history.ts';
import { endpointsFrom, type Mailer } from '../notifications/notifications.ts';
import type { StripePayment } from '../orders/orders.ts';
import { SecondFactorStore } from '../people/people.ts';
import { AccountError, nullIf, Store, type StoreDependencies } from '../store/store.ts';
import type { ExportFiles } from './export-files.ts';
import type { ErasureCounts, PrivacyRequestStore } from './request-store.ts';

const ERASE = readScript(import.meta.url, 'lua/erase-account.lua', 11);

const BY = 'system';

export interface ErasureDependencies extends StoreDependencies {
  accounts: AccountStore;
  persons: PersonStore;
  members: MemberStore;
  connections: ConnectionStore;
  requests: PrivacyRequestStore;
  audit: AuditLog;
  mailer: Mailer;
  exports: ExportFiles;
  /** Null where cards are not taken. */
  stripe: StripePayment | null;
  log: Logger;
}

export class Erasures extends Store<ErasureDependencies> {
  readonly #feeds = new FeedStore(this.deps);

  /** What an erasure would remove now. All counts are 0 after it. */
  async find(account_id: string): Promise<ErasureCounts> {
    const { accounts, connections, requests } = this.deps;
    const { redis } = this;
    const [account, erased_as, keys, connected, orders, asked, owner, alerts, feeds, hash] =
      await Promise.all([
        accounts.get(account_id),
        redis.hget(redisKeys.account(account_id), 'erased_as'),
        accounts.keys.list(account_id),
        connections.list(account_id),
        accounts.orders.list(account_id),
        requests.listOf(account_id),
        this.#ownerToErase(account_id),
        redis.exists(redisKeys.alert(account_id), redisKeys.spending(account_id)),
        this.#feeds.list(account_id),
        redis.hgetall(redisKeys.webhooks(account_id)),
      ]);
    const sizes = await Promise.all(asked.map(({ request_id }) => this.deps.exports.size(request_id)));
    return {
      addresses: erased_as === null ? 1 : 0,
      names: account.name === '' ? 0 : 1,
      passwords: owner?.password ? 1 : 0,
      keys: keys.filter(({ state }) => state === 'active').length,
      key_labels: keys.filter(isTelling).length,
      connections: connected.length,
      feeds: feeds.length,
      orders: orders.filter(({ state }) => state === 'pending').length,
      exports: sizes.filter((size) => size !== null).length,
      alerts,
      webhooks: endpointsFrom(hash).length,
    };
  }

  /** One sentence: what an erasure of the account would do now. */
  async plan(account_id: string): Promise<string> {
    const { keys, feeds, orders, webhooks } = await this.find(account_id);
    return (
      `Closes the account, revokes ${keys} keys, removes ${feeds} feed links and ${webhooks} webhooks, cancels ${orders} open orders, removes address, name, password, ` +
      'labels, makers and rules of keys, connections, alerts, used indicators, billing details and exports; keeps ledger, orders, usage and ' +
      'the invoices that were issued, with the names on them.'
    );
  }

  /**
   * Erases an account and closes the request as done. Idempotent: a repeat returns the first result.
   * @param note of an operator; default: one sentence about the result
   * @returns `erased_as`: the opaque id that replaces the person
   * @throws {AccountError} `request_unknown`; `request_state` if it is not an erasure, or was closed as failed.
   */
  async erase(request_id: string, { by, note = '' }: { by: string; note?: string }) {
    const { requests, accounts, log } = this.deps;
    const { kind, status, account_id } = await requests.get(request_id);
    if (kind !== 'erasure') throw new AccountError('request_state', 'This request is not an erasure.');
    if (status === 'failed')
      throw new AccountError('request_state', 'This request was closed as failed; open a new one.');
    if (status === 'pending') await requests.markReady(request_id, await this.plan(account_id));
    const removed = await requests.recordFound(request_id, await this.find(account_id));
    await accounts.close(account_id);
    await this.#feeds.erase(account_id);
    await this.#endOrders(account_id);
    await this.#deleteExports(account_id);
    await this.#eraseOwner(account_id);
    const erased_as = await this.#replaceIdentity(account_id);
    await this.#expectNothingLeft(account_id);
    const entry = {
      by,
      action: 'account.erase',
      subject: accountSubject(account_id),
      after: { erased_as, ...removed },
      reason: [`request ${request_id}`, note.trim()].filter((part) => part !== '').join(': '),
    };
    await this.deps.audit.record(entry, `erase ${request_id}`);
    const sentence = `Erased; ${erased_as} replaces the person.`;
    await requests.complete(request_id, { note: note.trim() || sentence, by, removed });
    log.info({ request: request_id, erased_as, removed }, 'account erased');
    return { request_id, account_id, erased_as, removed };
  }

  /** Ends payment pages, which show the address, and cancels what is not paid. */
  async #endOrders(account_id: string): Promise<void> {
    const { accounts, stripe } = this.deps;
    const { orders } = accounts;
    for (const order of await orders.list(account_id)) {
      const { order_id, state, payment } = order;
      if (payment === 'stripe') await stripe?.endCheckout(order);
      if (state !== 'pending') continue;
      // An order that was paid at this moment stays paid: its credits are in the ledger.
      await orders.move(order_id, 'cancelled').catch(nullIf('order_state'));
    }
  }

  async #deleteExports(account_id: string): Promise<void> {
    const { requests, exports } = this.deps;
    for (const { request_id, kind, status } of await requests.listOf(account_id)) {
      if (kind !== 'export') continue;
      await exports.delete(request_id);
      if (status === 'pending' || status === 'ready')
        await requests.fail(request_id, { note: 'The account was erased.', by: BY });
    }
  }

  /** The owner, unless also a member of another account; null once erased. */
  async #ownerToErase(account_id: string): Promise<PersonRecord | null> {
    const { members, persons } = this.deps;
    const owner = (await members.list(account_id)).find(({ role }) => role === 'owner');
    if (!owner) return null;
    const { person_id } = owner;
    for (const other of await persons.accountsOf(person_id))
      if (other !== account_id && (await members.roleOf(other, person_id)) !== null) return null;
    return persons.get(person_id);
  }

  /** Runs while the account still has its members and the address, so that a retry finds them there. */
  async #eraseOwner(account_id: string): Promise<void> {
    const { accounts, persons, members, mailer } = this.deps;
    const { redis } = this;
    const { email } = await accounts.get(account_id);
    const owner = await this.#ownerToErase(account_id);
    if (owner) {
      await new SecondFactorStore(this.deps, 'account').erase(owner.person_id);
      await persons.erase(owner.person_id);
    }
    for (const { person_id } of await members.list(account_id))
      await persons.removeAccount(person_id, account_id);
    await mailer.deleteFor(email);
    await redis.zrem(redisKeys.alerts, account_id);
    await redis.zrem(redisKeys.spendingAlerts, account_id);
  }

  async #replaceIdentity(account_id: string): Promise<string> {
    const { redis, now } = this;
    await redis.zadd(redisKeys.accountsChanged, now(), account_id);
    const { account, keys, alert, members, invitations, spending, changeAlerts } = redisKeys;
    const { usedIndicators, billing, accountOutbox, connections } = redisKeys;
    const names = [
      account,
      keys,
      alert,
      members,
      invitations,
      spending,
      changeAlerts,
      ...[usedIndicators, billing, accountOutbox, connections],
    ].map((name) => name(account_id));
    const [result, erased_as] = await this.run(ERASE, [...names, now(), this.newId('erased')]);
    if (result === 'unknown' || result === 'open')
      throw new AccountError('account_state', `The account ${account_id} could not be erased.`);
    return String(erased_as);
  }

  async #expectNothingLeft(account_id: string): Promise<void> {
    const left = Object.entries(await this.find(account_id)).filter(([, count]) => count > 0);
    if (left.length === 0) return;
    const names = left.map(([name, count]) => `${count} ${name}`).join(', ');
    throw new Error(`the erasure of ${account_id} left ${names}`);
  }
}

/** Whether it tells something about a person. */
const isTelling = ({ label, by, ranges, origins }: KeyRecord): boolean =>
  label !== '' || by !== '' || ranges.length > 0 || origins.length > 0;
