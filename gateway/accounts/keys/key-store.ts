/**
 * The keys of accounts. The account's hash says which are active and is what admission and the limit of ten look at;
 * `key:<id>` says whose a key is and what its secret's digest is, and never changes.
 */

import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type MintedKey, mintKeyText, type StoredKey, storedKey } from '../../metering/keys.ts';
import type { RunScript, StoreDependencies } from '../account-store.ts';
import { ACTIVE_KEYS_AT_MOST, AccountError, type KeyRecord } from '../records.ts';
import { keysFrom } from '../redis-mappers.ts';
import { unavailable } from '../validation.ts';

const MINT = readScript(import.meta.url, '../lua/mint-key.lua', 2);
const REVOKE = readScript(import.meta.url, '../lua/revoke-key.lua', 1);

/** Facts of a key that was never made active go by themselves. */
const UNFINISHED_KEPT_MS = 600_000;
const LABEL_AT_MOST = 100;
/** Revoked and expired keys that an account still shows. */
const ENDED_KEPT = 50;

export interface KeyRequest {
  label?: string;
  /** Unix milliseconds; null or absent: never. */
  expires_at_ms?: number | null;
}

/** The only time that the text of a key exists outside of its owner's hands. */
export interface NewKey {
  key: string;
  key_id: string;
  expires_at_ms: number | null;
}

type Dependencies = Pick<StoreDependencies, 'redis' | 'now' | 'random'> & { run: RunScript };

export class KeyStore {
  readonly #to: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#to = dependencies;
  }

  async mint(account_id: string, { label = '', expires_at_ms = null }: KeyRequest): Promise<NewKey> {
    const { redis, now, run } = this.#to;
    if (expires_at_ms !== null && !(expires_at_ms > now())) {
      throw new AccountError('bad_input', 'A key must expire in the future.');
    }
    const minted = await this.#writeFacts(account_id, expires_at_ms);
    const facts = redisKeys.key(minted.key_id);
    const [outcome, ...details] = await run(MINT, [
      redisKeys.account(account_id),
      redisKeys.keys(account_id),
      now(),
      minted.key_id,
      minted.environment,
      label.trim().slice(0, LABEL_AT_MOST),
      minted.last4,
      expires_at_ms ?? '',
      ACTIVE_KEYS_AT_MOST,
      ENDED_KEPT,
    ]);
    if (outcome !== 'minted') {
      await redis.del(facts).catch(unavailable);
      throw refusal(outcome, details[0], account_id);
    }
    await redis.persist(facts).catch(unavailable);
    // A key that its account has forgotten is refused as one that is not active: its facts are only waste.
    await Promise.all(details.map((key_id) => redis.del(redisKeys.key(String(key_id))))).catch(() => {});
    return { key: minted.key, key_id: minted.key_id, expires_at_ms };
  }

  /** Writes the facts of a new key under an id that nobody has. */
  async #writeFacts(account_id: string, expires_at_ms: number | null): Promise<MintedKey> {
    const { redis, random } = this.#to;
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
        .set(name, JSON.stringify(facts), 'PX', UNFINISHED_KEPT_MS, 'NX')
        .catch(unavailable);
      if (written === 'OK') return minted;
    }
  }

  async accountOf(key_id: string): Promise<string> {
    const text = await this.#to.redis.get(redisKeys.key(key_id)).catch(unavailable);
    if (text === null) throw unknownKey(key_id);
    return storedKey.parse(JSON.parse(text)).account_id;
  }

  async revoke(key_id: string): Promise<KeyRecord> {
    const { now, run } = this.#to;
    const account_id = await this.accountOf(key_id);
    const [outcome] = await run(REVOKE, [redisKeys.keys(account_id), now(), key_id]);
    const revoked = (await this.list(account_id)).find((key) => key.key_id === key_id);
    if (outcome === 'unknown' || !revoked) throw unknownKey(key_id);
    return revoked;
  }

  async list(account_id: string): Promise<KeyRecord[]> {
    const hash = await this.#to.redis.hgetall(redisKeys.keys(account_id)).catch(unavailable);
    return keysFrom(hash, this.#to.now());
  }
}

const unknownKey = (key_id: string): AccountError =>
  new AccountError('key_unknown', `There is no key with the id ${key_id}.`);

function refusal(outcome: unknown, detail: unknown, account_id: string): AccountError {
  if (outcome === 'full') {
    const limit = `An account holds at most ${ACTIVE_KEYS_AT_MOST} active keys`;
    return new AccountError('too_many_keys', `${limit}; revoke one first.`);
  }
  return outcome === 'inactive'
    ? new AccountError('account_state', `The account is ${String(detail)}.`)
    : new AccountError('account_unknown', `There is no account ${account_id}.`);
}
