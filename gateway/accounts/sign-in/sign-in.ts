/**
 * Password check with throttling by IP address and by e-mail address. Neither the result nor its timing reveals
 * whether an e-mail address is registered.
 */
import { addressDigest } from '../../../data/schema/redis-keys.ts';
import { addressUnit } from '../../metering/address-meter.ts';
import { verifyPassword } from './passwords.ts';
import type { Throttle, ThrottlePolicy } from './throttle.ts';

const PER_ADDRESS: ThrottlePolicy = { free_attempts: 20, max_delay_ms: 300_000 };
const PER_EMAIL: ThrottlePolicy = { free_attempts: 3, max_delay_ms: 300_000 };

export interface Credentials {
  email: string;
  password: string;
  /** The client's IP address. */
  address: string;
}

/** What is stored for signing in. */
export interface LoginRecord {
  subject: string;
  epoch: string;
  /** As `hashPassword` wrote it. */
  password: string;
}

export type SignInResult =
  | { kind: 'signed_in'; login: LoginRecord }
  | { kind: 'rejected' }
  | { kind: 'throttled'; wait_s: number };

/** @param realm separates the counters of one area from another's. */
export async function signIn(
  realm: string,
  throttle: Throttle,
  findLogin: (email: string) => Promise<LoginRecord | null>,
  credentials: Credentials,
): Promise<SignInResult> {
  const email = credentials.email.trim().toLowerCase().slice(0, 254);
  const counters = [
    [`${realm}-address`, addressUnit(credentials.address), PER_ADDRESS],
    [`${realm}-email`, addressDigest(email), PER_EMAIL],
  ] as const;
  let wait_ms = 0;
  for (const [scope, id, policy] of counters)
    wait_ms = Math.max(wait_ms, await throttle.attempt(scope, id, policy));
  if (wait_ms > 0) return { kind: 'throttled', wait_s: Math.ceil(wait_ms / 1000) };
  const login = await findLogin(email);
  const isRight = await verifyPassword(credentials.password, login?.password ?? null);
  if (!isRight || login === null) return { kind: 'rejected' };
  for (const [scope, id] of counters) await throttle.reset(scope, id);
  return { kind: 'signed_in', login };
}
