/**
 * The second factor of a sign-in: codes of an authenticator app (TOTP, RFC 6238: SHA-1, six digits, 30 s), and recovery
 * codes for those who lost it. The same for every realm: each has a store of its own.
 *
 * - A code is accepted once: the step of the last one is stored, and only later steps are accepted. The steps before and
 *   after the current one are accepted too, because clocks differ.
 * - Of recovery codes only digests are stored; each works once. The secret is stored like the service's signing keys. It
 *   is shown only while it is set up, and is in no export.
 * - The script of a change writes the event that tells the person. Operators are told by their area.
 * - Wrong codes are throttled by user, because whoever guesses here knows the password already.
 */
import { createHash } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { randomId } from '../../api/metering/metering.ts';
import type { StoredEvent, templates } from '../notifications/notifications.ts';
import { Store, type StoreDependencies } from '../store/store.ts';
import type { Realm } from './sessions.ts';
import { Throttle, type ThrottlePolicy } from './throttle.ts';

const CHANGE = readScript(import.meta.url, 'lua/change-second-factor.lua', 2);
const USE_STEP = readScript(import.meta.url, 'lua/use-totp-step.lua', 1);

const ALGORITHM = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
const WINDOW_STEPS = 1;
const SECRET_BYTES = 20;
/** A secret as text, in base32. */
export const SECRET_PATTERN = /^[A-Z2-7]{32}$/;
const RECOVERY_CODES = 10;
const RECOVERY_CODE_LENGTH = 12;
const RECOVERY_FIELD = 'recovery:';
const USE_ID_LENGTH = 16;
const TOTP_CODE = /^\d{6}$/;

/** With three codes valid at a time, guessing all day long finds one in about ten years. */
const GUESSING: ThrottlePolicy = { free_attempts: 5, max_delay_ms: 900_000, decay_ms: 900_000 };

type CodeCheck =
  /** `recovery_codes_left`: set when the code was a recovery code. */
  | { kind: 'accepted'; recovery_codes_left: number | null }
  | { kind: 'rejected' }
  | { kind: 'throttled'; wait_s: number };

export class SecondFactorStore extends Store {
  readonly #realm: Realm;
  readonly #throttle: Throttle;

  constructor(dependencies: StoreDependencies, realm: Realm) {
    super(dependencies);
    this.#realm = realm;
    this.#throttle = new Throttle(dependencies.redis, dependencies.now);
  }

