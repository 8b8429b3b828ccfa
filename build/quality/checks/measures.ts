/**
 * Series of which nobody has decided what they measure, rows of `measures.csv` that do not fit what is published, and
 * methods whose figures of groups are not those of the provider.
 */
import type { AggregateDeviation } from '../../../data/schema/groups.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import { counted, doubtAbout, figure, type MeasuredSeries, type QualityCheck } from '../check.ts';

/** In %. */
const MOST_DEVIATION = 1;

const describeDeviation = ({ cells, median, p95 }: AggregateDeviation): string =>
  `In ${counted(cells, 'figure', 'figures')} of groups with full coverage, half deviate by more than ${figure(median)} % ` +
  `from those that the provider publishes, and a twentieth by more than ${figure(p95)} %.`;

function doubtAboutMeasure(id: string, { traits, faults }: MeasuredSeries): FoundDoubt[] {
  if (faults.length > 0) return [doubtAbout('measure_unfit', id, `${faults.join('; ')}.`, faults.length)];
  if (traits.measured.decided_by !== null) return [];
  const row = `${id},,,<measure>,,none,,,<reason>`;
  const words = `Neither a row nor a rule fits the series. A row of data/measures.csv decides: ${row}`;
  return [doubtAbout('measure_undecided', id, words)];
}

export const measures: QualityCheck = {
  kinds: ['measure_undecided', 'measure_unfit', 'aggregate_deviates'],
  async find({ measured, deviations, curated }) {
    // Without the table nothing is meant to be decided.
    if (curated.measures.isEmpty) return [];
    const undecided = [...measured].flatMap(([id, series]) => doubtAboutMeasure(id, series));
    // A row of the series itself says why its figures are others.
    const unexplained = [...deviations].filter(
      ([id, { p95 }]) => p95 > MOST_DEVIATION && curated.measures.rowFor(id)?.subject !== id,
    );
    const deviating = unexplained.map(([id, deviation]) =>
      doubtAbout('aggregate_deviates', id, describeDeviation(deviation), deviation.p95),
    );
    return [...undecided, ...deviating];
  },
};
