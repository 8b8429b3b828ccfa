/**
 * Reads the cells of a row: years and numbers strictly, as anything else is rejected, never repaired. Counts rejected rows
 * by reason, with samples that an operator can look up in the upstream file.
 */
import type { Place, PlaceTable } from '../../data/curated/places.ts';
import type { RejectReason, RunRecord } from '../../data/schema/lake.ts';

/** Not a number. */
export const BAD = Symbol('bad');

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const WHOLE = /^-?\d{1,5}$/;
/** Palaeoclimate series go back this far. */
const FIRST_YEAR = -20_000;
const LAST_YEAR = 3_000;

/** Returns a finite double (0 for -0), null for a gap (null or an empty text), or `BAD`. A text becomes the nearest double. */
export function readFigure(raw: number | string | null | undefined): number | null | typeof BAD {
  if (raw === null || raw === undefined) return null;
  if (typeof raw === 'number') return Number.isFinite(raw) ? raw + 0 : BAD;
  const text = raw.trim();
  if (text === '') return null;
  if (!DECIMAL.test(text)) return BAD;
  const value = Number(text);
  return Number.isFinite(value) ? value + 0 : BAD;
}

/** Returns a calendar year, or `BAD` for ranges, months and fractions. */
export function readYear(raw: number | string): number | typeof BAD {
  const text = typeof raw === 'string' ? raw.trim() : raw;
  if (typeof text === 'string' && !WHOLE.test(text)) return BAD;
  const year = Number(text);
  return Number.isInteger(year) && year >= FIRST_YEAR && year <= LAST_YEAR ? year : BAD;
}

/** Looks places up, with a cache: some hundred codes repeat in millions of rows. */
export function placeFinder(places: Pick<PlaceTable, 'resolve'>, schemes: readonly string[]) {
  const found = new Map<string, Place>();
  return (code: string): Place => {
    const place = found.get(code) ?? places.resolve(schemes, code);
    found.set(code, place);
    return place;
  };
}

const SAMPLES = 20;
const SAMPLE_LENGTH = 160;
/** Bounds the memory for distinct samples. */
const DISTINCT_LIMIT = 10_000;

export class Rejects {
  /** Rejected rows of all reasons. */
  rows = 0;
  readonly #reasons = new Map<RejectReason, { rows: number; distinct: Set<string> }>();

  /** @param sample identifies the case, such as a place code or a text that is not a number. */
  add(reason: RejectReason, sample: string): void {
    const entry = this.#reasons.get(reason) ?? { rows: 0, distinct: new Set() };
    this.#reasons.set(reason, entry);
    entry.rows += 1;
    this.rows += 1;
    if (entry.distinct.size < DISTINCT_LIMIT) entry.distinct.add(sample);
  }

  /** The distinct samples of a reason, up to a limit far above the number of places. */
  samples(reason: RejectReason): ReadonlySet<string> {
    return this.#reasons.get(reason)?.distinct ?? new Set();
  }

  /** For the run record: counts and the first distinct samples by reason. */
  summary(): RunRecord['rejects'] {
    return Object.fromEntries(
      [...this.#reasons].sort().map(([reason, { rows, distinct }]) => [
        reason,
        {
          rows,
          distinct: distinct.size,
          samples: [...distinct].slice(0, SAMPLES).map((sample) => sample.slice(0, SAMPLE_LENGTH)),
        },
      ]),
    );
  }
}

/** What the rows of a series may hold. */
export interface SeriesLimits {
  /** Plausible values, inclusive. */
  min?: number | undefined;
  max?: number | undefined;
  /** The newest year that can have been observed: upstream's flag for a later one is not believed. */
  observedTo?: number | undefined;
}

/**
 * A series failed as a whole: it has two different values for one country and year, too many values out of bounds, or
 * no readable row.
 */
export class UntrustedSeriesError extends Error {
  override name = 'UntrustedSeriesError';
}
