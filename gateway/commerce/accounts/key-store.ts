/**
 * API keys of accounts. The account's `keys` hash holds each key's state and rules; admission and the limit of active keys
 * read it. `key:<id>` holds the owner and the digest of the secret, and never changes.
 */
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { HOUR_MS, redisKeys } from '../../../data/schema/redis-keys.ts';
import { type MintedKey, mintKeyText, type StoredKey, storedKey } from '../../api/metering/metering.ts';
import {
  AccountError,
  badInput,
  type KeyRules,
  MAX_ACTIVE_KEYS,
  Store,
  throwUnknownAccount,
} from '../store/store.ts';
import { type KeyRecord, keysFrom, NO_RULES, storedRules } from './key-rules.ts';

const MINT = readScript(import.meta.url, 'lua/mint-key.lua', 4);
const CHANGE = readScript(import.meta.url, 'lua/change-key.lua', 2);
const REVOKE = readScript(import.meta.url, 'lua/revoke-key.lua', 2);

/** TTL of a `key:<id>` whose key was never activated. */
const UNFINISHED_TTL_MS = 600_000;
export const MAX_LABEL_LENGTH = 100;
/** Revoked and expired keys that an account still lists. */
const MAX_INACTIVE_KEYS = 50;
/** How long a replaced key may stay valid, unless it ends at once. */
export const GRACE_MS = { least: HOUR_MS, most: 168 * HOUR_MS } as const;

export interface NewKeyOptions {
  label?: string;
  /** Unix milliseconds; null or absent: never. */
  expires_at_ms?: number | null;
  rules?: KeyRules;
  /** Who makes it, and whom mails about it name; without it there are none. */
  by?: string;
}

export class KeyStore extends Store {
  /** Creates a key. @throws {AccountError} `too_many_keys`, `account_state`, `bad_input` */
  mint(account_id: string, options: NewKeyOptions = {}) {
    return this.#mint(account_id, options, '', '');
  }

  /**
   * Makes a key with the label, rules and expiry of another, which stays valid for a grace period.
   * @param grace_ms 0: the other key ends at once
   * @throws {AccountError} `key_unknown`; `key_state` when it was revoked or replaced before, or has expired; `too_many_keys`
   */
  async rotate(key_id: string, { grace_ms, by = '' }: { grace_ms: number; by?: string }) {
    if (grace_ms !== 0 && !(grace_ms >= GRACE_MS.least && grace_ms <= GRACE_MS.most))
      throw badInput('The grace period is 0, or from 1 hour to 7 days.');
    const account_id = await this.accountOf(key_id);
    const { expires_at_ms, state } = await this.#get(account_id, key_id);
    if (state !== 'active') throw cannotChange(key_id, state);
    const ends_at_ms = Math.trunc(this.now() + grace_ms);
    const made = await this.#mint(account_id, { expires_at_ms, by }, key_id, ends_at_ms);
    return { ...made, old: await this.#get(account_id, key_id) };
  }

  /** @returns the text of the key, which exists nowhere else outside of its owner's hands */
  async #mint(
    account_id: string,
    { label = '', expires_at_ms = null, rules = NO_RULES, by = '' }: NewKeyOptions,
    replaces: string,
    ends_at_ms: number | '',
  ) {
    const { redis, now } = this;
    if (expires_at_ms !== null && !(expires_at_ms > now())) {
      throw badInput('A key must expire in the future.');
    }
    const { limit, ranges, origins } = storedRules(rules);
    const minted = await this.#storeDigest(account_id, expires_at_ms);
    await this.expectEvents(account_id);
    const [result, ...details] = await this.run(MINT, [
      ...[redisKeys.account(account_id), redisKeys.keys(account_id), redisKeys.accountOutbox(account_id)],
      redisKeys.feeds(account_id),
      now(),
      ...[minted.key_id, minted.environment, minted.last4, by, MAX_ACTIVE_KEYS, MAX_INACTIVE_KEYS],
      ...[replaces, ends_at_ms, expires_at_ms ?? ''],
      ...[shortLabel(label), limit, ranges, origins],
    ]);
    const name = redisKeys.key(minted.key_id);
    if (result !== 'minted') {
      await redis.del(name);
      if (result === 'not_replaceable') throw cannotChange(replaces, details[0]);
      throwMintError(result, details[0], account_id);
    }
    await redis.persist(name);
    // Keys that the account no longer lists are rejected anyway; deleting them only frees memory.
    await Promise.all(details.map((key_id) => redis.del(redisKeys.key(String(key_id))))).catch(() => {});
    return { key: minted.key, key_id: minted.key_id, expires_at_ms };
  }

