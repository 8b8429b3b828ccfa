/**
 * Accounts in Redis: the one way in for the command line, the account pages and the operator area.
 *
 * - Every change is one Lua script on the keys of one account; no two can interleave.
 * - Every change may be repeated: a script whose answer was lost is sent once more and finds what it did. A process
 *   that dies between an index and its account leaves nothing that repeating the command does not mend.
 * - The balance is always the sum of the ledger's deltas and never below zero.
 *
 * Everything throws `AccountError`: its message says in a sentence why nothing was changed.
 */
import type { Logger } from 'pino';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../data/runtime/redis-scripts.ts';
import type { CreditPack } from '../../data/schema/curated.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { Archive } from '../archive/archive.ts';
import { type RandomBytes, randomId } from '../metering/keys.ts';
import { type KeyRequest, KeyStore, type NewKey } from './keys/key-store.ts';
import { type LedgerPage, type LedgerQuery, readLedgerPage } from './ledger-history.ts';
import { type OrderMove, OrderStore } from './orders/order-store.ts';
import {
  AccountError,
  type AccountRecord,
  type AccountState,
  type Adjustment,
  type KeyRecord,
  type LedgerEntry,
  type OrderRecord,
  type OrderState,
  type PaymentId,
} from './records.ts';
import { accountFrom } from './redis-mappers.ts';
import { type AccountPage, type AccountQuery, searchAccounts } from './search.ts';
import {
  CREDITS_AT_MOST,
  checkedCredits,
  checkedEmail,
  expectAccount,
  nullIfUnknown,
  unavailable,
  unknownAccount,
} from './validation.ts';

const CREATE = readScript(import.meta.url, 'lua/create.lua', 2);
const VERIFY = readScript(import.meta.url, 'lua/verify.lua', 2);
const SET_STATE = readScript(import.meta.url, 'lua/set-state.lua', 3);
const CREDIT = readScript(import.meta.url, 'lua/credit.lua', 3);

const ID_LENGTH = 16;

export interface StoreDependencies {
  redis: RedisClient;
  /** Unix milliseconds. */
  now: () => number;
  random: RandomBytes;
  packs: readonly CreditPack[];
  log: Logger;
  /** Where older ledger entries are; without it they stand as one entry. */
  archive?: Archive;
}

export interface NewAccount {
  email: string;
  name?: string;
  verified?: boolean;
  /** First credits; default 0. */
  credits?: number;
  /** Who does it, for the ledger. */
  by: string;
}

export interface Grant {
  credits: number;
  by: string;
  reason?: string;
  /** Applies once for each account; default: a new one. */
  idem?: string;
}

/** Runs a script whose repetition is harmless. @throws {AccountError} `unavailable` */
export type RunScript = (
  script: ReturnType<typeof readScript>,
  values: (string | number)[],
) => Promise<unknown[]>;

export class AccountStore {
  readonly #to: StoreDependencies;
  readonly #run: RunScript;
  readonly #keys: KeyStore;
  readonly #orders: OrderStore;

