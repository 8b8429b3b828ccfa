/**
 * Accounts in Redis, with their keys and orders. The command line and both page areas use this store.
 *
 * - Each change is one Lua script on the keys of one account, so changes of an account never interleave.
 * - Each change is idempotent. After a lost reply the script runs again and returns the first result. After a crash
 *   between an index and its account, the same command completes the account.
 * - The balance always equals the sum of the ledger's deltas and is never negative.
 *
 * All methods throw `AccountError`; its message is public, and nothing was changed.
 */
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import type { CreditPack } from '../../../data/schema/curated.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type Archive, type LedgerPage, type LedgerQuery, readLedgerPage } from '../history/history.ts';
import { DEFAULT_TERMS, OrderStore, type SalesTerms } from '../orders/orders.ts';
import {
  AccountError,
  type AccountRecord,
  type AccountState,
  accountFrom,
  badInput,
  expectOpenAccount,
  type LedgerEntry,
  MAX_CREDITS,
  nullIfUnknown,
  Store,
  type StoreDependencies,
  throwUnknownAccount,
  validateCredits,
  validateEmail,
} from '../store/store.ts';
import { KeyStore } from './key-store.ts';
import { founderOf, ownAccountOf, PersonStore } from './person-store.ts';

const CREATE = readScript(import.meta.url, 'lua/create-account.lua', 3);
const VERIFY = readScript(import.meta.url, 'lua/verify-email.lua', 2);
const SET_STATE = readScript(import.meta.url, 'lua/set-state.lua', 7);
const ADJUST = readScript(import.meta.url, 'lua/adjust-credits.lua', 3);

const MAX_NAME_LENGTH = 200;

interface AccountStoreDependencies extends StoreDependencies {
  packs: readonly CreditPack[];
  /** What invoices state of the seller. Default: as with no settings. */
  terms?: SalesTerms;
  /** Older ledger entries. Without it, one `carry_forward` entry represents them. */
  archive?: Archive;
}

interface NewAccount {
  email: string;
  name?: string | undefined;
  verified?: boolean;
  /** Initial credits; default 0. */
  credits?: number;
  /** Author, for the ledger. */
  by: string;
}

interface CreditChange {
  by: string;
  reason?: string | undefined;
  /** Idempotency key: applies once per account. Default: a new one. */
  idem?: string | undefined;
}

export class AccountStore extends Store<AccountStoreDependencies> {
  readonly keys = new KeyStore(this.deps);
  readonly orders = new OrderStore({ terms: DEFAULT_TERMS, ...this.deps });
  readonly #persons = new PersonStore(this.deps);

  /** @throws {AccountError} `account_exists`, `bad_input`, `unavailable` */
  async create(account: NewAccount): Promise<AccountRecord> {
    const { redis, now } = this;
    const email = validateEmail(account.email);
    const credits = validateCredits(account.credits ?? 0, 0);
    const name = (account.name ?? '').trim().slice(0, MAX_NAME_LENGTH);
    const created_at_ms = now();
    const candidate = this.newId('acc');
    // An index entry without an account is left by a crash, or is of a person without one: the account gets that id.
    const reserved = founderOf(candidate);
    const known = await redis.set(redisKeys.email(email), reserved, 'NX', 'GET');
    const person_id = known ?? reserved;
    const account_id = ownAccountOf(person_id);
    await this.#persons.create(person_id, { email, name, account_id });
    await this.#persons.addAccount(person_id, account_id);
    const [result] = await this.run(CREATE, [
      redisKeys.account(account_id),
      redisKeys.ledger(account_id),
      redisKeys.members(account_id),
      created_at_ms,
      candidate,
      email,
      name,
      account.verified ? '1' : '0',
      credits,
      account.by,
      person_id,
    ]);
    await redis.zadd(redisKeys.accounts, 'NX', created_at_ms, account_id);
    if (result === 'exists')
      throw new AccountError('account_exists', `An account for ${email} already exists.`);
    return this.get(account_id);
  }

  /** Marks the e-mail address as verified and grants the credits, once. Idempotent. */
  async verify(
    account_id: string,
    { credits = 0, by }: { credits?: number; by: string },
  ): Promise<AccountRecord> {
    const names = [redisKeys.account(account_id), redisKeys.ledger(account_id)];
    const [result] = await this.run(VERIFY, [...names, this.now(), validateCredits(credits, 0), by]);
    expectOpenAccount(result, account_id);
    return this.get(account_id);
  }

  /** @throws {AccountError} `account_unknown`, `account_state` */
  async rename(account_id: string, name: string): Promise<void> {
    const { redis, now } = this;
    await redis.zadd(redisKeys.accountsChanged, now(), account_id);
    await this.setIfOpen(account_id, redisKeys.account(account_id), {
      name: name.trim().slice(0, MAX_NAME_LENGTH),
    });
  }

  /** Lets the address of mails follow that of the owner. Changes nothing unless it was the former one. */
  async changeEmail(account_id: string, { from, to }: { from: string; to: string }): Promise<void> {
    const { redis, now } = this;
    await redis.zadd(redisKeys.accountsChanged, now(), account_id);
    await this.changeRecord(redisKeys.account(account_id), ['email', from], { email: to });
  }

