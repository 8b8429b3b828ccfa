/**
 * Renders the bodies of the free routes as `{ data, meta }`, and the index that gateways keep in memory. All bodies
 * carry the snapshot's time, so equal input gives equal bytes.
 */
import { z } from 'zod';
import { ADDITION_WORDS, ADDITIONS, type Additions, additionFile } from '../../data/schema/additions.ts';
import type { SeriesStatistics } from '../../data/schema/quality.ts';
import {
  type CountryDetail,
  type CountryRecord,
  type CoverageRecord,
  type FreshnessRecord,
  type IndicatorRecord,
  indicatorDetail,
  type RelatedEntry,
  type TopicRecord,
} from '../../data/schema/records.ts';
import {
  CATALOGUE,
  type CatalogueIndex,
  CONCEPTS,
  type ConceptLink,
  catalogueIndex,
  countryFile,
  type IndexedIndicator,
  indicatorFile,
  ROUTE_FILES,
  STATISTICS,
} from '../../data/schema/snapshot.ts';
import { statisticsText } from '../quality/series-statistics.ts';
import type { SnapshotFile } from './file-writer.ts';

/** Everything that is rendered; lists are in response order. */
export interface PublicData {
  generatedAt: string;
  topics: TopicRecord[];
  countries: CountryRecord[];
  indicators: IndexedIndicator[];
  freshness: FreshnessRecord[];
  coverage: CoverageRecord[];
  /** One per country; a single-use iterable. */
  details: Iterable<CountryDetail>;
  related: ReadonlyMap<string, RelatedEntry[]>;
  concepts: readonly ConceptLink[];
  additions: Additions;
  statistics: ReadonlyMap<string, SeriesStatistics>;
}

const body = (data: unknown, meta: Record<string, unknown>): string => JSON.stringify({ data, meta });

function listFile(path: string, generatedAt: string, data: readonly unknown[]): SnapshotFile {
  return { path, content: body(data, { generated_at: generatedAt, count: data.length }), effort: 'most' };
}

function indicatorBody(record: IndicatorRecord, related: RelatedEntry[], generatedAt: string): string {
  const { licence, attribution } = record;
  return body(indicatorDetail.parse({ ...record, related }), {
    generated_at: generatedAt,
    licence,
    attribution,
  });
}

function countryBody(detail: CountryDetail, generatedAt: string): string {
  const counts = Object.entries(detail.topics).map(([slug, items]) => [slug, items.length] as const);
  const count = counts.reduce((sum, [, items]) => sum + items, 0);
  const meta = { generated_at: generatedAt, count, topic_counts: Object.fromEntries(counts) };
  return body(detail, meta);
}

/** Number of files that `renderFiles` yields. */
export const fileCount = ({ indicators, countries }: PublicData): number =>
  3 + ADDITION_WORDS.length + Object.keys(ROUTE_FILES).length + indicators.length + countries.length;

/** Yields the largest files first, so that parallel compression ends evenly. */
export function* renderFiles(data: PublicData): Generator<SnapshotFile, void, undefined> {
  const { generatedAt, topics, countries, indicators, freshness, coverage, details, related } = data;
  const records = indicators.map((indicator) => indicator.record);
  const meta = { generated_at: generatedAt, count: records.length, total: records.length };
  yield { path: ROUTE_FILES.indicators, content: body(records, meta), effort: 'most' };
  const index: CatalogueIndex = { generated_at: generatedAt, topics, countries, indicators };
  yield { path: CATALOGUE, content: JSON.stringify(catalogueIndex.parse(index)) };
  yield { path: CONCEPTS, content: JSON.stringify(data.concepts) };
  for (const word of ADDITION_WORDS) {
    const lists = z.record(z.string(), ADDITIONS[word]).parse(Object.fromEntries(data.additions[word]));
    yield { path: additionFile(word), content: JSON.stringify(lists) };
  }
  yield { path: STATISTICS, content: statisticsText(data.statistics) };
  yield listFile(ROUTE_FILES.countries, generatedAt, countries);
  yield listFile(ROUTE_FILES.coverage, generatedAt, coverage);
  yield listFile(ROUTE_FILES.freshness, generatedAt, freshness);
  yield listFile(ROUTE_FILES.topics, generatedAt, topics);
  for (const detail of details) {
    yield { path: countryFile(detail.iso3), content: countryBody(detail, generatedAt), effort: 'fast' };
  }
  for (const record of records) {
    const content = indicatorBody(record, related.get(record.id) ?? [], generatedAt);
    yield { path: indicatorFile(record.id), content, effort: 'fast' };
  }
}
