/**
 * Persons: who signs in to the account area (realm `account`), with address, name and password.
 *
 * The person `per_X` signed up for the account `acc_X`; somebody who was invited has no account of that name. An erased
 * person leaves a mark, so that no late write makes the person again.
 *
 * A person who has a password can sign in: it is only ever set by whoever reads the mails of the address, and for the reviewer
 * of a directory by the command line. A password that has ended is as none, and ends the sessions.
 */
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { AccountError, type Hash, numberOr, Store, validateEmail } from '../store/store.ts';

const CREATE = readScript(import.meta.url, 'lua/create-person.lua', 2);
const SET_PASSWORD = readScript(import.meta.url, 'lua/set-password.lua', 2);
const CHANGE_EMAIL = readScript(import.meta.url, 'lua/change-email.lua', 2);
const FORGET_ADDRESS = readScript(import.meta.url, 'lua/forget-address.lua', 1);

export const MAX_NAME_LENGTH = 200;

/** What is stored for signing in. */
export interface LoginRecord {
  subject: string;
  epoch: string;
  /** As `PasswordHasher.hash` wrote it. */
  password: string;
}

export interface AddressChange {
  from: string;
  to: string;
  /** Whether the former address gets a link that undoes it. */
  canUndo: boolean;
}

/** The person who signed up for an account. */
export const founderOf = (account_id: string): string => `per_${account_id.replace(/^acc_/, '')}`;

/** The account that a person has, or would have, signed up for. */
export const ownAccountOf = (person_id: string): string => `acc_${person_id.replace(/^per_/, '')}`;

export class PersonStore extends Store {
  /** Null for nobody, and for an erased person. */
  async get(person_id: string): Promise<PersonRecord | null> {
    const stored = await this.redis.hgetall(redisKeys.person(person_id));
    return personFrom(person_id, stored, this.now());
  }

  /** Null if nobody has the address. @param email in lower case */
  async findByEmail(email: string): Promise<PersonRecord | null> {
    const stored = await this.redis.get(redisKeys.email(email));
    // Read for an unknown address too, so that it costs the same commands.
    const person = await this.get(stored ?? 'per_nobody');
    return person?.email === email ? person : null;
  }

  /** Null if nobody can sign in with the address. @param email in lower case */
  async findLogin(email: string): Promise<LoginRecord | null> {
    const person = await this.findByEmail(email);
    if (!person?.password) return null;
    return { subject: person.person_id, password: person.password, epoch: person.epoch };
  }

  /**
   * Finds the person with an address, or makes one, who cannot sign in yet.
   * @throws {AccountError} `bad_input`
   */
  async findOrCreate(email: string, name: string): Promise<PersonRecord> {
    const address = validateEmail(email);
    const candidate = this.newId('per');
    const person_id = (await this.redis.set(redisKeys.email(address), candidate, 'NX', 'GET')) ?? candidate;
    const known = await this.get(person_id);
    if (known) return known;
    await this.create(person_id, { email: address, name });
    return this.#expect(person_id);
  }

  /** Makes a person who cannot sign in yet, unless the person exists or was erased. @param account_id of which the person is the owner */
  async create(
    person_id: string,
    { email, name, account_id = '' }: { email: string; name: string; account_id?: string },
  ): Promise<void> {
    await this.run(CREATE, [
      ...[redisKeys.person(person_id), redisKeys.personAccounts(person_id)],
      ...[email, name.trim().slice(0, MAX_NAME_LENGTH), this.now(), account_id],
    ]);
  }

  /**
   * Sets the password and ends all sessions. False, and nothing is changed, if a condition does not hold.
   * @param conditions `only_unset`: nobody could sign in so far; `epoch`: it was not raised since it was read
   * @throws {AccountError} `person_unknown`
   */
  async setPassword(
    person_id: string,
    hashed: string,
    { only_unset = false, epoch, until_ms }: { only_unset?: boolean; epoch?: string; until_ms?: number } = {},
  ): Promise<boolean> {
    await this.#expect(person_id);
    const conditions = [only_unset ? '1' : '0', epoch === undefined ? '0' : '1', epoch ?? ''];
    await this.expectEvents(person_id);
    const [result] = await this.run(SET_PASSWORD, [
      ...[redisKeys.person(person_id), redisKeys.personOutbox(person_id)],
      ...[hashed, ...conditions, this.now(), person_id, until_ms ?? ''],
    ]);
    if (result === 'unknown') throwUnknownPerson();
    return result === 'set';
  }