  constructor(dependencies: StoreDependencies) {
    this.#to = dependencies;
    const runner = new ScriptRunner(dependencies.redis);
    this.#run = async (script, values) => {
      const reply = await runner.runIdempotent(script, values).catch(unavailable);
      return Array.isArray(reply) ? reply : [reply];
    };
    this.#keys = new KeyStore({ ...dependencies, run: this.#run });
    this.#orders = new OrderStore({ ...dependencies, run: this.#run });
  }

  /** @throws {AccountError} `account_exists`, `bad_input`, `unavailable` */
  async create(account: NewAccount): Promise<AccountRecord> {
    const { redis, now, random } = this.#to;
    const email = checkedEmail(account.email);
    const credits = checkedCredits(account.credits ?? 0, 0);
    const name = (account.name ?? '').trim().slice(0, 200);
    const created_at_ms = now();
    const candidate = `acc_${randomId(ID_LENGTH, random)}`;
    const index = redisKeys.email(email);
    const taken = await redis.set(index, candidate, 'NX').catch(unavailable);
    // An index without its account is what a crash left: the account is made under the id that stands there.
    const account_id =
      taken === 'OK' ? candidate : ((await redis.get(index).catch(unavailable)) ?? candidate);
    const [outcome] = await this.#run(CREATE, [
      redisKeys.account(account_id),
      redisKeys.ledger(account_id),
      created_at_ms,
      candidate,
      email,
      name,
      account.verified ? '1' : '0',
      credits,
      account.by,
    ]);
    await redis.zadd(redisKeys.accounts, 'NX', created_at_ms, account_id).catch(unavailable);
    if (outcome === 'exists')
      throw new AccountError('account_exists', `There is already an account for ${email}.`);
    return this.get(account_id);
  }

  /** Verifies the e-mail address and grants what comes with it, once. Repeating it changes nothing. */
  async verify(
    account_id: string,
    { credits = 0, by }: { credits?: number; by: string },
  ): Promise<AccountRecord> {
    const names = [redisKeys.account(account_id), redisKeys.ledger(account_id)];
    const [outcome] = await this.#run(VERIFY, [...names, this.#to.now(), checkedCredits(credits, 0), by]);
    expectAccount(outcome, account_id);
    return this.get(account_id);
  }

  /** Its keys are refused from the next request on. */
  suspend(account_id: string): Promise<AccountRecord> {
    return this.#setState(account_id, 'suspended');
  }

  /** @throws {AccountError} `account_state` when it is closed: that is for good. */
  restore(account_id: string): Promise<AccountRecord> {
    return this.#setState(account_id, 'active');
  }

  /** For good; revokes every key and ends every session. */
  close(account_id: string): Promise<AccountRecord> {
    return this.#setState(account_id, 'closed');
  }

  async #setState(account_id: string, to: AccountState): Promise<AccountRecord> {
    // Noted before the change, so that whoever keeps a search index never misses one; see admin/account-index.ts.
    await this.#to.redis.zadd(redisKeys.accountsChanged, this.#to.now(), account_id).catch(unavailable);
    const names = [redisKeys.account(account_id), redisKeys.keys(account_id), redisKeys.login(account_id)];
    const [outcome] = await this.#run(SET_STATE, [...names, this.#to.now(), to]);
    expectAccount(outcome, account_id);
    if (outcome === 'refused') throw new AccountError('account_state', 'A closed account stays closed.');
    return this.get(account_id);
  }

  /** Adds credits. @throws {AccountError} `account_state` when it is closed, `idem_conflict`, `too_large` */
  async grant(account_id: string, { credits, by, reason, idem }: Grant): Promise<Adjustment> {
    return this.#credit(account_id, 'grant', checkedCredits(credits, 1), by, reason, idem);
  }

  /**
   * An operator's correction. A claw-back stops at zero and says what it could not take; it is never refused because
   * credits were spent.
   */
  async adjust(
    account_id: string,
    { delta, by, reason, idem }: { delta: number; by: string; reason?: string; idem?: string },
  ): Promise<Adjustment> {
    if (delta === 0) throw new AccountError('bad_input', 'An adjustment must not be zero.');
    return this.#credit(
      account_id,
      'admin_adjust',
      checkedCredits(delta, -CREDITS_AT_MOST),
      by,
      reason,
      idem,
    );
  }

  async #credit(
    account_id: string,
    kind: 'grant' | 'admin_adjust',
    delta: number,
    by: string,
    reason = '',
    idem = '',
  ): Promise<Adjustment> {
    const { random, now } = this.#to;
    // The caller's and our own names never meet.
    const once = idem === '' ? `own:${randomId(ID_LENGTH, random)}` : `idem:${idem}`;
    const names = [redisKeys.account(account_id), redisKeys.ledger(account_id), redisKeys.idem(account_id)];
    const [outcome, ...facts] = await this.#run(CREDIT, [
      ...names,
      now(),
      once,
      kind,
      delta,
      by,
      reason.trim(),
    ]);
    expectAccount(outcome, account_id);
    if (outcome === 'too_large') throw new AccountError('too_large', 'No balance may become that large.');
    if (outcome === 'conflict') {
      throw new AccountError('idem_conflict', `This idem was already used, for ${String(facts[0])} credits.`);
    }
    const [applied = 0, shortfall = 0, balance = 0] = facts.map(Number);
    return { applied, shortfall, balance, repeated: outcome === 'repeated' };
  }

  /** Makes a key; its text exists only in the answer. @throws {AccountError} `too_many_keys`, `account_state` */
  mintKey(account_id: string, request: KeyRequest = {}): Promise<NewKey> {
    return this.#keys.mint(account_id, request);
  }

  /** For good, from the next request on. @throws {AccountError} `key_unknown` */
  revokeKey(key_id: string): Promise<KeyRecord> {
    return this.#keys.revoke(key_id);
  }

  /** Whose a key is. @throws {AccountError} `key_unknown` */
  accountOfKey(key_id: string): Promise<string> {
    return this.#keys.accountOf(key_id);
  }

  /** Oldest first. */
  listKeys(account_id: string): Promise<KeyRecord[]> {
    return this.#keys.list(account_id);
  }

  /** Orders a pack; nothing is granted yet. @throws {AccountError} `pack_unknown`, `account_state` */
  order(account_id: string, pack_id: string, payment: PaymentId = 'invoice'): Promise<OrderRecord> {
    return this.#orders.create(account_id, pack_id, payment);
  }

  /** Moves an order on; a move happens once, however often it is asked for. @throws {AccountError} `order_state` */
  moveOrder(order_id: string, to: Exclude<OrderState, 'pending'>): Promise<OrderMove> {
    return this.#orders.move(order_id, to);
  }

  /** @throws {AccountError} `order_unknown` */
  getOrder(order_id: string): Promise<OrderRecord> {
    return this.#orders.get(order_id);
  }

  /** Newest first. */
  listOrders(account_id: string): Promise<OrderRecord[]> {
    return this.#orders.list(account_id);
  }

  /** Orders of all accounts, newest first. */
  listAllOrders(options: { state?: OrderState; limit?: number }): Promise<OrderRecord[]> {
    return this.#orders.listAll(options);
  }

  /** @throws {AccountError} `account_unknown` */
  async get(account_id: string): Promise<AccountRecord> {
    const hash = await this.#to.redis.hgetall(redisKeys.account(account_id)).catch(unavailable);
    return accountFrom(account_id, hash) ?? unknownAccount(account_id);
  }

  /** @throws {AccountError} `account_unknown` */
  async findByEmail(email: string): Promise<AccountRecord> {
    const address = checkedEmail(email);
    const account_id = await this.#to.redis.get(redisKeys.email(address)).catch(unavailable);
    const account = account_id ? await this.get(account_id).catch(nullIfUnknown) : null;
    return account ?? unknownAccount(address);
  }

  /** Newest first, archive included; `before` is the id of the last entry already seen. */
  ledgerPage(account_id: string, query: LedgerQuery = {}): Promise<LedgerPage> {
    return readLedgerPage(this.#to, account_id, query);
  }

  /** The entries of a page. @throws {AccountError} `archive_damaged` when entries among them cannot be read. */
  async ledger(account_id: string, query: LedgerQuery = {}): Promise<LedgerEntry[]> {
    const { entries, gap } = await this.ledgerPage(account_id, query);
    if (gap) throw new AccountError('archive_damaged', gap.message);
    return entries;
  }

  /** A search for people, not for a request path: it reads every account. */
  search(query: AccountQuery): Promise<AccountPage> {
    return searchAccounts(this.#to.redis, (account_id) => this.get(account_id), query);
  }
}
