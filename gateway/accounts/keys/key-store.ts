/**
 * API keys of accounts. The account's `keys` hash holds each key's state; admission and the limit of active keys read
 * it. `key:<id>` holds the owner and the digest of the secret, and never changes.
 */
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type MintedKey, mintKeyText, type StoredKey, storedKey } from '../../metering/keys.ts';
import { AccountError, type KeyRecord, MAX_ACTIVE_KEYS } from '../records.ts';
import {
  createRunScript,
  type RunScript,
  type StoreDependencies,
  throwUnavailable,
} from '../redis-access.ts';
import { keysFrom } from '../redis-mappers.ts';
import { throwUnknownAccount } from '../validation.ts';

const MINT = readScript(import.meta.url, 'mint-key.lua', 2);
const REVOKE = readScript(import.meta.url, 'revoke-key.lua', 1);

/** TTL of a `key:<id>` whose key was never activated. */
const UNFINISHED_TTL_MS = 600_000;
const MAX_LABEL_LENGTH = 100;
/** Revoked and expired keys that an account still lists. */
const MAX_INACTIVE_KEYS = 50;

export interface NewKeyOptions {
  label?: string;
  /** Unix milliseconds; null or absent: never. */
  expires_at_ms?: number | null;
}

/** The only place where the text of a key exists outside of its owner's hands. */
export interface NewKey {
  key: string;
  key_id: string;
  expires_at_ms: number | null;
}

export class KeyStore {
  readonly #deps: StoreDependencies;
  readonly #run: RunScript;

  constructor(dependencies: StoreDependencies) {
    this.#deps = dependencies;
    this.#run = createRunScript(dependencies.redis);
  }

  /** Creates a key. @throws {AccountError} `too_many_keys`, `account_state`, `bad_input` */
  async mint(account_id: string, { label = '', expires_at_ms = null }: NewKeyOptions = {}): Promise<NewKey> {
    const { redis, now } = this.#deps;
    if (expires_at_ms !== null && !(expires_at_ms > now())) {
      throw new AccountError('bad_input', 'A key must expire in the future.');
    }
    const minted = await this.#storeDigest(account_id, expires_at_ms);
    const [result, ...details] = await this.#run(MINT, [
      redisKeys.account(account_id),
      redisKeys.keys(account_id),
      now(),
      minted.key_id,
      minted.environment,
      label.trim().slice(0, MAX_LABEL_LENGTH),
      minted.last4,
      expires_at_ms ?? '',
      MAX_ACTIVE_KEYS,
      MAX_INACTIVE_KEYS,
    ]);
    const name = redisKeys.key(minted.key_id);
    if (result !== 'minted') {
      await redis.del(name).catch(throwUnavailable);
      throwMintError(result, details[0], account_id);
    }
    await redis.persist(name).catch(throwUnavailable);
    // Keys that the account no longer lists are rejected anyway; deleting them only frees memory.
    await Promise.all(details.map((key_id) => redis.del(redisKeys.key(String(key_id))))).catch(() => {});
    return { key: minted.key, key_id: minted.key_id, expires_at_ms };
  }

  /** Stores owner and digest under an unused id. */
  async #storeDigest(account_id: string, expires_at_ms: number | null): Promise<MintedKey> {
    const { redis, random } = this.#deps;
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
      const written = await redis
        .set(name, JSON.stringify(facts), 'PX', UNFINISHED_TTL_MS, 'NX')
        .catch(throwUnavailable);
      if (written === 'OK') return minted;
    }
  }

  /** The account that owns a key. @throws {AccountError} `key_unknown` */
  async accountOf(key_id: string): Promise<string> {
    const text = await this.#deps.redis.get(redisKeys.key(key_id)).catch(throwUnavailable);
    if (text === null) throw unknownKey(key_id);
    return storedKey.parse(JSON.parse(text)).account_id;
  }

  /** Final, from the next request on. @throws {AccountError} `key_unknown` */
  async revoke(key_id: string): Promise<KeyRecord> {
    const account_id = await this.accountOf(key_id);
    const [result] = await this.#run(REVOKE, [redisKeys.keys(account_id), this.#deps.now(), key_id]);
    const revoked = (await this.list(account_id)).find((key) => key.key_id === key_id);
    if (result === 'unknown' || !revoked) throw unknownKey(key_id);
    return revoked;
  }

  /** Oldest first. */
  async list(account_id: string): Promise<KeyRecord[]> {
    const hash = await this.#deps.redis.hgetall(redisKeys.keys(account_id)).catch(throwUnavailable);
    return keysFrom(hash, this.#deps.now());
  }
}

const unknownKey = (key_id: string): AccountError =>
  new AccountError('key_unknown', `There is no key with the id ${key_id}.`);

function throwMintError(result: unknown, state: unknown, account_id: string): never {
  if (result === 'inactive') throw new AccountError('account_state', `The account is ${String(state)}.`);
  if (result !== 'full') throwUnknownAccount(account_id);
  const limit = `An account can have at most ${MAX_ACTIVE_KEYS} active keys`;
  throw new AccountError('too_many_keys', `${limit}; revoke one first.`);
}
