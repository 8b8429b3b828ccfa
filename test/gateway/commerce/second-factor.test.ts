/** The second factor on a real Redis with the test's clock, against an authenticator app of the test's own. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecondFactorStore } from '../../../gateway/commerce/people/second-factor.ts';
import { cases } from '../../environment.ts';
import { flushRedis, keysMatching } from '../../redis.ts';
import { codeAt, STEP_MS, wrongCodeAt } from './authenticator.ts';
import { useStores } from './stores.ts';

const ANN = 'person_ann';
const NAMES = { issuer: 'Almanac', label: 'ann@example.org' };

let factors: SecondFactorStore;
const stores = useStores(({ base }) => {
  factors = new SecondFactorStore(base, 'account');
});
const { clock } = stores;

/** Turns it on, one step before now, so that the code of now is unused. */
async function turnOn(subject = ANN): Promise<{ secret: string; recovery_codes: string[] }> {
  const { secret } = factors.propose(NAMES);
  const result = await factors.turnOn(subject, { secret, code: codeAt(secret, clock.ms) });
  if (result === null || result === 'already_on') throw new Error('the second factor is not on');
  clock.ms += STEP_MS;
  return { secret, ...result };
}

const kindOf = async (code: string, subject = ANN): Promise<string> =>
  (await factors.check(subject, code)).kind;

describe('setting up', () => {
  it('needs a code that proves the secret, and happens once', async () => {
    const { secret } = factors.propose(NAMES);
    const wrong = wrongCodeAt(secret, clock.ms);
    expect(await factors.turnOn(ANN, { secret, code: wrong })).toBeNull();
    expect(await factors.isOn(ANN)).toBe(false);
    const code = codeAt(secret, clock.ms);
    const results = await Promise.all([1, 2, 3].map(() => factors.turnOn(ANN, { secret, code })));
    expect(results.filter((result) => result === 'already_on')).toHaveLength(2);
    expect(await factors.state(ANN)).toEqual({ isOn: true, since_ms: clock.ms, recovery_codes_left: 10 });
  });

  it('is one of the user and of the realm', async () => {
    await turnOn();
    expect(await factors.isOn('person_bob')).toBe(false);
    expect(await new SecondFactorStore(stores.base, 'operator').isOn(ANN)).toBe(false);
  });
});

describe('codes of an app', () => {
  it('are read with the space that apps show', async () => {
    const { secret } = await turnOn();
    const code = codeAt(secret, clock.ms);
    expect(await kindOf(` ${code.slice(0, 3)} ${code.slice(3)} `)).toBe('accepted');
  });

  it.each([
    [-2, 'rejected'],
    [-1, 'accepted'],
    [0, 'accepted'],
    [1, 'accepted'],
    [2, 'rejected'],
  ])('%d steps off are %s', async (steps, kind) => {
    await flushRedis(stores.redis);
    const { secret } = await turnOn();
    clock.ms += 5 * STEP_MS;
    expect(await kindOf(codeAt(secret, clock.ms + steps * STEP_MS))).toBe(kind);
  });

  it('are accepted once, the one that set it up included, in any order and number of tries', async () => {
    const step = fc.record({
      advance: fc.integer({ min: 0, max: 3 }),
      offset: fc.integer({ min: -3, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (tries) => {
        await flushRedis(stores.redis);
        const { secret } = await turnOn();
        let last = Math.floor(clock.ms / STEP_MS) - 1;
        for (const { advance, offset } of tries) {
          clock.ms += advance * STEP_MS;
          const tried = Math.floor(clock.ms / STEP_MS) + offset;
          const code = codeAt(secret, tried * STEP_MS);
          const near = [-1, 0, 1].map((by) => Math.floor(clock.ms / STEP_MS) + by);
          // Two steps may share a code; the product then takes the one that it finds.
          if (near.filter((other) => codeAt(secret, other * STEP_MS) === code).length > 1) continue;
          const isRight = near.includes(tried) && tried > last;
          if (isRight) last = tried;
          await flushThrottle();
          expect(await kindOf(code)).toBe(isRight ? 'accepted' : 'rejected');
        }
      }),
      { numRuns: cases(40) },
    );
  });

  it('are accepted once when they come at the same time', async () => {
    const { secret } = await turnOn();
    const code = codeAt(secret, clock.ms);
    const kinds = await Promise.all([1, 2, 3, 4].map(() => kindOf(code)));
    expect(kinds.filter((kind) => kind === 'accepted')).toHaveLength(1);
  });
});

async function flushThrottle(): Promise<void> {
  const names = await keysMatching(stores.redis, 'throttle:*');
  await Promise.all(names.map((name) => stores.redis.del(name)));
}

describe('recovery codes', () => {
  it('work once each, also typed without hyphens and in capitals', async () => {
    const { recovery_codes } = await turnOn();
    expect(new Set(recovery_codes).size).toBe(10);
    for (const [used, code] of recovery_codes.entries()) {
      const typed = used % 2 ? code : code.replaceAll('-', '').toUpperCase();
      expect(await factors.check(ANN, typed)).toEqual({ kind: 'accepted', recovery_codes_left: 9 - used });
      expect(await kindOf(code)).toBe('rejected');
      await flushThrottle();
    }
  });

  it('are stored as digests only', async () => {
    const { recovery_codes } = await turnOn();
    const names = await keysMatching(stores.redis, '{p:*}:second-factor');
    const stored = JSON.stringify(await Promise.all(names.map((name) => stores.redis.hgetall(name))));
    expect(names).toHaveLength(1);
    for (const code of recovery_codes)
      for (const form of [code, code.replaceAll('-', '')]) expect(stored).not.toContain(form);
  });
});

it('guessing is slowed down by user, and right codes in between do not help', async () => {
  const { secret } = await turnOn();
  let tried = 0;
  const end_ms = clock.ms + 3_600_000;
  while (clock.ms < end_ms) {
    const check = await factors.check(ANN, wrongCodeAt(secret, clock.ms));
    if (check.kind === 'throttled') {
      clock.ms += check.wait_s * 1000;
      await factors.check(ANN, codeAt(secret, clock.ms));
    } else tried += 1;
    clock.ms += 1;
  }
  expect(tried).toBeLessThan(25);
  expect(await kindOf('000000', 'person_bob')).toBe('rejected');
});
