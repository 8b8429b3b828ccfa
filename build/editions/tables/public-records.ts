/**
 * Builds the public records of a snapshot from the plan and the coverage of its observations. Every record is parsed
 * with its public schema, so no other shape can reach a file.
 */
import type { Curated } from '../../../data/curated/curated.ts';
import {
  type CountryDetail,
  type CoverageRecord,
  countryDetail,
  countryRecord,
  coverageRecord,
  type FreshnessRecord,
  freshnessRecord,
  type IndicatorRecord,
  type TopicItem,
  type TopicRecord,
  topicRecord,
} from '../../../data/schema/records.ts';
import { compareByName, type IndexedIndicator } from '../../../data/schema/snapshot.ts';
import type { SnapshotPlan } from '../plan/plan-snapshot.ts';
import type { CountryCoverage, IndicatorCoverage, LatestColumns } from './summary-tables.ts';

/** In curated order. */
export function topicRecords(
  topics: Curated['topics'],
  indicators: readonly IndicatorRecord[],
  countries: ReadonlyMap<string, number>,
): TopicRecord[] {
  return topics.map(({ slug, name, description }) => {
    const own = indicators.filter((indicator) => indicator.topic === slug);
    return topicRecord.parse({
      slug,
      name,
      description,
      n_indicators: own.length,
      n_featured: own.filter((indicator) => indicator.featured).length,
      n_countries: countries.get(slug) ?? 0,
    });
  });
}

/** By provider id. */
export function freshnessRecords(
  plan: SnapshotPlan,
  coverage: ReadonlyMap<string, IndicatorCoverage>,
): FreshnessRecord[] {
  const newest = new Map<string, number>();
  for (const { id, providerId } of plan.indicators) {
    const year = coverage.get(id)?.coverage.latest_year ?? null;
    if (year !== null) newest.set(providerId, Math.max(year, newest.get(providerId) ?? year));
  }
  return plan.providers
    .map(({ definition, lastGood }) =>
      freshnessRecord.parse({
        provider_id: definition.id,
        name: definition.name,
        licence: definition.licence,
        attribution: definition.attribution,
        cadence: definition.cadence,
        upstream: definition.upstream,
        last_ok_finished_at: lastGood?.finished_at ?? null,
        last_ok_rows: lastGood?.rows_written ?? null,
        latest_data_year: newest.get(definition.id) ?? null,
      }),
    )
    .sort((a, b) => (a.provider_id < b.provider_id ? -1 : 1));
}

/** By ISO3. */
export function coverageRecords(
  plan: SnapshotPlan,
  coverage: ReadonlyMap<string, CountryCoverage>,
): CoverageRecord[] {
  const none: CountryCoverage = { n_observations: 0, n_indicators: 0, yr_min: null, yr_max: null };
  return plan.countries
    .map(({ iso3, name }) => coverageRecord.parse({ iso3, name, ...(coverage.get(iso3) ?? none) }))
    .sort((a, b) => (a.iso3 < b.iso3 ? -1 : 1));
}

/**
 * Country details: topics in curated order, items by curated order in the topic, then by name. They are generated one
 * at a time, because together they hold an item per indicator and country.
 */
export function countryDetails(
  plan: SnapshotPlan,
  topics: Curated['topics'],
  indicators: readonly IndicatorRecord[],
  latest: LatestColumns,
): Iterable<CountryDetail> {
  const order = new Map(plan.indicators.map(({ id, topicOrder }) => [id, topicOrder]));
  const place = new Map(
    indicators
      .toSorted((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0) || compareByName(a, b))
      .map((record, index) => [record.id, { record, index }]),
  );
  const rowsByCountry = Map.groupBy(latest.iso3.keys(), (row) => latest.iso3[row] ?? '');
  return details();

  function* details(): Generator<CountryDetail, void, undefined> {
    for (const country of plan.countries) {
      const items = (rowsByCountry.get(country.iso3) ?? []).flatMap(itemOf).sort((a, b) => a.index - b.index);
      const byTopic = Map.groupBy(items, ({ topic }) => topic);
      const groups = topics.flatMap(({ slug }): [string, TopicItem[]][] => {
        const own = byTopic.get(slug);
        return own ? [[slug, own.map(({ item }) => item)]] : [];
      });
      yield countryDetail.parse({ ...country, topics: Object.fromEntries(groups) });
    }
  }

  function itemOf(row: number): { index: number; topic: string; item: TopicItem }[] {
    const found = place.get(latest.indicator[row] ?? '');
    if (!found) return [];
    const { record, index } = found;
    const item: TopicItem = {
      indicator: record.id,
      name: record.name,
      unit: record.unit,
      year: latest.year[row] ?? 0,
      value: latest.value[row] ?? null,
      rank: latest.rank[row] ?? null,
      rank_delta_1y: latest.rankDelta[row] ?? null,
      featured: record.featured,
    };
    return [{ index, topic: record.topic, item }];
  }
}

export const countryRecords = (plan: SnapshotPlan) =>
  plan.countries.map((country) => countryRecord.parse(country));

/** The catalogue, in the order of the plan. */
export function indexIndicators(plan: SnapshotPlan, records: readonly IndicatorRecord[]): IndexedIndicator[] {
  return plan.indicators.map(({ topicOrder, original }, index) => {
    const record = records[index];
    if (!record) throw new RangeError('a planned indicator without a record');
    const { yr_max: last, latest_year: observed } = record.coverage ?? { yr_max: null, latest_year: null };
    const hasProjections = last !== null && (observed === null || last > observed);
    return {
      record,
      topic_order: topicOrder,
      has_projections: hasProjections,
      ...(original && { original }),
    };
  });
}
