/**
 * Collects what a snapshot publishes besides observations: tables, relations, the quality report, twins and records. Every
 * record is parsed with its public schema, so no other shape can reach a file.
 */
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import type { Logger } from 'pino';
import type { Curated } from '../../../data/curated/curated.ts';
import type { AggregateDeviation } from '../../../data/schema/groups.ts';
import {
  BREAK_KINDS,
  type PublicFinding,
  publicFinding,
  type QualityFinding,
  type SeriesStatistics,
} from '../../../data/schema/quality.ts';
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
import {
  type Additions,
  type ConceptLink,
  compareByName,
  type IndexedIndicator,
  observationsFile,
  type SeriesOpening,
} from '../../../data/schema/snapshot.ts';
import { type MeasuredSeries, type QualityReport, reportQuality } from '../../quality/quality.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { BuildSteps } from '../build-steps.ts';
import type { SnapshotPlan } from '../plan/plan-snapshot.ts';
import type { ServedHistory } from '../plan/vanished.ts';
import { measureSeries, ruleLeaves } from '../relations/measures.ts';
import { findRelations, findTwins } from '../relations/relations.ts';
import { firstNamed } from '../verify.ts';
import { readSparklines } from './excerpts.ts';
import { type BaseEdition, baseCatalogue } from './file-writer.ts';
import { groupsIn, writeGroupFigures } from './group-figures.ts';
import type { PublicData } from './prerender.ts';
import { collectStatistics, readStatistics } from './series-statistics.ts';
import {
  COVERAGE_FILE,
  type CountryCoverage,
  type IndicatorCoverage,
  type LatestColumns,
  writeSummaryTables,
} from './summary-tables.ts';

/** What a build has when the observation files are written. */
export interface Written {
  directory: string;
  plan: SnapshotPlan;
  base: BaseEdition | null;
  /** What was served up to the base edition. */
  history: ServedHistory;
  /** The series whose files were linked from the base edition. */
  linked: ReadonlySet<string>;
}

/** What the collection reads with. */
export interface Collecting {
  duck: DuckSession;
  curated: Curated;
  steps: BuildSteps;
  lakeDir: string;
  log: Logger;
  /** When the build started, in milliseconds. */
  startedAt: number;
}

export interface CollectedData {
  data: PublicData;
  coverage: ReadonlyMap<string, IndicatorCoverage>;
  quality: QualityReport;
  additions: Additions;
  /** The inputs of the files of group figures, by name. */
  groups: ReadonlyMap<string, string>;
}

export async function collectPublicData(written: Written, collecting: Collecting): Promise<CollectedData> {
  const { directory, plan } = written;
  const { duck, curated, steps, startedAt } = collecting;
  const { coverage, records, latest, openings, topicCountries, countryCoverage } = await steps.run(
    'tables',
    () => writeSummaryTables(duck, directory, plan.indicators),
  );
  const measured = measureSeries(plan.indicators, records, curated, new Set(plan.withheld));
  const groups = await steps.run('groups', () =>
    writeGroupFigures({
      duck,
      directory,
      plan,
      measured,
      curated,
      base: written.base,
      onFiles: (done, total) => steps.progress('groups', done, total, 'series'),
    }),
  );
  steps.progress('relations', 0, 1, 'passes');
  const { related, concepts } = await steps.run('relations', async () =>
    findRelations({
      indicators: plan.indicators,
      coverage,
      latest,
      concepts: curated.concepts,
      links: curated.links,
    }),
  );
  const { statistics, quality } = await steps.run('quality', () =>
    checkQuality(written, collecting, {
      records,
      measured,
      concepts,
      deviations: groups.deviations,
    }),
  );
  // Its memory is free for the batches that follow.
  await duck.run('DROP TABLE country_series');
  const twins = await steps.run('twins', () => findTwins(duck, directory, curated.concepts, records));
  const sparklines = await steps.run('sparklines', () =>
    readSparklines(duck, directory, plan.indicators, startedAt),
  );
  const breaks = breaksOfSeries(statistics);
  const edition = groupsIn(curated);
  const data: PublicData = {
    topics: topicRecords(curated.topics, records, topicCountries),
    countries: plan.countries.map((country) => countryRecord.parse(country)),
    groups: edition,
    rules: ruleLeaves(edition, measured, breaks),
    indicators: indexIndicators(plan, records, measured, openings),
    freshness: freshnessRecords(plan, coverage),
    coverage: coverageRecords(plan, countryCoverage),
    details: countryDetails(plan, curated.topics, records, latest),
    related,
    concepts,
    statistics,
    sparklines,
  };
  const additions: Additions = {
    sources: new Map(plan.indicators.map(({ id, sources }) => [id, sources])),
    quality: publicFindings(quality.findings, plan),
    twins,
    breaks,
  };
  return { data, coverage, quality, additions, groups: groups.inputs };
}

/** What is known of the published series but their figures. */
interface Labelled {
  records: readonly IndicatorRecord[];
  measured: ReadonlyMap<string, MeasuredSeries>;
  deviations: ReadonlyMap<string, AggregateDeviation>;
  concepts: readonly ConceptLink[];
}

