/**
 * Passwords, hashed with scrypt. The stored text contains the parameters, so they can be raised without locking
 * anybody out.
 *
 * Hashing needs memory and a thread of the pool that also reads files. At most two hashes run at a time and at most
 * 100 wait, so a flood of sign-ins cannot slow down the public routes; further ones fail with `busy`.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import pLimit from 'p-limit';
import { AccountError } from '../records.ts';

export const PASSWORD_LENGTH = { least: 8, most: 200 } as const;

const COST = 2 ** 15;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const CONCURRENCY = 2;
const MAX_WAITING = 100;

const limit = pLimit(CONCURRENCY);

/** @throws {AccountError} `busy` */
async function derive(
  password: string,
  salt: Buffer,
  bytes: number,
  options: ScryptOptions,
): Promise<Buffer> {
  if (limit.activeCount + limit.pendingCount >= CONCURRENCY + MAX_WAITING)
    throw new AccountError('busy', 'Too many people are signing in right now; try again shortly.');
  const { N = COST, r = BLOCK_SIZE } = options;
  // Twice what the algorithm needs; Node's default of 32 MiB is just too little for these parameters.
  const maxmem = 256 * N * r;
  return limit(
    () =>
      new Promise<Buffer>((resolve, reject) => {
        scrypt(password.normalize('NFC'), salt, bytes, { ...options, maxmem }, (error, hash) =>
          error ? reject(error) : resolve(hash),
        );
      }),
  );
}

/** `scrypt$N$r$p$salt$hash`, the last two in base64url. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, HASH_BYTES, { N: COST, r: BLOCK_SIZE, p: PARALLEL });
  return ['scrypt', COST, BLOCK_SIZE, PARALLEL, salt.toString('base64url'), hash.toString('base64url')].join(
    '$',
  );
}

/** Checked for unknown addresses, so that they take the same time. */
const DUMMY = ['scrypt', COST, BLOCK_SIZE, PARALLEL, 'AAAAAAAAAAAAAAAAAAAAAA', 'A'.repeat(43)].join('$');

/** Whether the password matches the stored one; takes as long if nothing is stored. */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [kind, N, r, p, salt = '', hash = ''] = (stored ?? DUMMY).split('$');
  if (kind !== 'scrypt') return false;
  const expected = Buffer.from(hash, 'base64url');
  const options = { N: Number(N), r: Number(r), p: Number(p) };
  const actual = await derive(password, Buffer.from(salt, 'base64url'), expected.length, options);
  return timingSafeEqual(actual, expected) && stored !== null;
}
