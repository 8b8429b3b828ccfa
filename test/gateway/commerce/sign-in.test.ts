/** Throttling of sign-ins, on a real Redis with the test's clock: what a guesser can try, and whom that keeps out. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LoginRecord } from '../../../gateway/commerce/accounts/person-store.ts';
import { KNOWN_FOR_MS, KnownBrowsers } from '../../../gateway/commerce/people/known-browsers.ts';
import {
  PER_ADDRESS,
  PER_BROWSER,
  PER_EMAIL,
  type SignInDependencies,
  type SignInResult,
  signIn,
} from '../../../gateway/commerce/people/sign-in.ts';
import { Throttle, type ThrottlePolicy } from '../../../gateway/commerce/people/throttle.ts';
import { cases } from '../../environment.ts';
import { flushRedis } from '../../redis.ts';
import { useStores } from './stores.ts';

const RIGHT = 'the right password';
const WRONG = 'a guess';
const OWN = 'mallory@example.org';
const VICTIM = 'victim@example.org';

let browsers: KnownBrowsers;
let deps: SignInDependencies;
const epochs = new Map<string, string>();

const stores = useStores(({ base }) => {
  epochs.clear();
  // Hashing is tested with the pages, and would take longer here than all else.
  const passwords = { verify: async (typed: string, stored: string | null) => typed === stored };
  browsers = new KnownBrowsers(base, 'account');
  const known = new Set([OWN, VICTIM]);
  const loginOf = (subject: string): LoginRecord => ({
    subject,
    password: RIGHT,
    epoch: epochs.get(subject) ?? '1',
  });
  deps = {
    realm: 'test',
    throttle: new Throttle(base.redis, base.now),
    passwords,
    browsers,
    findLogin: async (email) => (known.has(email) ? loginOf(email) : null),
  };
});
const { clock } = stores;

interface Try {
  email: string;
  password?: string;
  address?: string;
  browser?: string;
}

const attempt = ({ email, password = WRONG, address = '192.0.2.1', browser }: Try): Promise<SignInResult> =>
  signIn(deps, { email, password, address, browser });
const kindOf = async (attempted: Try): Promise<string> => (await attempt(attempted)).kind;
const knownBrowser = (email: string): Promise<string> => browsers.issue(email, epochs.get(email) ?? '1');

/**
 * How many guesses a policy admits within a time: those that are free, one for each failure that is forgotten, and as
 * many as the doubling delays leave time for.
 */
function mostGuesses({ free_attempts, max_delay_ms, decay_ms }: ThrottlePolicy, elapsed_ms: number): number {
  let delayed = 0;
  for (let left_ms = elapsed_ms; left_ms >= 0; delayed++)
    left_ms -= Math.min(1000 * 2 ** delayed, max_delay_ms);
  return free_attempts + Math.floor(elapsed_ms / decay_ms) + delayed;
}

async function expired(): Promise<string> {
  const cookie = await knownBrowser(VICTIM);
  clock.ms += KNOWN_FOR_MS;
  return cookie;
}

type Step = { wait_s: number } | 'guess' | 'own success';

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant('guess' as const) },
    { weight: 3, arbitrary: fc.constant('own success' as const) },
    { weight: 2, arbitrary: fc.record({ wait_s: fc.constantFrom(0, 1, 2, 30, 300, 900) }) },
  ),
  { minLength: 40, maxLength: 160 },
);

/** Each guess hits another account, so that only the network address counts. @returns how many were admitted */
async function spray(all: readonly Step[]): Promise<number> {
  let guesses = 0;
  for (const step of all) {
    if (step === 'own success') await attempt({ email: OWN, password: RIGHT });
    else if (step !== 'guess') clock.ms += step.wait_s * 1000;
    else if ((await kindOf({ email: `person-${guesses}@example.net` })) === 'rejected') guesses += 1;
  }
  return guesses;
}

