/** Random figures, and the kinds that revisions of them must have: the same in the lake and from edition to edition. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';

/** Small, so that values return to what they were. */
const number = fc.constantFrom(0, 1, 0.1, -2.5, 1e300, 5e-324);
const bound = fc.option(number, { freq: 2 });
export const ROW_FIELDS = {
  value: fc.option(number, { freq: 4 }),
  ci_lo: bound,
  ci_hi: bound,
  status: fc.constantFrom(null, 'estimated', 'break'),
};

type Rows = ReadonlyMap<string, { value: number | null }>;

/** By the keys of the rows, from all earlier states. */
export function expectedKinds(earlier: readonly Rows[], now: Rows): Record<string, string> {
  const before: Rows = earlier.at(-1) ?? new Map();
  const kinds: Record<string, string> = {};
  for (const key of new Set([...before.keys(), ...now.keys()])) {
    const [old, current] = [before.get(key), now.get(key)];
    if (isDeepStrictEqual(old, current)) continue;
    const [had, has] = [old?.value ?? null, current?.value ?? null].map((value) => value !== null);
    const everHad = earlier.some((rows) => (rows.get(key)?.value ?? null) !== null);
    if (!had && !has) kinds[key] = 'gap';
    else if (!has) kinds[key] = 'withdrawn';
    else if (had) kinds[key] = 'changed';
    else kinds[key] = everHad ? 'restored' : 'added';
  }
  return kinds;
}