  /** Its keys are rejected from the next request on. */
  suspend(account_id: string, by = ''): Promise<AccountRecord> {
    return this.#setState(account_id, 'suspended', by);
  }

  /** @throws {AccountError} `account_state` when it is closed: closing is final. */
  restore(account_id: string, by = ''): Promise<AccountRecord> {
    return this.#setState(account_id, 'active', by);
  }

  /** Final. Revokes all keys and removes all webhooks. */
  close(account_id: string, by = ''): Promise<AccountRecord> {
    return this.#setState(account_id, 'closed', by);
  }

  /** @param by whom mails about it name; without it there are none */
  async #setState(account_id: string, to: AccountState, by: string): Promise<AccountRecord> {
    const { redis, now } = this;
    // Written before the change, so that the search index (admin/account-index.ts) never misses one.
    await redis.zadd(redisKeys.accountsChanged, now(), account_id);
    await this.expectEvents(account_id);
    const { account, keys, webhooks, webhookDeliveries, webhookLog, accountOutbox, connections } = redisKeys;
    const names = [account, keys, webhooks, webhookDeliveries, webhookLog, accountOutbox, connections];
    const [result] = await this.run(SET_STATE, [...names.map((name) => name(account_id)), now(), to, by]);
    expectOpenAccount(result, account_id);
    if (result === 'refused')
      throw new AccountError('account_state', 'A closed account cannot change its state.');
    return this.get(account_id);
  }

  /** Adds credits. @throws {AccountError} `account_state` when it is closed, `idem_conflict`, `too_large` */
  grant(account_id: string, { credits, ...change }: CreditChange & { credits: number }) {
    return this.#adjust(account_id, 'grant', credits, 1, change);
  }

  /** A correction by an operator. A claw-back stops at a balance of zero and reports the shortfall. */
  adjust(account_id: string, { delta, ...change }: CreditChange & { delta: number }) {
    return this.#adjust(account_id, 'admin_adjust', delta, -MAX_CREDITS, change);
  }

  /** @returns `shortfall`: credits that a claw-back could not take. A repeated `idem` returns the first result. */
  async #adjust(
    account_id: string,
    kind: 'grant' | 'admin_adjust',
    delta: number,
    min: number,
    { by, reason = '', idem = '' }: CreditChange,
  ) {
    if (delta === 0 && min < 0) throw badInput('An adjustment must not be zero.');
    validateCredits(delta, min);
    // The prefixes keep generated keys apart from the caller's.
    const once = idem === '' ? this.newId('own') : `idem:${idem}`;
    const names = [redisKeys.account(account_id), redisKeys.ledger(account_id), redisKeys.idem(account_id)];
    const values = [this.now(), once, kind, delta, by, reason.trim()];
    const [result, ...facts] = await this.run(ADJUST, [...names, ...values]);
    expectOpenAccount(result, account_id);
    if (result === 'too_large') throw new AccountError('too_large', 'The balance would become too large.');
    if (result === 'conflict') {
      const message = `This idempotency key was already used for ${String(facts[0])} credits.`;
      throw new AccountError('idem_conflict', message);
    }
    const [applied = 0, shortfall = 0, balance = 0] = facts.map(Number);
    return { applied, shortfall, balance, repeated: result === 'repeated' };
  }

  /** @throws {AccountError} `account_unknown` */
  async get(account_id: string): Promise<AccountRecord> {
    const hash = await this.redis.hgetall(redisKeys.account(account_id));
    return accountFrom(account_id, hash);
  }

  /** What closing the account forfeits: balance and active keys. @throws {AccountError} `account_unknown` */
  async holdings(account_id: string) {
    const [{ state, credits }, keys] = await Promise.all([this.get(account_id), this.keys.list(account_id)]);
    return { state, credits: credits.balance, keys: keys.filter((key) => key.state === 'active').length };
  }

  /**
   * The account whose owner has the address.
   * @throws {AccountError} `account_unknown`; `bad_input` if the person owns several
   */
  async findByEmail(email: string): Promise<AccountRecord> {
    const { redis } = this;
    const address = validateEmail(email);
    const person_id = await redis.get(redisKeys.email(address));
    if (person_id === null) throwUnknownAccount(address);
    const ids = await redis.smembers(redisKeys.personAccounts(person_id));
    const candidates = [...new Set([ownAccountOf(person_id), ...ids.sort()])];
    const found = await Promise.all(candidates.map((id) => this.get(id).catch(nullIfUnknown)));
    const owned = found.filter((account) => account?.email === address);
    const [account] = owned;
    if (!account) throwUnknownAccount(address);
    if (owned.length === 1) return account;
    const names = owned.map((one) => one?.account_id).join(', ');
    throw badInput(`${address} owns several accounts: ${names}. The operator area has them apart.`);
  }

  /** Newest first, archive included; `before` is the id of the last entry already seen. */
  ledgerPage(account_id: string, query: LedgerQuery = {}): Promise<LedgerPage> {
    return readLedgerPage(this.deps, account_id, query);
  }

  /** The entries of a page. @throws {AccountError} `archive_damaged` when some of them cannot be read. */
  async ledger(account_id: string, query: LedgerQuery = {}): Promise<LedgerEntry[]> {
    const { entries, gap } = await this.ledgerPage(account_id, query);
    if (gap) throw new AccountError('archive_damaged', gap.message);
    return entries;
  }
}