describe('guesses from one network address', () => {
  it('stay within the limit, however they are mixed with sign-ins to an account of the guesser', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        await flushRedis(stores.redis);
        const begun_ms = clock.ms;
        const guesses = await spray(all);
        expect(guesses).toBeLessThanOrEqual(mostGuesses(PER_ADDRESS, clock.ms - begun_ms));
      }),
      { numRuns: cases(40) },
    );
  });

  it('stay within the limit when nineteen of them and a success take turns', async () => {
    const round: Step[] = [...Array<Step>(19).fill('guess'), 'own success'];
    const guesses = await spray(Array.from({ length: 20 }, () => round).flat());
    expect(guesses).toBe(mostGuesses(PER_ADDRESS, 0) - 1);
  });

  it('of the past are forgotten one by one, and a shared address works again', async () => {
    for (let count = 0; count < PER_ADDRESS.free_attempts; count++)
      await attempt({ email: `${count}@example.org` });
    expect(await kindOf({ email: OWN, password: RIGHT })).toBe('throttled');
    clock.ms += PER_ADDRESS.decay_ms * PER_ADDRESS.free_attempts;
    for (let count = 0; count < PER_ADDRESS.free_attempts; count++)
      expect(await kindOf({ email: `${count}@example.net` })).toBe('rejected');
    expect(await kindOf({ email: OWN })).toBe('throttled');
  });

  it('are unaffected by many people who sign in rightly from there', async () => {
    for (let count = 0; count < 60; count++)
      expect(await kindOf({ email: OWN, password: RIGHT })).toBe('signed_in');
  });
});

describe('a stranger who guesses at an account', () => {
  let fresh = 0;
  const strange = (): string => `198.51.${fresh >> 8}.${fresh++ & 255}`;

  it('stays within the limit from any number of addresses, also while the owner signs in by a known browser', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        await flushRedis(stores.redis);
        const browser = await knownBrowser(VICTIM);
        const begun_ms = clock.ms;
        let guesses = 0;
        for (const step of all) {
          if (step === 'own success') {
            const owner = { email: VICTIM, password: RIGHT, browser, address: '203.0.113.7' };
            expect(await kindOf(owner)).toBe('signed_in');
          } else if (step !== 'guess') clock.ms += step.wait_s * 1000;
          else if ((await kindOf({ email: VICTIM, address: strange() })) === 'rejected') guesses += 1;
        }
        expect(guesses).toBeLessThanOrEqual(mostGuesses(PER_EMAIL, clock.ms - begun_ms));
      }),
      { numRuns: cases(20) },
    );
  });

  it('locks out neither the owner’s known browser nor anybody else, but unknown browsers', async () => {
    const browser = await knownBrowser(VICTIM);
    for (let count = 0; count < 30; count++) await attempt({ email: VICTIM, address: strange() });
    expect(await kindOf({ email: VICTIM, password: RIGHT, address: strange() })).toBe('throttled');
    expect(await kindOf({ email: VICTIM, password: RIGHT, address: strange(), browser })).toBe('signed_in');
  });

  it('gets no further from the network address of the owner', async () => {
    const browser = await knownBrowser(VICTIM);
    for (let count = 0; count < 40; count++) await attempt({ email: `${count}@example.org` });
    expect(await kindOf({ email: VICTIM, password: RIGHT })).toBe('throttled');
    expect(await kindOf({ email: VICTIM, password: RIGHT, browser })).toBe('signed_in');
  });

  it.each<[string, (real: string) => Promise<string> | string]>([
    ['none', () => ''],
    ['made up', () => `${'A'.repeat(22)}.${clock.ms.toString(36)}.${'A'.repeat(43)}`],
    ['of another account', () => knownBrowser(OWN)],
    ['with another id', (real) => `B${real.slice(1)}`],
    ['of the other realm', () => new KnownBrowsers(stores.base, 'operator').issue(VICTIM, '1')],
    ['of an earlier password', () => browsers.issue(VICTIM, '0')],
    ['expired', () => expired()],
  ])('cannot pass for a known browser with a cookie that is %s', async (_what, forge) => {
    const browser = await forge(await knownBrowser(VICTIM));
    for (let count = 0; count < 30; count++) await attempt({ email: VICTIM, address: strange() });
    expect(await kindOf({ email: VICTIM, password: RIGHT, address: strange(), browser })).toBe('throttled');
  });
});

describe('a known browser', () => {
  it('has a limit of its own, for whoever found it', async () => {
    const browser = await knownBrowser(VICTIM);
    const begun_ms = clock.ms;
    let guesses = 0;
    for (let count = 0; count < 200; count++) {
      if ((await kindOf({ email: VICTIM, browser, address: `10.0.0.${count}` })) === 'rejected') guesses += 1;
      clock.ms += 1_000;
    }
    expect(guesses).toBeLessThanOrEqual(mostGuesses(PER_BROWSER, clock.ms - begun_ms));
  });

  it('is unknown after a change of the password, so that nobody can collect browsers', async () => {
    const browser = await knownBrowser(VICTIM);
    epochs.set(VICTIM, '2');
    expect(await attempt({ email: VICTIM, password: RIGHT, browser })).toMatchObject({ browser: null });
    const renewed = await knownBrowser(VICTIM);
    expect(await attempt({ email: VICTIM, password: RIGHT, browser: renewed })).not.toMatchObject({
      browser: null,
    });
  });
});
