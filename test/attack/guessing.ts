/**
 * Timing side channels of key guessing. Two kinds of guesses are timed alternately, so that load on the machine affects
 * both alike.
 */
import { randomBytes } from 'node:crypto';
import { mintKeyText } from '../../gateway/api/metering/keys.ts';

/**
 * The share of pairs in which the value of `a` is larger (Mann–Whitney U over the number of pairs): 0.5 when the two
 * cannot be told apart, 0 or 1 when they always can.
 */
function distinguishable(a: readonly number[], b: readonly number[]): number {
  const all = [...a.map((value) => ({ value, isA: true })), ...b.map((value) => ({ value, isA: false }))];
  all.sort((left, right) => left.value - right.value);
  let below = 0;
  let pairs = 0;
  for (const { isA } of all) {
    if (isA) pairs += below;
    else below += 1;
  }
  return pairs / (a.length * b.length);
}

/** Times two actions alternately. The first tenth of the rounds is warm-up. @returns `distinguishable` of their times. */
export async function compareTimes(
  rounds: number,
  first: (round: number) => Promise<unknown>,
  second: (round: number) => Promise<unknown>,
): Promise<number> {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    // The order alternates, so that neither profits from the other's warm caches.
    const order = round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
    for (const which of order) {
      const begun = performance.now();
      await (which === 0 ? first : second)(round);
      if (round >= rounds / 10) times[which].push(performance.now() - begun);
    }
  }
  return distinguishable(...times);
}

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_PART = 34;

const bytesOf = (text: string, alphabet: string): Buffer =>
  Buffer.from([...text].map((character) => alphabet.indexOf(character)));

/**
 * A well-formed wrong key: the id of a real one, and the first `same` characters of its secret.
 * @param same 0 to 33
 */
export function wrongKey(key: string, same: number): string {
  const [, , id = '', secret = ''] = key.split('_');
  const known = bytesOf(secret.slice(0, same), BASE62);
  const differs = (BASE62.indexOf(secret.charAt(same)) + 1) % BASE62.length;
  const rest = randomBytes(RANDOM_PART - same - 1).map((byte) => byte % BASE62.length);
  const parts = [bytesOf(id, BASE32), Buffer.concat([known, Buffer.from([differs]), rest])];
  return mintKeyText('live', () => parts.shift() ?? Buffer.alloc(0)).key;
}

/** A well-formed key that does not exist. */
export const unknownKey = (): string => mintKeyText('live', randomBytes).key;
