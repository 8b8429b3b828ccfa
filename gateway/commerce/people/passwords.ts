/**
 * Passwords: which new ones are accepted (long enough, not common, not the e-mail address), and their hashes by scrypt. The stored text contains the parameters, so they can be raised without locking
 * anybody out.
 *
 * A hash takes some 60 ms of a processor and 32 MB. Each hasher has one thread of low priority and lets at most 100 wait, so
 * that a flood of sign-ins cannot slow down the public routes; further ones fail with `busy`. Operators and account holders
 * have a hasher each, so that they never wait in one queue.
 */
import { randomBytes, type ScryptOptions, timingSafeEqual } from 'node:crypto';
import pLimit from 'p-limit';
import { JobThread } from '../../../data/runtime/job-thread.ts';
import { AccountError } from '../store/store.ts';
import type { HashJob } from './password-thread.ts';

const COST = 2 ** 15;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const MAX_WAITING = 100;

export class PasswordHasher {
  readonly #cost: number;
  readonly #oneByOne = pLimit(1);
  readonly #thread = new JobThread<HashJob, Uint8Array>(new URL('./password-thread.ts', import.meta.url));
  /** Checked for unknown addresses, so that they take the same time. */
  readonly #dummy: string;

  /** @param cost tests take a low one */
  constructor(cost = COST) {
    this.#cost = cost;
    this.#dummy = ['scrypt', cost, BLOCK_SIZE, PARALLEL, 'A'.repeat(22), 'A'.repeat(43)].join('$');
  }

  /** `scrypt$N$r$p$salt$hash`, the last two in base64url. @throws {AccountError} `busy` */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const hash = await this.#derive(password, salt, HASH_BYTES, {
      N: this.#cost,
      r: BLOCK_SIZE,
      p: PARALLEL,
    });
    const texts = [salt.toString('base64url'), hash.toString('base64url')];
    return ['scrypt', this.#cost, BLOCK_SIZE, PARALLEL, ...texts].join('$');
  }

  /**
   * Whether the password matches the stored one; takes as long if nothing is stored.
   * @throws {AccountError} `busy`
   */
  async verify(password: string, stored: string | null): Promise<boolean> {
    const [kind, N, r, p, salt = '', hash = ''] = (stored ?? this.#dummy).split('$');
    if (kind !== 'scrypt') return false;
    const expected = Buffer.from(hash, 'base64url');
    const options = { N: Number(N), r: Number(r), p: Number(p) };
    const actual = await this.#derive(password, Buffer.from(salt, 'base64url'), expected.length, options);
    return timingSafeEqual(actual, expected) && stored !== null;
  }

  async #derive(password: string, salt: Buffer, bytes: number, options: ScryptOptions): Promise<Buffer> {
    if (this.#oneByOne.activeCount + this.#oneByOne.pendingCount > MAX_WAITING)
      throw new AccountError('busy', 'Too many people are signing in right now; try again shortly.');
    const { N = COST, r = BLOCK_SIZE } = options;
    // Twice what the algorithm needs; Node's default of 32 MiB is just too little for these parameters.
    const maxmem = 256 * N * r;
    const job = { password: password.normalize('NFC'), salt, bytes, options: { ...options, maxmem } };
    return Buffer.from(await this.#oneByOne(() => this.#thread.run(job)));
  }
}

export const PASSWORD_LENGTH = { least: 10, most: 200 } as const;
/** Shorter local parts of addresses say too little. */
const LEAST_LOCAL_PART = 4;
const LEAST_DISTINCT = 5;

/** Loaded when the first password is chosen: it takes 0.1 s and some megabytes. */
let common: Promise<ReadonlySet<string>> | null = null;

async function loadCommon(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common'].map((word) => String(word).toLowerCase()));
}

/** What is wrong with a new password, in one sentence for its owner; null if nothing is. */
export async function passwordProblem(password: string, email: string): Promise<string | null> {
  const { least, most } = PASSWORD_LENGTH;
  if (password.length < least || password.length > most)
    return `A password has ${least} to ${most} characters.`;
  const word = password.normalize('NFC').trim().toLowerCase();
  if (isAddress(word, email.trim().toLowerCase())) return 'Your e-mail address cannot be your password.';
  common ??= loadCommon();
  if (isCommon(word, await common))
    return 'This password is on the lists of common passwords that attackers try first. Choose another one.';
  return null;
}

/** The address, its local part, or either with digits and signs added. */
function isAddress(word: string, email: string): boolean {
  const local = email.split('@', 1)[0] ?? '';
  const bare = trimmed(word);
  if ([word, bare].includes(email) || [word, bare].includes(trimmed(email))) return true;
  return (
    local.length >= LEAST_LOCAL_PART && [word, bare].some((text) => [local, trimmed(local)].includes(text))
  );
}

/** On the list as it is or with digits and signs added, or of very few characters. */
const isCommon = (word: string, list: ReadonlySet<string>): boolean =>
  list.has(word) || list.has(trimmed(word)) || new Set(word).size < LEAST_DISTINCT;

/** Without digits and signs at both ends. */
const trimmed = (word: string): string => word.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
