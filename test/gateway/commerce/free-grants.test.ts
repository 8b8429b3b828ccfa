/** Bounds of the free credits, on a real Redis, against a list of all grants. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  FreeGrants,
  type GroupKind,
  rangeOf,
  signUpGroups,
} from '../../../gateway/commerce/accounts/free-grants.ts';
import { cases } from '../../environment.ts';
import { flushRedis } from '../../redis.ts';
import { useStores } from './stores.ts';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 10, 21, 12);
const BOUNDS = { perRange: 3, perDomain: 2 };

const stores = useStores();
const { clock } = stores;

interface SignUp {
  person: number;
  domain: string;
  range: number;
  host: number;
  waited_h: number;
}

const signUp: fc.Arbitrary<SignUp> = fc.record({
  person: fc.nat(12),
  domain: fc.constantFrom('acme.example', 'gmail.com', 'other.example'),
  range: fc.nat(3),
  host: fc.nat(255),
  waited_h: fc.constantFrom(0, 0, 1, 30, 240),
});

/** Written anew: who got credits in the last 30 days, and what they shared. */
interface Granted {
  account_id: string;
  at_ms: number;
  mailbox: string;
  range: number;
  domain: string;
}

function expectedOf(granted: readonly Granted[], wanted: Granted): GroupKind | null {
  const recent = granted.filter(({ at_ms }) => at_ms > wanted.at_ms - 30 * DAY_MS);
  if (recent.some(({ account_id }) => account_id === wanted.account_id)) return null;
  if (recent.some(({ mailbox }) => mailbox === wanted.mailbox)) return 'mailbox';
  if (recent.filter(({ range }) => range === wanted.range).length >= BOUNDS.perRange) return 'range';
  const sharing = recent.filter(({ domain }) => domain === wanted.domain).length;
  return wanted.domain !== 'gmail.com' && sharing >= BOUNDS.perDomain ? 'domain' : null;
}

describe('free grants', () => {
  test('keep every bound, whoever signs up from where and when, and a repeat counts once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(signUp, { minLength: 5, maxLength: 40 }), async (signUps) => {
        await flushRedis(stores.redis);
        clock.ms = START;
        const grants = new FreeGrants({ ...stores.base, ...BOUNDS });
        const granted: Granted[] = [];
        for (const { person, domain, range, host, waited_h } of signUps) {
          clock.ms += waited_h * 3_600_000;
          const mailbox = `p${person}@${domain}`;
          const wanted = {
            account_id: `acc_${person}_${domain}_${range}`,
            at_ms: clock.ms,
            mailbox,
            range,
            domain,
          };
          const account = {
            account_id: wanted.account_id,
            email: `P${person}+${host}@${domain}`,
            address: `10.0.${range}.${host}`,
          };
          const expected = expectedOf(granted, wanted);
          expect(await grants.claim(account)).toBe(expected);
          const isNew = !granted.some(
            ({ account_id, at_ms }) => account_id === wanted.account_id && at_ms > clock.ms - 30 * DAY_MS,
          );
          if (expected === null && isNew) granted.push(wanted);
          expect(await grants.claim(account)).toBe(expected);
        }
      }),
      { numRuns: cases(40) },
    );
  });

  test('are not passed by sign-ups at the same moment, on two gateways', async () => {
    const options = { ...stores.base, ...BOUNDS };
    const gateways = [new FreeGrants(options), new FreeGrants(options)];
    const results = await Promise.all(
      Array.from({ length: 40 }, (_none, at) =>
        gateways[at % 2]?.claim({
          account_id: `acc_${at}`,
          email: `p${at}@gmail.com`,
          address: '2001:db8:1:7::1',
        }),
      ),
    );
    expect(results.filter((result) => result === null)).toHaveLength(BOUNDS.perRange);
    expect(new Set(results)).toEqual(new Set([null, 'range']));
  });

  test('show operators who signed up alike, for 90 days, and store no address', async () => {
    clock.ms = START;
    const grants = new FreeGrants({ ...stores.base, ...BOUNDS });
    await grants.claim({ account_id: 'acc_a', email: 'a@acme.example', address: '192.0.2.7' });
    await grants.claim({ account_id: 'acc_b', email: 'b@gmail.com', address: '192.0.2.99' });
    clock.ms += 1;
    await grants.claim({ account_id: 'acc_c', email: 'c@acme.example', address: '198.51.100.1' });
    expect(await signUpGroups(stores.base, 10)).toEqual([
      { kind: 'domain', last_ms: START + 1, account_ids: ['acc_c', 'acc_a'] },
      { kind: 'range', last_ms: START, account_ids: ['acc_b', 'acc_a'] },
    ]);
    const stored = (await stores.redis.keys('*')).join(' ');
    expect(stored).not.toMatch(/192\.0|acme|gmail/);
    clock.ms = START + 90 * DAY_MS + 2;
    expect(await signUpGroups(stores.base, 10)).toEqual([]);
  });
});

test.each([
  ['203.0.113.200', '203.0.113.0/24'],
  ['::ffff:203.0.113.200', '203.0.113.0/24'],
  ['2001:db8:1:7::1', '2001:db8:1::/48'],
  ['2001:db8:1:ffff::2%eth0', '2001:db8:1::/48'],
])('what counts as one range of %s', (address, range) => expect(rangeOf(address)).toBe(range));