  /** @throws {AccountError} `person_unknown` */
  async rename(person_id: string, name: string): Promise<void> {
    const changed = { name: name.trim().slice(0, MAX_NAME_LENGTH) };
    // An erased person has no address.
    const isKnown = await this.changeRecord(redisKeys.person(person_id), ['email', ''], changed);
    if (!isKnown) throwUnknownPerson();
  }

  /**
   * Changes the address and ends all sessions and mailed links. False, and nothing is changed, if somebody else has the
   * new address, or the person no longer has the former one. Repeating it is the same change. The change and the event that
   * `Outbox` hands over are written at once.
   */
  async changeEmail(person_id: string, change: AddressChange): Promise<boolean> {
    const { redis, now } = this;
    const { from, to } = change;
    const reserved = await redis.set(redisKeys.email(to), person_id, 'NX', 'GET');
    if (reserved !== null && reserved !== person_id) {
      // An entry whose person has another address by now is left over.
      if (await this.findByEmail(to)) return false;
      await redis.set(redisKeys.email(to), person_id);
    }
    await this.expectEvents(person_id);
    const names = [redisKeys.person(person_id), redisKeys.personOutbox(person_id)];
    const event = { type: 'address.changed', at_ms: now(), data: change };
    const [result] = await this.run(CHANGE_EMAIL, [...names, from, to, JSON.stringify(event)]);
    await this.forgetAddress(result === 'changed' ? from : to, person_id);
    return result === 'changed';
  }

  /** Removes the index entry of an address that the person does not have. */
  async forgetAddress(email: string, person_id: string): Promise<void> {
    if ((await this.get(person_id))?.email === email) return;
    await this.run(FORGET_ADDRESS, [redisKeys.email(email), person_id]);
  }

  async endSessions(person_id: string): Promise<void> {
    await this.#expect(person_id);
    await this.redis.hincrby(redisKeys.person(person_id), 'epoch', 1);
  }

  /** Accounts of which the person may be a member; `MemberStore.roleOf` decides. */
  async accountsOf(person_id: string): Promise<string[]> {
    return (await this.redis.smembers(redisKeys.personAccounts(person_id))).sort();
  }

  /** Written before the membership, so that the index misses none. */
  async addAccount(person_id: string, account_id: string): Promise<void> {
    await this.redis.sadd(redisKeys.personAccounts(person_id), account_id);
  }

  async removeAccount(person_id: string, account_id: string): Promise<void> {
    await this.redis.srem(redisKeys.personAccounts(person_id), account_id);
  }

  /** Removes everything that names the person. Idempotent. */
  async erase(person_id: string): Promise<void> {
    const { redis, now } = this;
    const person = await this.get(person_id);
    const key = redisKeys.person(person_id);
    await redis.hset(key, 'erased_at_ms', now());
    await redis.hdel(key, 'email', 'name', 'password', 'password_until_ms', 'epoch', 'created_at_ms');
    await redis.del(redisKeys.personAccounts(person_id));
    await redis.del(redisKeys.personOutbox(person_id));
    if (person) await this.forgetAddress(person.email, person_id);
  }

  async #expect(person_id: string): Promise<PersonRecord> {
    return (await this.get(person_id)) ?? throwUnknownPerson();
  }
}

/** Null for nobody, and for an erased person. */
function personFrom(person_id: string, stored: Hash, now_ms: number) {
  const { email, name = '', created_at_ms, password = null, epoch = '' } = stored;
  if (!email) return null;
  const password_until_ms = numberOr(stored.password_until_ms, null);
  const hasEnded = password_until_ms !== null && now_ms >= password_until_ms;
  return {
    person_id,
    email,
    name,
    created_at_ms: Number(created_at_ms),
    /** Hashed; null for somebody who cannot sign in. */
    password: hasEnded ? null : password,
    /** When the password ends, in Unix milliseconds; null for never. */
    password_until_ms,
    epoch: hasEnded ? `${epoch} ended` : epoch,
  };
}
export type PersonRecord = NonNullable<ReturnType<typeof personFrom>>;

function throwUnknownPerson(): never {
  throw new AccountError('person_unknown', 'There is no such person.');
}
