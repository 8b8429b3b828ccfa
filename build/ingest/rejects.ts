/** Counts what a run leaves out, by reason, with samples that an operator can look up in the upstream file. */
import type { RejectReason, RunRecord } from '../../data/schema/lake.ts';

const SAMPLES = 20;
const SAMPLE_LENGTH = 160;
/** Distinct samples are told apart up to this many; a file of nothing but rubbish must not fill the memory. */
const DISTINCT_LIMIT = 10_000;

export class Rejects {
  /** Rows counted so far, of all reasons. */
  rows = 0;
  readonly #reasons = new Map<RejectReason, { rows: number; distinct: Set<string> }>();

  /** Counts one row. `sample` is what tells one case from another: a place code, a text that is no number. */
  add(reason: RejectReason, sample: string): void {
    let entry = this.#reasons.get(reason);
    if (!entry) {
      entry = { rows: 0, distinct: new Set() };
      this.#reasons.set(reason, entry);
    }
    entry.rows += 1;
    this.rows += 1;
    if (entry.distinct.size < DISTINCT_LIMIT) entry.distinct.add(sample);
  }

  /** For the run record; the first twenty distinct samples of each reason in the order of their coming. */
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
