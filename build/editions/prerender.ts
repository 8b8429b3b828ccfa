/**
 * The free routes as bytes: every body whole, `{ data, meta }` in the order of the interface, and the index that the
 * gateway keeps in memory. The snapshot's time is the time of every body, so equal requests give equal bytes.
 */
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
} from '../../data/schema/snapshot.ts';
import type { SnapshotFile } from './file-writer.ts';

/** Everything that is rendered; lists come in the order they are answered in. */
export interface PublicData {
  generatedAt: string;
  topics: TopicRecord[];
  countries: CountryRecord[];
  indicators: IndexedIndicator[];
  freshness: FreshnessRecord[];
  coverage: CoverageRecord[];
  /** One for each country; may be gone through once. */
  details: Iterable<CountryDetail>;
  related: ReadonlyMap<string, RelatedEntry[]>;
  concepts: readonly ConceptLink[];
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

/** How many files `renderFiles` gives. */
export const fileCount = ({ indicators, countries }: PublicData): number =>
  2 + Object.keys(ROUTE_FILES).length + indicators.length + countries.length;

/** The files, the largest first, so that the last ones to finish are small. */
export function* renderFiles(data: PublicData): Generator<SnapshotFile, void, undefined> {
  const { generatedAt, topics, countries, indicators, freshness, coverage, details, related } = data;
  const records = indicators.map((indicator) => indicator.record);
  const meta = { generated_at: generatedAt, count: records.length, total: records.length };
  yield { path: ROUTE_FILES.indicators, content: body(records, meta), effort: 'most' };
  const index: CatalogueIndex = { generated_at: generatedAt, topics, countries, indicators };
  yield { path: CATALOGUE, content: JSON.stringify(catalogueIndex.parse(index)) };
  yield { path: CONCEPTS, content: JSON.stringify(data.concepts) };
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
