/**
 * Trying a password. Guesses slow down by address and by e-mail address; whether an address is known at all shows
 * neither in the answer nor in the time that it takes.
 */
import { addressDigest } from '../../../data/schema/redis-keys.ts';
import { addressUnit } from '../../metering/address-meter.ts';
import { isPassword } from './passwords.ts';
import type { Pace, Throttle } from './throttle.ts';

const PER_ADDRESS: Pace = { free: 20, longest_ms: 300_000 };
const PER_EMAIL: Pace = { free: 3, longest_ms: 300_000 };

export interface Credentials {
  email: string;
  password: string;
  /** Where the attempt comes from. */
  address: string;
}

/** Whom an address belongs to, as far as signing in goes. */
export interface Candidate {
  subject: string;
  epoch: string;
  /** As `hashPassword` wrote it. */
  password: string;
}

export type SignInOutcome =
  | { kind: 'in'; candidate: Candidate }
  | { kind: 'wrong' }
  | { kind: 'wait'; wait_s: number };

/** @param realm keeps the counters of one area apart from another's. */
export async function trySignIn(
  realm: string,
  throttle: Throttle,
  find: (email: string) => Promise<Candidate | null>,
  { email, password, address }: Credentials,
): Promise<SignInOutcome> {
  const unit = addressUnit(address);
  const who = email.trim().toLowerCase().slice(0, 254);
  const waits_ms = [
    await throttle.attempt(`${realm}-address`, unit, PER_ADDRESS),
    await throttle.attempt(`${realm}-email`, addressDigest(who), PER_EMAIL),
  ];
  const wait_ms = Math.max(...waits_ms);
  if (wait_ms > 0) return { kind: 'wait', wait_s: Math.ceil(wait_ms / 1000) };
  const candidate = await find(who);
  if (!(await isPassword(password, candidate?.password ?? null)) || candidate === null)
    return { kind: 'wrong' };
  await throttle.forgive(`${realm}-email`, addressDigest(who));
  await throttle.forgive(`${realm}-address`, unit);
  return { kind: 'in', candidate };
}
