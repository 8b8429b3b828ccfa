/**
 * Passwords, hashed with scrypt. The stored text contains the parameters, so they can be raised without locking
 * anybody out.
 *
 * Hashing needs memory and a thread of the pool that also reads files. Each hasher runs few hashes at a time and lets at
 * most 100 wait, so a flood of sign-ins cannot slow down the public routes; further ones fail with `busy`. Operators and
 * account holders have a hasher each, so that they never wait in one queue.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import pLimit, { type LimitFunction } from 'p-limit';
import { AccountError } from '../records.ts';

const COST = 2 ** 15;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const MAX_WAITING = 100;

/** How many hashes of each run at a time. The thread pool has four threads; one stays free for reading files. */
export const HASHES_AT_A_TIME = { account: 2, operator: 1 } as const;

export interface HashingOptions {
  concurrency: number;
  /** Default: that of a service. Tests take a low one. */
  cost?: number;
}

export class PasswordHasher {
  readonly #concurrency: number;
  readonly #cost: number;
  readonly #limit: LimitFunction;
  /** Checked for unknown addresses, so that they take the same time. */
  readonly #dummy: string;

  constructor({ concurrency, cost = COST }: HashingOptions) {
    this.#concurrency = concurrency;
    this.#cost = cost;
    this.#limit = pLimit(concurrency);
    this.#dummy = ['scrypt', cost, BLOCK_SIZE, PARALLEL, 'A'.repeat(22), 'A'.repeat(43)].join('$');
  }

  /** `scrypt$N$r$p$salt$hash`, the last two in base64url. @throws {AccountError} `busy` */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const hash = await this.#derive(password, salt, HASH_BYTES, {
      ...{ N: this.#cost, r: BLOCK_SIZE, p: PARALLEL },
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
    if (this.#limit.activeCount + this.#limit.pendingCount >= this.#concurrency + MAX_WAITING)
      throw new AccountError('busy', 'Too many people are signing in right now; try again shortly.');
    const { N = COST, r = BLOCK_SIZE } = options;
    // Twice what the algorithm needs; Node's default of 32 MiB is just too little for these parameters.
    const maxmem = 256 * N * r;
    return this.#limit(
      () =>
        new Promise<Buffer>((resolve, reject) => {
          scrypt(password.normalize('NFC'), salt, bytes, { ...options, maxmem }, (error, hash) =>
            error ? reject(error) : resolve(hash),
          );
        }),
    );
  }
}
