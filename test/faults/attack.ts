/**
 * Attacks: timing attacks on keys and passwords, and one attacker beside customers who pay. Malformed requests and forms and
 * request smuggling are held by `test/attack`.
 */
import { compareTimes, unknownKey, wrongKey } from '../attack/guessing.ts';
import { type AccountPagesHarness, PASSWORD, startAccountPages } from '../gateway/commerce/pages/harness.ts';
import { Service } from '../gateway/service.ts';
import { oneAttackerFaults } from './one-attacker.ts';
import type { Reporter } from './table.ts';

const GUESSES = 3_000;
const SIGN_INS = 60;
/** Largest distance from chance (0.5) that reveals nothing at this number of guesses. */
const EVEN = { keys: 0.06, signIns: 0.2 };

export default async function attackFaults(report: Reporter): Promise<void> {
  await guessedKeys(report);
  await guessedPasswords(report);
  await oneAttackerFaults(report);
}

async function guessedKeys(report: Reporter): Promise<void> {
  await using service = await Service.start();
  const owner = await service.account({ credits: 10_000_000 });
  // Keys are made beforehand, so that only the refusal is timed.
  const asking = (make: () => string) => {
    const keys = Array.from({ length: GUESSES }, make);
    return (round: number) => service.get('/v1/ping', { key: keys[round] ?? '' });
  };
  const none = asking(() => wrongKey(owner.key, 0));
  const id = await compareTimes(GUESSES, none, asking(unknownKey));
  const all = asking(() => wrongKey(owner.key, 33));
  const secret = await compareTimes(GUESSES, all, none);
  const even = (share: number): boolean => Math.abs(share - 0.5) < EVEN.keys;
  const figure = (share: number): string =>
    `slower in ${(share * 100).toFixed(1)} % of pairs (50 % is chance)`;
  report('the time of a refusal does not reveal whether a key id exists', figure(id), even(id));
  report('... nor how many characters of a secret are right', figure(secret), even(secret));
}

async function guessedPasswords(report: Reporter): Promise<void> {
  await using harness = await startAccountPages({ fullHashing: true });
  const known: string[] = [];
  while (known.length < SIGN_INS) {
    const email = `known-${known.length}@example.org`;
    const visitor = harness.visitor();
    const link = await harness.signUp(visitor, email);
    await harness.confirm(visitor, link);
    known.push(email);
  }
  // Each guess has a visitor and an address of its own, so that no throttle applies.
  const guess = async (email: string) => harness.signIn(harness.visitor(), email, 'not the password');
  const share = await compareTimes(
    SIGN_INS,
    (round) => guess(known[round] ?? ''),
    (round) => guess(`unknown-${round}@example.org`),
  );
  const figure = `slower in ${(share * 100).toFixed(1)} % of pairs (50 % is chance)`;
  report(
    'the time of a refused sign-in does not reveal whether an address has an account',
    figure,
    Math.abs(share - 0.5) < EVEN.signIns,
  );
  await guessesInAnHour(harness, known[0] ?? '', report);
}

/** Tries as often as the throttle permits, from changing addresses, for an hour of the service's clock. */
async function guessesInAnHour(harness: AccountPagesHarness, email: string, report: Reporter): Promise<void> {
  const begun_ms = harness.clock.ms;
  let heard = 0;
  while (harness.clock.ms - begun_ms < 3_600_000) {
    const { status, headers } = await harness.signIn(harness.visitor(), email, `guess ${heard}`);
    if (status === 429) harness.clock.ms += Number(headers['retry-after'] ?? 1) * 1000;
    else heard += 1;
  }
  const owner = await harness.signIn(harness.visitor(), email, PASSWORD);
  const figure = `${heard} passwords an hour for one account, from as many addresses as you like`;
  report('guessing a password is slow', figure, heard < 30 && owner.status !== 500);
}
