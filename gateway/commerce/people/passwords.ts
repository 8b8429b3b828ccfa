/**
 * Passwords, hashed with scrypt. The stored text contains the parameters, so they can be raised without locking
 * anybody out.
 *
 * A hash takes some 60 ms of a processor and 32 MB. Each hasher has one thread of low priority and lets at most 100 wait, so
 * that a flood of sign-ins cannot slow down the public routes; further ones fail with `busy`. Operators and account holders
 * have a hasher each, so that they never wait in one queue.
 */
import { randomBytes, type ScryptOptions, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
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
  #thread: Worker | null = null;
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
    if (this.#oneByOne.activeCount + this.#oneByOne.pendingCount > MAX_WAITING)
      throw new AccountError('busy', 'Too many people are signing in right now; try again shortly.');
    const { N = COST, r = BLOCK_SIZE } = options;
    // Twice what the algorithm needs; Node's default of 32 MiB is just too little for these parameters.
    const maxmem = 256 * N * r;
    const job = { password: password.normalize('NFC'), salt, bytes, options: { ...options, maxmem } };
    return this.#oneByOne(() => this.#inThread(job));
  }

  /** The thread keeps the process alive only while it works. */
  async #inThread(job: HashJob): Promise<Buffer> {
    this.#thread ??= new Worker(new URL('./password-thread.ts', import.meta.url));
    const thread = this.#thread;
    thread.ref();
    try {
      thread.postMessage(job);
      const [hash]: Uint8Array[] = await once(thread, 'message');
      return Buffer.from(hash ?? []);
    } catch (error) {
      this.#thread = null;
      throw error;
    } finally {
      thread.unref();
    }
  }
}
