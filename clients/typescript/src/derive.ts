/** The arithmetic of derived figures (`docs/derived.md` of Almanac), on rows that the caller has. */
import {
  derive as derived,
  type Figure,
  type History,
  type Reason,
} from '../../../data/derived/derivation.ts';
import { parseTransforms } from '../../../data/derived/transforms.ts';

/** The figure of one country or group in a year. */
export interface GivenRow {
  year: number;
  value: number | null;
  /** Why there is none, where a group has none. */
  reason?: Reason | null;
  status?: string | null;
  projected?: boolean;
}

/** A derived figure, and where there is none, why. */
export type DerivedRow = Figure & { year: number };

/** What figures are derived from, beside the rows. */
export interface DerivedFrom {
  /** Years from which on the level is another. */
  breaks?: readonly number[];
  /** By row of a group, which members count. */
  counted?: readonly string[];
  /** What `per` and `per_head` divide by. */
  divisor?: readonly GivenRow[];
  divisorBreaks?: readonly number[];
  /** Powers of ten of the figures and of the divisor, for `per_head`: 3 for thousands. */
  scales?: { series: number; divisor: number };
  /** What `share` divides by: the sum of the group. */
  whole?: readonly GivenRow[];
}

/**
 * The rows of one country under a transform, or two separated by a comma, to the bit as the service has them; mean growth
 * over several years within 1e-12.
 * @param rows by year, each once
 * @throws {TypeError} for what is no transform
 */
export function derive(
  rows: readonly GivenRow[],
  transform: string,
  { breaks = [], counted, divisor, divisorBreaks = [], scales, whole = [] }: DerivedFrom = {},
): DerivedRow[] {
  const transforms = parseTransforms(transform);
  if (!Array.isArray(transforms)) throw new TypeError(`${transforms.input}: ${transforms.problem}`);
  let history: History = { ...toHistory(rows, breaks), ...(counted && { counted }) };
  let group = toHistory(whole, []);
  for (const one of transforms) {
    history = derived(history, one, {
      divisor: divisor && toHistory(divisor, divisorBreaks),
      ...(scales && { scales }),
      whole: group,
    });
    // The sum of a group is taken first, and transformed as a place.
    if (!/^(per|share)/.test(one.name)) group = derived(group, one);
  }
  return history.figures.map((figure, at) => ({ year: history.years[at] ?? 0, ...figure }));
}

const toHistory = (rows: readonly GivenRow[], breaks: readonly number[]): History => ({
  years: rows.map(({ year }) => year),
  figures: rows.map(({ value, reason = null, status = null, projected = false }) => ({
    value,
    reason,
    status,
    projected,
  })),
  breaks,
});
