/**
 * Which part of the population a row of the Global Health Observatory is of, and which series that makes it.
 *
 * A dimension (SEX, AGEGROUP, RESIDENCEAREATYPE, ...) is *pinned* to the codes that stand for the whole population, so
 * rows of other codes are set aside; or *split*, so each code becomes a series of its own. A row that does not have a
 * dimension is of its whole. A dimension that is neither, and takes more than one code, fails the series: its figures
 * would be of several populations under one key.
 */

import { COUNTRY, type GhoRow } from './gho-rows.ts';
import { AnswerError } from './json-body.ts';

export interface PartRules {
  /** Codes kept, by dimension. With `split` as well, these codes keep the bare slug. */
  pin: Record<string, readonly string[]>;
  split: readonly string[];
}

export interface Part {
  /** What the split dimensions add to the slug: their codes; empty for the whole. */
  codes: string[];
  /** Set when the row is of a part that the definition does not take: `SEX=FMLE`. */
  aside: string | null;
}

/** Where a figure was found is not whom it is of. */
const NOT_A_PART = new Set(['DATASOURCE']);

/** Sorts the rows of one indicator. */
export class PartSorter {
  readonly #rules: PartRules;
  /** The code that each free dimension took first; the empty text where rows have none. */
  readonly #free = new Map<string, string>();
  #rows = 0;

  constructor(rules: PartRules) {
    this.#rules = rules;
  }

  /** @throws {AnswerError} when rows differ by a dimension that the rules do not mention. */
  sort(row: GhoRow): Part {
    const { pin, split } = this.#rules;
    const codes: string[] = [];
    for (const dimension of split) {
      const code = row.dimensions.get(dimension);
      if (code !== undefined && !pin[dimension]?.includes(code)) codes.push(code);
    }
    for (const [dimension, kept] of Object.entries(pin)) {
      const code = row.dimensions.get(dimension);
      if (code !== undefined && !split.includes(dimension) && !kept.includes(code)) {
        return { codes, aside: `${dimension}=${code}` };
      }
    }
    if (row.place_type === COUNTRY) this.#checkFree(row);
    return { codes, aside: null };
  }

  #checkFree(row: GhoRow): void {
    const { pin, split } = this.#rules;
    const isFree = (dimension: string): boolean =>
      !(dimension in pin) && !split.includes(dimension) && !NOT_A_PART.has(dimension);
    for (const dimension of [...this.#free.keys(), ...row.dimensions.keys()]) {
      if (!isFree(dimension)) continue;
      const code = row.dimensions.get(dimension) ?? '';
      const first = this.#free.get(dimension) ?? (this.#rows === 0 ? code : '');
      this.#free.set(dimension, first);
      if (code === first) continue;
      const told = [first, code].map((one) => one || 'none').join(' and ');
      throw new AnswerError(`rows differ by ${dimension} (${told}), which is neither pinned nor split`);
    }
    this.#rows += 1;
  }
}