  /** `since_ms`: null while it is off. `recovery_codes_left`: those that are unused. */
  async state(subject: string) {
    const facts = await this.redis.hgetall(this.#key(subject));
    const { secret, since_ms } = facts;
    return {
      isOn: secret !== undefined,
      since_ms: since_ms === undefined ? null : Number(since_ms),
      recovery_codes_left: Object.keys(facts).filter((field) => field.startsWith(RECOVERY_FIELD)).length,
    };
  }

  async isOn(subject: string): Promise<boolean> {
    return (await this.#secretOf(subject)) !== null;
  }

  /** A secret that nothing stores until `turnOn`. @param names as the app shows them */
  propose(names: { issuer: string; label: string }) {
    return this.proposalOf(new Secret({ buffer: bufferOf(this.random(SECRET_BYTES)) }).base32, names);
  }

  /** The secret, and its `otpauth://…` address for a QR code. @param secret in base32; matches `SECRET_PATTERN` */
  proposalOf(secret: string, names: { issuer: string; label: string }) {
    const totp = new TOTP({ ...ALGORITHM, ...names, secret: Secret.fromBase32(secret) });
    return { secret, uri: totp.toString() };
  }

  /**
   * Turns it on when `code` proves that the app has the secret.
   * @returns the recovery codes, which cannot be read again; null if the code is wrong
   */
  async turnOn(
    subject: string,
    { secret, code }: { secret: string; code: string },
  ): Promise<{ recovery_codes: string[] } | 'already_on' | null> {
    const step = this.#stepOf(secret, normalise(code));
    if (step === null) return null;
    const recovery_codes = this.#newRecoveryCodes();
    const values = [secret, step, ...recovery_codes.map(recoveryField)];
    const isOn = await this.#change(subject, 'turned_on', 'second_factor_turned_on', values);
    return isOn ? { recovery_codes } : 'already_on';
  }

  /** @param told null tells nobody @param author who is told to have done it, and why @returns false if it is refused */
  async #change(
    subject: string,
    change: 'turned_on' | 'codes_renewed' | 'turned_off' | 'code_used',
    told: templates.SecurityEvent | null,
    values: readonly (string | number)[] = ['', ''],
    author: Pick<StoredEvent, 'by' | 'reason'> = { by: subject, reason: '' },
  ): Promise<boolean> {
    const isPerson = this.#realm === 'account';
    if (isPerson) await this.expectEvents(subject);
    const names = [this.#key(subject), ...(isPerson ? [redisKeys.personOutbox(subject)] : [])];
    const use = randomId(USE_ID_LENGTH, this.random);
    const type = 'second_factor.changed';
    const event = { type, at_ms: this.now(), ...author, data: { change: told } };
    const json = told === null ? '' : JSON.stringify(event);
    const script = { ...CHANGE, keys: names.length };
    const facts = [change, use, `${type}:${use}`, json, this.now()];
    const [result] = await this.run(script, [...names, ...facts, ...values]);
    return result === 'changed';
  }

  /**
   * Uses up a code of the app, or a recovery code. Rejects every code while the second factor is off.
   * @param isSignIn whether the person is told that a recovery code was used
   */
  async check(subject: string, typed: string, isSignIn = false): Promise<CodeCheck> {
    const counter = [`${this.#realm}-second-factor`, subject] as const;
    const wait_s = await this.#throttle.attempt(...counter, GUESSING);
    if (wait_s > 0) return { kind: 'throttled', wait_s };
    const code = normalise(typed);
    const isRecoveryCode = !TOTP_CODE.test(code);
    const told = isSignIn ? 'recovery_code_used' : null;
    const isRight = isRecoveryCode
      ? await this.#change(subject, 'code_used', told, ['', '', recoveryField(code)])
      : await this.#useTotp(subject, code);
    if (!isRight) return { kind: 'rejected' };
    await this.#throttle.refund(...counter);
    if (!isRecoveryCode) return { kind: 'accepted', recovery_codes_left: null };
    const { recovery_codes_left } = await this.state(subject);
    return { kind: 'accepted', recovery_codes_left };
  }

  /** Replaces all recovery codes. Null if it is off. The caller checks a code first. */
  async renewRecoveryCodes(subject: string): Promise<string[] | null> {
    const recovery_codes = this.#newRecoveryCodes();
    const values = ['', '', ...recovery_codes.map(recoveryField)];
    const isOn = await this.#change(subject, 'codes_renewed', 'second_factor_codes_renewed', values);
    return isOn ? recovery_codes : null;
  }

  /**
   * Turns it off and forgets the recovery codes. The caller checks a code first, or is entitled to skip that.
   * @returns false if it was off
   */
  turnOff(subject: string): Promise<boolean> {
    return this.#change(subject, 'turned_off', 'second_factor_turned_off');
  }

  /**
   * As `turnOff`, by an operator, for somebody who cannot sign in.
   * @param reason the person is told it
   */
  clear(subject: string, reason: string): Promise<boolean> {
    const author = { by: 'operator', reason };
    return this.#change(subject, 'turned_off', 'second_factor_cleared', undefined, author);
  }

  /** As `turnOff`, without telling anybody. */
  erase(subject: string): Promise<boolean> {
    return this.#change(subject, 'turned_off', null);
  }

  async #useTotp(subject: string, code: string): Promise<boolean> {
    const secret = await this.#secretOf(subject);
    const step = secret === null ? null : this.#stepOf(secret, code);
    if (secret === null || step === null) return false;
    const use = randomId(USE_ID_LENGTH, this.random);
    const [result] = await this.run(USE_STEP, [this.#key(subject), secret, step, use]);
    return result === 'used';
  }

  /** The time step to which a code belongs; null if it is wrong now. */
  #stepOf(secret: string, code: string): number | null {
    if (!TOTP_CODE.test(code)) return null;
    const timestamp = this.now();
    const totp = new TOTP({ ...ALGORITHM, secret: Secret.fromBase32(secret) });
    const delta = totp.validate({ token: code, window: WINDOW_STEPS, timestamp });
    return delta === null ? null : totp.counter({ timestamp }) + delta;
  }

  #newRecoveryCodes(): string[] {
    return Array.from({ length: RECOVERY_CODES }, () =>
      randomId(RECOVERY_CODE_LENGTH, this.random).replaceAll(/(.{4})(?=.)/g, '$1-'),
    );
  }

  #secretOf(subject: string): Promise<string | null> {
    return this.redis.hget(this.#key(subject), 'secret');
  }

  #key(subject: string): string {
    return this.#realm === 'account'
      ? redisKeys.secondFactor(subject)
      : redisKeys.operatorSecondFactor(subject);
  }
}

/** As people type it: with spaces, hyphens or capitals. */
const normalise = (code: string): string => code.replaceAll(/[\s-]/g, '').toLowerCase();

const recoveryField = (code: string): string =>
  RECOVERY_FIELD + createHash('sha256').update(normalise(code)).digest('hex');

const bufferOf = (bytes: Buffer): ArrayBuffer => new Uint8Array(bytes).buffer;
