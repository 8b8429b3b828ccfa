/**
 * Passwords, hashed with scrypt. The parameters stand in the stored text, so they can be raised without locking
 * anybody out.
 *
 * Hashing takes memory and a thread of the pool that also reads files, so only a few run at a time: a flood of
 * sign-ins waits for itself and not for the public routes; beyond a few seconds' worth of waiting it is turned away.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { AccountError } from '../records.ts';

export const PASSWORD_LENGTH = { least: 8, most: 200 } as const;

const COST = 2 ** 15;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const AT_ONCE = 2;
const WAITING_AT_MOST = 100;

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (waiting.length >= WAITING_AT_MOST)
    throw new AccountError('unavailable', 'Too many sign-ins at the moment. Try again shortly.');
  if (running >= AT_ONCE) await new Promise<void>((start) => waiting.push(start));
  running += 1;
  try {
    return await work();
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

function derive(password: string, salt: Buffer, bytes: number, options: ScryptOptions): Promise<Buffer> {
  const { N = COST, r = BLOCK_SIZE } = options;
  // Twice what the algorithm needs; Node's default of 32 MiB is just too little for these parameters.
  const maxmem = 256 * N * r;
  return new Promise((settle, fail) => {
    scrypt(password.normalize('NFC'), salt, bytes, { ...options, maxmem }, (error, hash) =>
      error ? fail(error) : settle(hash),
    );
  });
}

/** `scrypt$N$r$p$salt$hash`, the last two in base64url. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await inTurn(() =>
    derive(password, salt, HASH_BYTES, { N: COST, r: BLOCK_SIZE, p: PARALLEL }),
  );
  return ['scrypt', COST, BLOCK_SIZE, PARALLEL, salt.toString('base64url'), hash.toString('base64url')].join(
    '$',
  );
}

/** What a password is held against when nobody has the address, so that this takes as long. */
const NOBODY = ['scrypt', COST, BLOCK_SIZE, PARALLEL, 'AAAAAAAAAAAAAAAAAAAAAA', 'A'.repeat(43)].join('$');

/** Whether the password is the stored one; takes as long when nothing is stored. */
export async function isPassword(password: string, stored: string | null): Promise<boolean> {
  const [kind, N, r, p, salt = '', hash = ''] = (stored ?? NOBODY).split('$');
  if (kind !== 'scrypt') return false;
  const expected = Buffer.from(hash, 'base64url');
  const options = { N: Number(N), r: Number(r), p: Number(p) };
  const actual = await inTurn(() =>
    derive(password, Buffer.from(salt, 'base64url'), expected.length, options),
  );
  return timingSafeEqual(actual, expected) && stored !== null;
}
