/** Counts rejected rows by reason, with samples that an operator can look up in the upstream file. */
import type { RejectReason, RunRecord } from '../../data/schema/lake.ts';

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
    let entry = this.#reasons.get(reason);
    if (!entry) {
      entry = { rows: 0, distinct: new Set() };
      this.#reasons.set(reason, entry);
    }
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
