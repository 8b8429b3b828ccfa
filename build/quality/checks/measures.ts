/** Series of which nobody has decided what they measure, and rows of `measures.csv` that do not fit what is published. */
import { doubtAbout, type QualityCheck } from '../check.ts';

export const measures: QualityCheck = {
  kinds: ['measure_undecided', 'measure_unfit'],
  async find({ measured, curated }) {
    // Without the table nothing is meant to be decided.
    if (curated.measures.isEmpty) return [];
    return [...measured].flatMap(([id, { traits, faults }]) => {
      if (faults.length > 0) return [doubtAbout('measure_unfit', id, `${faults.join('; ')}.`, faults.length)];
      const isDecided = traits.measured.decided_by !== null;
      return isDecided
        ? []
        : [doubtAbout('measure_undecided', id, 'Neither a row nor a rule fits the series.')];
    });
  },
};
