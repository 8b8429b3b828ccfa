/** Units that the figures of the series itself contradict: its range, whole numbers, and how it grows with population. */
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../check.ts';
import { quantityOf, rangeOf, tellingWords } from '../label-vocabulary.ts';
import { figure } from '../wording.ts';
import { labelDoubt, quote } from './label-words.ts';

const GROWTH_WITH_POPULATION = readSql(import.meta.url, 'sql/growth-with-population.sql');

/** Rates do not rise with population: the greatest correlation of a right one is 0.5. Totals do, but for rare events. */
const RATE_RHO = 0.6;
const TOTAL_RHO = 0.1;
const MIN_COUNTRIES = 60;

const growth = z.object({ id: z.string(), countries: z.int(), rho: z.number() });

/** Values outside the range that name or unit state: an index from 0 to 1, deaths per 1,000 births, years of life. */
function outOfRange({ record: { id, name, unit }, statistics: { min, max } }: CheckedSeries): FoundDoubt[] {
  const range = rangeOf(name, unit ?? '');
  if (!range || min === null || max === null || (min >= range.min && max <= range.max)) return [];
  const [worst, end] = max > range.max ? [max, range.max] : [min, range.min];
  const message = `${quote(range.words)} goes from ${figure(range.min)} to ${figure(range.max)}, but the figures from ${figure(min)} to ${figure(max)}.`;
  return [labelDoubt('figures_out_of_stated_range', id, message, Math.abs(worst - end))];
}

/** The series of total population: observed rather than projected, then of most countries. */
export function populationSeries(series: ReadonlyMap<string, CheckedSeries>): CheckedSeries | undefined {
  const isTotal = ({ record: { name, unit } }: CheckedSeries): boolean =>
    unit === 'people' && [...tellingWords(name)].join() === '' && /^(?:total )?population\b/i.test(name);
  const projectedShare = ({ statistics: { projected, rows } }: CheckedSeries): number =>
    projected / Math.max(rows, 1);
  return [...series.values()]
    .filter(isTotal)
    .sort(
      (a, b) => projectedShare(a) - projectedShare(b) || b.statistics.countries - a.statistics.countries,
    )[0];
}

function againstPopulation(
  { record: { id, name, unit }, statistics }: CheckedSeries,
  rho: number,
): FoundDoubt[] {
  const quantity = quantityOf(name, unit ?? '');
  const hundredths = Math.round(rho * 100);
  if (quantity === 'rate' && rho > RATE_RHO) {
    const message = `${quote(unit ?? '')} is a rate, but the figures grow with the population (rank correlation ${rho.toFixed(2)}), as totals do.`;
    return [labelDoubt('size_contradicts_unit', id, message, hundredths)];
  }
  if (quantity === 'total' && rho < TOTAL_RHO && statistics.negative === 0) {
    const message = `${quote(unit ?? '')} is a total, but the figures do not grow with the population (rank correlation ${rho.toFixed(2)}), as rates do not.`;
    return [labelDoubt('size_contradicts_unit', id, message, 100 - hundredths)];
  }
  return [];
}

async function sizeDoubts({ duck, series }: CheckContext): Promise<FoundDoubt[]> {
  const population = populationSeries(series);
  if (!population) return [];
  const rows = await duck.rows(GROWTH_WITH_POPULATION, {
    population: population.planned.number,
    min_countries: MIN_COUNTRIES,
  });
  return z
    .array(growth)
    .parse(rows)
    .flatMap(({ id, rho }) => {
      const checked = series.get(id);
      return checked ? againstPopulation(checked, rho) : [];
    });
}

async function findDoubts(context: CheckContext): Promise<FoundDoubt[]> {
  return [...[...context.series.values()].flatMap(outOfRange), ...(await sizeDoubts(context))];
}

export const labelFigures: QualityCheck = {
  kinds: ['figures_out_of_stated_range', 'size_contradicts_unit'],
  find: findDoubts,
};
