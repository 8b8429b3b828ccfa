/** Countries whose latest value does not fit those of other countries, or their number of inhabitants. */
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import { iso3 } from '../../../data/schema/records.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../check.ts';
import { counted, countryName, figure } from '../wording.ts';

const COUNTRY_OUTLIERS = readSql(import.meta.url, 'sql/country-outliers.sql');
const MORE_THAN_POPULATION = readSql(import.meta.url, 'sql/more-than-population.sql');

/** Units in which countries cannot be compared: currencies, and indices of a country's own base year. */
const OWN_UNIT = /national currency|\bLCU\b|^index|\d{4} ?= ?100/iu;
const PEOPLE =
  /^(?:people|persons|children|women|men|boys|girls|males|females|births|deaths|pupils|students)$/iu;
const POPULATION = /^(?:total )?population(?:,? total)?$/iu;

/** The newest count of all inhabitants; of these, the one with the most countries. */
function populationSeries(series: CheckContext['series']): CheckedSeries | undefined {
  return [...series.values()]
    .filter(({ record }) => POPULATION.test(record.name) && PEOPLE.test(record.unit ?? ''))
    .sort(
      ({ statistics: a }, { statistics: b }) =>
        (b.latest_year ?? 0) - (a.latest_year ?? 0) || b.countries - a.countries,
    )[0];
}

const numbersOf = (series: readonly CheckedSeries[]) =>
  listValue(series.map(({ planned }) => planned.number));

const outlier = z.object({
  id: z.string(),
  iso3,
  year: z.int(),
  value: z.number(),
  n: z.int(),
  distance: z.number(),
  is_high: z.boolean(),
});

async function findOutliers(context: CheckContext): Promise<FoundDoubt[]> {
  const comparable = [...context.series.values()].filter(
    ({ record, statistics }) => !OWN_UNIT.test(record.unit ?? '') && statistics.negative === 0,
  );
  if (comparable.length === 0) return [];
  const rows = await context.duck.rows(COUNTRY_OUTLIERS, {
    numbers: numbersOf(comparable),
    population: populationSeries(context.series)?.planned.number ?? -1,
  });
  const byId = Map.groupBy(z.array(outlier).parse(rows), ({ id }) => id);
  return [...byId].map(([id, found]) => {
    const sentences = found.map(({ iso3: country, year, value, n, distance, is_high }) => {
      const times = figure(Number((10 ** distance).toPrecision(2)));
      const where = is_high ? 'above' : 'below';
      return `${countryName(context.curated, country)} is ${figure(value)} in ${year}, ${times} times ${where} the next of ${n} countries`;
    });
    return {
      kind: 'country_outlier',
      provider: context.series.get(id)?.planned.providerId ?? '',
      indicator: id,
      other: null,
      countries: found.map((one) => one.iso3).sort(),
      years: null,
      extent: found.length,
      message: `${sentences.join('; ')}.`,
    };
  });
}

const tooMany = z.object({
  id: z.string(),
  countries: z.array(iso3),
  worst: z.object({ iso3, year: z.int(), value: z.number(), people: z.number() }),
});

async function findMoreThanPopulation(context: CheckContext): Promise<FoundDoubt[]> {
  const population = populationSeries(context.series);
  const people = [...context.series.values()].filter(({ record }) => PEOPLE.test(record.unit ?? ''));
  if (!population || people.length === 0) return [];
  const rows = await context.duck.rows(MORE_THAN_POPULATION, {
    numbers: numbersOf(people),
    population: population.planned.number,
  });
  return z
    .array(tooMany)
    .parse(rows)
    .map(({ id, countries: found, worst }) => {
      const others =
        found.length > 1 ? `; ${counted(found.length - 1, 'more country', 'more countries')}` : '';
      const unit = context.series.get(id)?.record.unit;
      return {
        kind: 'more_than_population',
        provider: context.series.get(id)?.planned.providerId ?? '',
        indicator: id,
        other: null,
        countries: found,
        years: null,
        extent: found.length,
        message: `${countryName(context.curated, worst.iso3)} has ${figure(worst.value)} ${unit} in ${worst.year}, but ${figure(worst.people)} inhabitants${others}.`,
      };
    });
}

export const countries: QualityCheck = {
  kinds: ['country_outlier', 'more_than_population'],
  find: async (context) => [...(await findOutliers(context)), ...(await findMoreThanPopulation(context))],
};
