/**
 * Account holders who sign in: passwords, and the end of their sessions (realm `account`).
 *
 * Only accounts with a confirmed e-mail address can sign in, so that a sign-in never reveals whether an address was
 * free before. Closing an account ends its sessions. Its holder can sign in again until the account is erased, but
 * only to the privacy page.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readScript } from '../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { AccountRecord } from './records.ts';
import { createRunScript, type RunScript } from './redis-access.ts';
import { accountFrom } from './redis-mappers.ts';
import type { Session, SignedInUser } from './sign-in/sessions.ts';
import type { LoginRecord } from './sign-in/sign-in.ts';
import { expectOpenAccount } from './validation.ts';

const SET_PASSWORD = readScript(import.meta.url, 'lua/set-password.lua', 2);
/** The only page for the holder of a closed account. */
export const PRIVACY_PAGE = '/account/data';
const CLOSED = 'A closed account can no longer do this.';
/** Read for an unknown address, so that it costs the same two commands. */
const DUMMY_ID = 'nobody';

interface Identity {
  account: AccountRecord | null;
  password: string | null;
  epoch: string;
}

export class IdentityStore {
  readonly #redis: RedisClient;
  readonly #run: RunScript;

  constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#run = createRunScript(redis);
  }

  /** Null if nobody can sign in with the address. @param email in lower case */
  async findLogin(email: string): Promise<LoginRecord | null> {
    return this.findLoginOf((await this.#redis.get(redisKeys.email(email))) ?? DUMMY_ID);
  }

  /** Null if nobody can sign in to the account. */
  async findLoginOf(account_id: string): Promise<LoginRecord | null> {
    const { account, password, epoch } = await this.#read(account_id);
    // A password is only set through a mailed link. Closing an account does not keep its address verified.
    if (!account || password === null || !(account.verified || account.state === 'closed')) return null;
    return { subject: account_id, password, epoch };
  }

  /** The user of a session, or null if the user's sessions were ended. */
  async findUser(session: Session): Promise<SignedInUser | null> {
    const { subject } = session;
    const { account, epoch } = await this.#read(subject);
    if (!account || epoch !== session.epoch) return null;
    const { state, tier, email } = account;
    const only = state === 'closed' ? { restrictedTo: PRIVACY_PAGE, restrictedBecause: CLOSED } : {};
    return { subject, email, role: state === 'active' ? tier : state, canWrite: true, ...only };
  }

  async #read(account_id: string): Promise<Identity> {
    const [hash, [password = null, epoch = null]] = await Promise.all([
      this.#redis.hgetall(redisKeys.account(account_id)),
      this.#redis.hmget(redisKeys.login(account_id), 'password', 'epoch'),
    ]);
    return { account: accountFrom(account_id, hash), password, epoch: epoch ?? '' };
  }

  /** Raised by every change of the password and by signing out everywhere; links and sessions of an earlier one end. */
  async epochOf(account_id: string): Promise<string> {
    return (await this.#redis.hget(redisKeys.login(account_id), 'epoch')) ?? '';
  }

  /** The password hash of an account, or null if it has none. */
  async passwordOf(account_id: string): Promise<string | null> {
    return this.#redis.hget(redisKeys.login(account_id), 'password');
  }

  /**
   * Sets the password and ends all sessions. False, and nothing is changed, if a condition does not hold.
   * @param conditions `only_unconfirmed`: nobody could sign in so far; `epoch`: it was not raised since it was read
   * @throws {AccountError} `account_unknown`, `account_state`
   */
  async setPassword(
    account_id: string,
    hashed: string,
    conditions: { only_unconfirmed?: boolean; epoch?: string } = {},
  ): Promise<boolean> {
    const names = [redisKeys.account(account_id), redisKeys.login(account_id)];
    const { only_unconfirmed = false, epoch } = conditions;
    const values = [hashed, only_unconfirmed ? '1' : '0', epoch === undefined ? '0' : '1', epoch ?? ''];
    const [result] = await this.#run(SET_PASSWORD, [...names, ...values]);
    expectOpenAccount(result, account_id);
    return result === 'set';
  }

  async endSessions(account_id: string): Promise<void> {
    await this.#redis.hincrby(redisKeys.login(account_id), 'epoch', 1);
  }
}