/** The statistics of all series, and what the checks find in them. */
async function checkQuality(
  { directory, plan, base, history, linked }: Written,
  collecting: Collecting,
  { records, measured, deviations, concepts }: Labelled,
): Promise<{ statistics: Map<string, SeriesStatistics>; quality: QualityReport }> {
  const old = base ? await readStatistics(base.directory) : new Map<string, SeriesStatistics>();
  const known = new Map([...old].filter(([id]) => linked.has(id)));
  const collected = await collectStatistics(collecting.duck, directory, plan.indicators, known);
  const filesIn = (snapshot: string) => (ids: readonly string[]) =>
    listValue(ids.map((id) => join(snapshot, observationsFile(id))));
  const quality = await reportQuality({
    ...collecting,
    ...collected,
    plan,
    measured,
    deviations,
    concepts,
    published: new Map(
      plan.indicators.flatMap((planned, at) => {
        const record = records[at];
        return record ? [[planned.id, { planned, record }] as const] : [];
      }),
    ),
    before: new Map(
      (base ? await baseCatalogue(base) : []).flatMap(({ record }) => {
        const figures = old.get(record.id);
        return figures ? [[record.id, { record, statistics: figures }] as const] : [];
      }),
    ),
    files: filesIn(directory),
    filesBefore: filesIn(base?.directory ?? directory),
    coverage: join(directory, COVERAGE_FILE),
    coverageBefore: base && join(base.directory, COVERAGE_FILE),
    departed: new Set(history.departures.flatMap(({ indicators }) => indicators)),
    firstDate: history.firstDate,
  });
  return { statistics: collected.statistics, quality };
}

/**
 * What readers may see: findings on published series, each with every series that it concerns. A finding whose texts name
 * a withheld series is left out.
 */
function publicFindings(
  findings: readonly QualityFinding[],
  plan: SnapshotPlan,
): Map<string, PublicFinding[]> {
  const withheld = new Set(plan.withheld);
  const byId = new Map(plan.indicators.map(({ id }): [string, PublicFinding[]] => [id, []]));
  for (const finding of findings.map((one) => publicFinding.parse(one))) {
    if (firstNamed(JSON.stringify(finding), withheld) !== undefined) continue;
    for (const id of [finding.indicator, finding.other]) byId.get(id ?? '')?.push(finding);
  }
  return byId;
}

const breaksOfSeries = (statistics: ReadonlyMap<string, SeriesStatistics>) =>
  new Map(
    [...statistics].flatMap(([id, { anomalies }]) => {
      const breaks = anomalies.flatMap(({ kind, iso3, year }) => {
        const found = BREAK_KINDS.find((one) => one === kind);
        return found === undefined ? [] : [{ kind: found, iso3, year }];
      });
      return breaks.length === 0 ? [] : [[id, breaks] as const];
    }),
  );

/** In curated order. */
function topicRecords(
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
function freshnessRecords(
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
function coverageRecords(
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
function* countryDetails(
  plan: SnapshotPlan,
  topics: Curated['topics'],
  indicators: readonly IndicatorRecord[],
  latest: LatestColumns,
): Generator<CountryDetail, void, undefined> {
  const order = new Map(plan.indicators.map(({ id, topicOrder }) => [id, topicOrder]));
  const place = new Map(
    indicators
      .toSorted((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0) || compareByName(a, b))
      .map((record, index) => [record.id, { record, index }]),
  );
  const rowsByCountry = Map.groupBy(latest.iso3.keys(), (row) => latest.iso3[row] ?? '');
  for (const country of plan.countries) {
    const items = (rowsByCountry.get(country.iso3) ?? []).flatMap(itemOf).sort((a, b) => a.index - b.index);
    const byTopic = Map.groupBy(items, ({ topic }) => topic);
    const groups = topics.flatMap(({ slug }): [string, TopicItem[]][] => {
      const own = byTopic.get(slug);
      return own ? [[slug, own.map(({ item }) => item)]] : [];
    });
    yield countryDetail.parse({ ...country, topics: Object.fromEntries(groups) });
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

/** The catalogue, in the order of the plan. */
function indexIndicators(
  plan: SnapshotPlan,
  records: readonly IndicatorRecord[],
  measured: ReadonlyMap<string, MeasuredSeries>,
  openings: ReadonlyMap<string, SeriesOpening>,
): IndexedIndicator[] {
  return plan.indicators.map(({ id, topicOrder, original }, index) => {
    const record = records[index];
    if (!record) throw new RangeError('a planned indicator without a record');
    const { yr_max: last, latest_year: observed } = record.coverage ?? { yr_max: null, latest_year: null };
    const hasProjections = last !== null && (observed === null || last > observed);
    return {
      record,
      topic_order: topicOrder,
      has_projections: hasProjections,
      ...(original && { original }),
      traits: measured.get(id)?.traits,
      opening: openings.get(id),
    };
  });
}
