/**
 * Password check with throttling. Neither the result nor its timing reveals whether an e-mail address is registered.
 *
 * - An unknown browser counts by network address and by e-mail address. A success takes back its own attempt at the
 *   network address only, so that nobody can guess on by signing in to an account of their own in between.
 * - A known browser of the account has a counter of its own, so that no stranger can lock its owner out.
 */
import { addressDigest } from '../../../data/schema/redis-keys.ts';
import { addressUnit } from '../../api/metering/metering.ts';
import type { LoginRecord } from '../accounts/accounts.ts';
import type { KnownBrowsers } from './known-browsers.ts';
import type { PasswordHasher } from './passwords.ts';
import type { Counter, Throttle, ThrottlePolicy } from './throttle.ts';

const POLICY = { max_delay_ms: 300_000, decay_ms: 600_000 } as const;
export const PER_ADDRESS: ThrottlePolicy = { ...POLICY, free_attempts: 20 };
export const PER_EMAIL: ThrottlePolicy = { ...POLICY, free_attempts: 3 };
export const PER_BROWSER: ThrottlePolicy = { ...POLICY, free_attempts: 5 };

export interface Credentials {
  email: string;
  password: string;
  /** The client's IP address. */
  address: string;
  /** The cookie of a known browser. */
  browser: string | undefined;
}

export type SignInResult =
  /** `browser`: id of the known browser; null if it was not known. */
  | { kind: 'signed_in'; login: LoginRecord; browser: string | null }
  | { kind: 'rejected' }
  | { kind: 'throttled'; wait_s: number };

export interface SignInDependencies {
  /** Separates the counters of one area from another's. */
  realm: string;
  throttle: Throttle;
  passwords: Pick<PasswordHasher, 'verify'>;
  browsers: KnownBrowsers;
  findLogin(email: string): Promise<LoginRecord | null>;
}

export const normaliseEmail = (email: string): string => email.trim().toLowerCase().slice(0, 254);

export async function signIn(deps: SignInDependencies, credentials: Credentials): Promise<SignInResult> {
  const { realm, throttle, passwords, browsers, findLogin } = deps;
  const email = normaliseEmail(credentials.email);
  const login = await findLogin(email);
  // Also for an unknown address, so that it takes the same time.
  const recognised = await browsers.recognise(email, login?.epoch ?? '', credentials.browser);
  const browser = login && recognised;
  const byAddress: Counter = [`${realm}-address`, addressUnit(credentials.address), PER_ADDRESS];
  const byEmail: Counter = [`${realm}-email`, addressDigest(email), PER_EMAIL];
  const counters: Counter[] = browser ? [[`${realm}-browser`, browser, PER_BROWSER]] : [byAddress, byEmail];
  const wait_s = await admit(throttle, counters);
  if (wait_s > 0) return { kind: 'throttled', wait_s };
  const isRight = await passwords.verify(credentials.password, login?.password ?? null);
  if (!isRight || login === null) return { kind: 'rejected' };
  for (const [scope, id] of counters)
    await (scope === byAddress[0] ? throttle.refund(scope, id) : throttle.reset(scope, id));
  return { kind: 'signed_in', login, browser };
}

/** Counts the attempt at all counters, or at none when one of them refuses it. */
async function admit(throttle: Throttle, counters: readonly Counter[]): Promise<number> {
  for (const [index, counter] of counters.entries()) {
    const wait_s = await throttle.attempt(...counter);
    if (wait_s === 0) continue;
    for (const [scope, id] of counters.slice(0, index)) await throttle.refund(scope, id);
    return wait_s;
  }
  return 0;
}
