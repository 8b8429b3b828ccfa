/** Renders the bodies of the free routes as `{ data, meta }`. All of them carry the time of publication. */
import { createHash } from 'node:crypto';
import type { SeriesStatistics } from '../../../data/schema/quality.ts';
import {
  type CountryDetail,
  type CountryRecord,
  type CoverageRecord,
  type FreshnessRecord,
  type IndicatorRecord,
  indicatorDetail,
  type RelatedEntry,
  type TopicRecord,
} from '../../../data/schema/records.ts';
import {
  CONCEPTS,
  type ConceptLink,
  countryFile,
  type FileList,
  type IndexedIndicator,
  indicatorFile,
  ROUTE_FILES,
  SPARKLINES,
  type Sparklines,
  STATISTICS,
} from '../../../data/schema/snapshot.ts';
import { statisticsText } from '../../quality/series-statistics.ts';
import type { SnapshotFile } from './file-writer.ts';

/** Everything that is rendered; lists are in response order. */
export interface PublicData {
  topics: TopicRecord[];
  countries: CountryRecord[];
  indicators: IndexedIndicator[];
  freshness: FreshnessRecord[];
  coverage: CoverageRecord[];
  /** One per country; a single-use iterable. */
  details: Iterable<CountryDetail>;
  related: ReadonlyMap<string, RelatedEntry[]>;
  concepts: readonly ConceptLink[];
  statistics: ReadonlyMap<string, SeriesStatistics>;
  sparklines: Sparklines;
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

/** Number of files that `renderRoutes` yields. */
export const routeCount = ({ indicators, countries }: PublicData): number =>
  3 + Object.keys(ROUTE_FILES).length + indicators.length + countries.length;

/** Yields the prerendered files, the largest first, so that parallel compression ends evenly. */
export function* renderRoutes(
  data: PublicData,
  generatedAt: string,
): Generator<SnapshotFile, void, undefined> {
  const { topics, countries, indicators, freshness, coverage, details, related } = data;
  const records = indicators.map((indicator) => indicator.record);
  const meta = { generated_at: generatedAt, count: records.length, total: records.length };
  yield { path: ROUTE_FILES.indicators, content: body(records, meta), effort: 'most' };
  yield { path: CONCEPTS, content: JSON.stringify(data.concepts) };
  yield { path: STATISTICS, content: statisticsText(data.statistics) };
  yield { path: SPARKLINES, content: JSON.stringify(data.sparklines) };
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

/** Increment when the same data are rendered in another way: unchanged data are then published again. */
const RENDER_VERSION = 3;

/** Hash of everything that is published but times. */
export function contentHash(kept: FileList, { freshness }: Pick<PublicData, 'freshness'>): string {
  const files = Object.entries(kept).map(([name, { sha256 }]) => [name, sha256]);
  const providers = freshness.map(({ last_ok_finished_at: _, last_ok_rows: __, ...record }) => record);
  const content = [RENDER_VERSION, files.sort(), providers];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
