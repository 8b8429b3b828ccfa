/**
 * Series that have the same figures under labels that contradict each other. Providers publish one statistic under their
 * own names; where the figures are equal, the labels must mean the same thing in the same unit.
 */
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../check.ts';
import { contradictions, magnitudeOf, readClaims, sharesWords } from '../label-vocabulary.ts';
import { labelDoubt, quote } from './label-words.ts';

const SAME_FIGURES = readSql(import.meta.url, 'sql/same-figures.sql');

/** Fewer equal figures may be chance. */
const MIN_EQUAL = 20;
const MIN_DIFFERENT = 10;
/** Series that are revised differ in some figures; series of different statistics share next to none. */
const MIN_SHARE = 0.5;

const samePair = z.object({
  a: z.string(),
  b: z.string(),
  equal: z.int(),
  common: z.int(),
  /** Powers of ten by which b is greater than a. */
  shift: z.int(),
  first_year: z.int(),
  last_year: z.int(),
});
type SamePair = z.infer<typeof samePair>;

const labelOf = ({ record: { name, unit } }: CheckedSeries): string =>
  unit === null ? name : `${name}, ${unit}`;

/** Beyond this share, names without a common word contradict each other. */
const NEARLY_ALL = 0.9;

/** Why two labels cannot stand for the same figures. */
function differences(a: CheckedSeries, b: CheckedSeries, share: number): string[] {
  const found = contradictions(readClaims(labelOf(a)), readClaims(labelOf(b)));
  const parts = found.map(
    ({ aspect, a: ours, b: theirs }) => `${aspect} ${quote(ours)} and ${quote(theirs)}`,
  );
  const isOther =
    share >= NEARLY_ALL &&
    !sharesWords(a.record.name, b.record.name) &&
    !sharesWords(b.record.name, a.record.name);
  return isOther ? [...parts, 'no common word'] : parts;
}

function pairDoubts(pair: SamePair, a: CheckedSeries, b: CheckedSeries): FoundDoubt[] {
  const share = pair.equal / pair.common;
  const hundredths = Math.floor(share * 100);
  const about = `${hundredths} % of ${pair.common} common figures are the same`;
  const names = `${quote(labelOf(a))} and ${quote(labelOf(b))}`;
  const years = { years: [pair.first_year, pair.last_year] as [number, number] };
  const found: FoundDoubt[] = [];
  const parts = differences(a, b, share);
  if (parts.length > 0) {
    const message = `${names}: ${about}, but the labels differ: ${parts.join('; ')}.`;
    found.push({ ...labelDoubt('same_figures_other_label', pair.a, message, hundredths, pair.b), ...years });
  }
  const expected = magnitudeOf(a.record.unit ?? '') - magnitudeOf(b.record.unit ?? '');
  if (pair.shift !== expected) {
    const message = `${names}: ${about} but for a factor of 10^${pair.shift}, where the units imply 10^${expected}.`;
    found.push({
      ...labelDoubt('scale_contradicts_unit', pair.a, message, Math.abs(pair.shift - expected), pair.b),
      ...years,
    });
  }
  return found;
}

async function findDoubts({ duck, series, files }: CheckContext): Promise<FoundDoubt[]> {
  if (series.size < 2) return [];
  const rows = await duck.rows(SAME_FIGURES, {
    files: files([...series.keys()]),
    min_equal: MIN_EQUAL,
    min_different: MIN_DIFFERENT,
    min_share: MIN_SHARE,
  });
  return z
    .array(samePair)
    .parse(rows)
    .flatMap((pair) => {
      const [a, b] = [series.get(pair.a), series.get(pair.b)];
      return a && b ? pairDoubts(pair, a, b) : [];
    });
}

export const sameFigures: QualityCheck = {
  kinds: ['same_figures_other_label', 'scale_contradicts_unit'],
  find: findDoubts,
};
