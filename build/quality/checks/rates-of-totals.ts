/**
 * Rates that are the total of another series by the population: both measure one thing, so their labels must agree in all
 * but the unit, and the factor between them must be the one that the unit of the rate names.
 */
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../check.ts';
import { type Aspect, contradictions, quantityOf, readClaims } from '../label-vocabulary.ts';
import { figure } from '../wording.ts';
import { populationSeries } from './label-figures.ts';
import { labelDoubt, quote } from './label-words.ts';

const RATES_OF_TOTALS = readSql(import.meta.url, 'sql/rates-of-totals.sql');

const MIN_COMMON = 60;
/** Populations are revised: this much of a difference, as a logarithm, in this share of the figures. */
const SLACK = 0.05;
const MIN_SHARE = 0.8;
/** How far the factor between rate and total may be from the one that the unit names. */
const FACTOR_SLACK = 1.2;
/** What a rate and its total say differently by their nature. */
const OF_UNITS: readonly Aspect[] = ['measure', 'denominator', 'base'];

const pair = z.object({ rate: z.string(), total: z.string(), common: z.int(), factor: z.number() });
type Pair = z.infer<typeof pair>;

const claimsOf = ({ record: { name, unit } }: CheckedSeries) => readClaims(`${name}, ${unit ?? ''}`);

/** The population of which the rate tells the cases: 1,000 or 100,000; null when its unit names none. */
function denominatorOf(series: CheckedSeries): number | null {
  const [words] = claimsOf(series).get('denominator')?.keys() ?? [];
  const isOfPopulation = /\b(?:people|population|persons|residents)\b/i.test(
    `${series.record.name} ${series.record.unit}`,
  );
  return words === undefined || !isOfPopulation ? null : Number(words);
}

function pairDoubts({ common, factor }: Pair, rate: CheckedSeries, total: CheckedSeries): FoundDoubt[] {
  const [id, other] = [rate.record.id, total.record.id].sort();
  const denominator = denominatorOf(rate);
  if (id === undefined || other === undefined || denominator === null) return [];
  const names = `${quote(rate.record.name)} is ${quote(total.record.name)} by the population, in ${common} figures`;
  const off = Math.max(factor / denominator, denominator / factor);
  if (off > FACTOR_SLACK) {
    const message = `${names}, but times ${figure(factor)} instead of ${figure(denominator)}.`;
    return [labelDoubt('scale_contradicts_unit', id, message, Math.round(Math.log10(off) * 10) / 10, other)];
  }
  const words = contradictions(claimsOf(rate), claimsOf(total)).filter(
    ({ aspect }) => !OF_UNITS.includes(aspect),
  );
  if (words.length === 0) return [];
  const parts = words.map(({ aspect, a, b }) => `${aspect} ${quote(a)} and ${quote(b)}`).join('; ');
  return [
    labelDoubt(
      'rate_of_another_total',
      id,
      `${names}, but the labels differ: ${parts}.`,
      words.length,
      other,
    ),
  ];
}

async function findDoubts({ duck, series, files }: CheckContext): Promise<FoundDoubt[]> {
  const all = [...series.values()];
  const population = populationSeries(series);
  const isTotal = ({ record: { name, unit } }: CheckedSeries): boolean =>
    quantityOf(name, unit ?? '') === 'total';
  const [rates, totals] = [all.filter((one) => denominatorOf(one) !== null), all.filter(isTotal)].map(
    (list) => list.map(({ record }) => record.id),
  );
  if (!population || !rates?.length || !totals?.length) return [];
  const rows = await duck.rows(RATES_OF_TOTALS, {
    files: files([...new Set([...rates, ...totals, population.record.id])]),
    rates: listValue(rates),
    totals: listValue(totals),
    population: population.record.id,
    min_common: MIN_COMMON,
    slack: SLACK,
    min_share: MIN_SHARE,
  });
  return z
    .array(pair)
    .parse(rows)
    .flatMap((found) => {
      const [rate, total] = [series.get(found.rate), series.get(found.total)];
      return rate && total ? pairDoubts(found, rate, total) : [];
    });
}

export const ratesOfTotals: QualityCheck = {
  kinds: ['rate_of_another_total', 'scale_contradicts_unit'],
  find: findDoubts,
};
