/** How often mail may be asked for, and what a password must be: the same rules for signing up and for a new password. */
import type { FastifyReply } from 'fastify';
import { addressDigest } from '../../../../data/schema/redis-keys.ts';
import { PASSWORD_LENGTH } from '../../../accounts/sign-in/passwords.ts';
import type { Pace, Throttle } from '../../../accounts/sign-in/throttle.ts';
import { addressUnit } from '../../../metering/address-unit.ts';

const PER_ADDRESS: Pace = { free: 10, longest_ms: 900_000 };
const PER_EMAIL: Pace = { free: 3, longest_ms: 3_600_000 };

/** Seconds to wait before mail may be asked for, or 0. Whether an address is known makes no difference. */
export async function mailPace(throttle: Throttle, address: string, email: string): Promise<number> {
  const waits_ms = [
    await throttle.attempt('account-mail-address', addressUnit(address), PER_ADDRESS),
    await throttle.attempt('account-mail-email', addressDigest(email), PER_EMAIL),
  ];
  return Math.ceil(Math.max(...waits_ms) / 1000);
}

/** Makes the answer a 429 and gives its sentence. */
export function sayWait(reply: FastifyReply, wait_s: number): string {
  reply.code(429).header('Retry-After', wait_s);
  return `Too many attempts. Try again in ${wait_s} s.`;
}

export function passwordProblem(password: string): string | null {
  const { least, most } = PASSWORD_LENGTH;
  if (password.length >= least && password.length <= most) return null;
  return `A password has ${least} to ${most} characters.`;
}
