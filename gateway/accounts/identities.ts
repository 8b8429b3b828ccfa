/**
 * People who sign in to their account: passwords and the end of sessions. Their realm is `account`; an operator's
 * session is none of theirs.
 *
 * Only an account whose e-mail address was confirmed can be signed in to, so that an answer to a sign-in never tells
 * whether an address was free before. Closing an account ends its sessions with the next request; its person can sign
 * in again, but only to what is theirs for as long as they are not erased: a download, and the erasure.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { AccountRecord } from './records.ts';
import { accountFrom } from './redis-mappers.ts';
import type { Session, SignedInUser } from './sign-in/sessions.ts';
import type { Candidate } from './sign-in/sign-in.ts';
import { expectAccount, unavailable } from './validation.ts';

const SET_LOGIN = readScript(import.meta.url, 'lua/set-login.lua', 2);
/** All that the person of a closed account sees. */
export const RIGHTS_PAGE = '/account/data';
/** Looked up where there is no account, so that this takes the same two commands. */
const NOBODY = 'nobody';

export class People {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;

  constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
  }

  /** For signing in; null when nobody can sign in with the address. The address is in lower case. */
  async candidate(email: string): Promise<Candidate | null> {
    const account_id = (await this.#redis.get(redisKeys.email(email))) ?? NOBODY;
    const { account, password, epoch } = await this.#read(account_id);
    // A password is only ever set by way of a mailed link; a closed account is no longer confirmed by it.
    if (!account || password === null || !(account.verified || account.state === 'closed')) return null;
    return { subject: account_id, password, epoch };
  }

  /** The person of a session, unless its sessions were ended. */
  async personOf({ subject, epoch: began_in }: Session): Promise<SignedInUser | null> {
    const { account, epoch } = await this.#read(subject);
    if (!account || epoch !== began_in) return null;
    const { state, tier, email } = account;
    const only = state === 'closed' ? { restrictedTo: RIGHTS_PAGE } : {};
    return { subject, email, role: state === 'active' ? tier : state, canWrite: true, ...only };
  }

  async #read(account_id: string): Promise<Login> {
    const [hash, [password = null, epoch = null]] = await Promise.all([
      this.#redis.hgetall(redisKeys.account(account_id)),
      this.#redis.hmget(redisKeys.login(account_id), 'password', 'epoch'),
    ]);
    return { account: accountFrom(account_id, hash), password, epoch: epoch ?? '' };
  }

  /** The hashed password of an account, or null when nobody can sign in with one. */
  async passwordOf(account_id: string): Promise<string | null> {
    return this.#redis.hget(redisKeys.login(account_id), 'password');
  }

  /**
   * Sets the password and ends all sessions. With `only_first`, false and nothing done when there is one already.
   * @throws {AccountError} `account_unknown`, `account_state`
   */
  async setPassword(
    account_id: string,
    hashed: string,
    { only_first = false }: { only_first?: boolean } = {},
  ): Promise<boolean> {
    const names = [redisKeys.account(account_id), redisKeys.login(account_id)];
    const outcome = await this.#runner
      .runIdempotent(SET_LOGIN, [...names, hashed, only_first ? '1' : '0'])
      .catch(unavailable);
    expectAccount(outcome, account_id);
    return outcome === 'set';
  }

  async endSessions(account_id: string): Promise<void> {
    await this.#redis.hincrby(redisKeys.login(account_id), 'epoch', 1);
  }
}

interface Login {
  account: AccountRecord | null;
  password: string | null;
  epoch: string;
}