  /** Stores owner and digest under an unused id. */
  async #storeDigest(account_id: string, expires_at_ms: number | null): Promise<MintedKey> {
    const { redis, random } = this;
    for (;;) {
      const minted = mintKeyText('live', random);
      const facts: StoredKey = {
        account_id,
        digest: minted.digest.toString('hex'),
        environment: minted.environment,
        scopes: ['read'],
        expires_at_ms,
      };
      const name = redisKeys.key(minted.key_id);
      const written = await redis.set(name, JSON.stringify(facts), 'PX', UNFINISHED_TTL_MS, 'NX');
      if (written === 'OK') return minted;
    }
  }

  /** The account that owns a key. @throws {AccountError} `key_unknown` */
  async accountOf(key_id: string): Promise<string> {
    const text = await this.redis.get(redisKeys.key(key_id));
    if (text === null) throw unknownKey(key_id);
    return storedKey.parse(JSON.parse(text)).account_id;
  }

  /** @throws {AccountError} `key_unknown`; `key_state` unless it is active; `account_state` */
  rename(key_id: string, label: string): Promise<KeyRecord> {
    return this.#change(key_id, ['label', shortLabel(label)]);
  }

  /** From the next request on. @throws {AccountError} as `rename`; `bad_input`; `key_state` also when it was replaced */
  setRules(key_id: string, rules: KeyRules): Promise<KeyRecord> {
    const { limit, ranges, origins } = storedRules(rules);
    return this.#change(key_id, ['limit', limit, 'ranges', ranges, 'origins', origins, 'bound', '1']);
  }

  async #change(key_id: string, fields: readonly (string | number)[]): Promise<KeyRecord> {
    const account_id = await this.accountOf(key_id);
    const names = [redisKeys.account(account_id), redisKeys.keys(account_id)];
    const [result, why] = await this.run(CHANGE, [...names, this.now(), key_id, ...fields]);
    if (result === 'inactive') throw new AccountError('account_state', `The account is ${String(why)}.`);
    if (result !== 'changed') throw cannotChange(key_id, result === 'unknown' ? result : why);
    return this.#get(account_id, key_id);
  }

  /**
   * Final, from the next request on. @throws {AccountError} `key_unknown`
   * @param by whom mails about it name; without it there are none
   */
  async revoke(
    key_id: string,
    { by = '', reason = '' }: { by?: string; reason?: string } = {},
  ): Promise<KeyRecord> {
    const account_id = await this.accountOf(key_id);
    await this.expectEvents(account_id);
    const names = [redisKeys.keys(account_id), redisKeys.accountOutbox(account_id)];
    await this.run(REVOKE, [...names, this.now(), key_id, by, reason]);
    return this.#get(account_id, key_id);
  }

  async #get(account_id: string, key_id: string): Promise<KeyRecord> {
    const key = (await this.list(account_id)).find((candidate) => candidate.key_id === key_id);
    if (!key) throw unknownKey(key_id);
    return key;
  }

  /** Oldest first. */
  async list(account_id: string): Promise<KeyRecord[]> {
    const hash = await this.redis.hgetall(redisKeys.keys(account_id));
    return keysFrom(hash, this.now());
  }
}

const unknownKey = (key_id: string): AccountError =>
  new AccountError('key_unknown', `There is no key with the id ${key_id}.`);

const shortLabel = (label: string): string => label.trim().slice(0, MAX_LABEL_LENGTH);

/** Why a key cannot be changed or replaced. */
function cannotChange(key_id: string, why: unknown): AccountError {
  if (why === 'unknown') return unknownKey(key_id);
  const reason = REASONS.get(String(why)) ?? 'was changed meanwhile';
  return new AccountError('key_state', `The key ${key_id} ${reason}.`);
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['revoked', 'is revoked'],
  ['expired', 'has expired'],
  ['replaced', 'was replaced already: change the key that replaced it'],
]);

function throwMintError(result: unknown, state: unknown, account_id: string): never {
  if (result === 'inactive') throw new AccountError('account_state', `The account is ${String(state)}.`);
  if (result !== 'full') throwUnknownAccount(account_id);
  const limit = `An account can have at most ${MAX_ACTIVE_KEYS} active keys`;
  throw new AccountError('too_many_keys', `${limit}; revoke one first.`);
}
