/**
 * Renders the JSON of a snapshot: the kept files, none of which holds a time, so that equal data give equal files; and the
 * bodies of the free routes as `{ data, meta }`, all of which carry the time of publication.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import type { RuleLeaf } from '../../../data/proofs/merkle-tree.ts';
import type { IndicatorAlias } from '../../../data/schema/curated.ts';
import { type EditionGroups, GROUPS } from '../../../data/schema/groups.ts';
import { RULES } from '../../../data/schema/proofs.ts';
import type { SeriesStatistics } from '../../../data/schema/quality.ts';
import {
  type CountryDetail,
  type CountryRecord,
  type CoverageRecord,
  type FreshnessRecord,
  indicatorDetail,
  type RelatedEntry,
  type TopicRecord,
} from '../../../data/schema/records.ts';
import {
  ADDITION_WORDS,
  ADDITIONS,
  type Additions,
  ALIASES,
  additionFile,
  CONCEPTS,
  COUNTRIES,
  type ConceptLink,
  catalogueFile,
  countryFile,
  type FileList,
  type IndexedIndicator,
  indicatorFile,
  providerCatalogue,
  ROUTE_FILES,
  relations,
  relationsFile,
  SPARKLINES,
  type Sparklines,
  STATISTICS,
  TOPICS,
  termsFile,
  type VanishedIndicator,
} from '../../../data/schema/snapshot.ts';
import type { SnapshotFile } from './file-writer.ts';
import { statisticsText } from './series-statistics.ts';

/** Everything that is rendered; lists are in response order. */
export interface PublicData {
  topics: TopicRecord[];
  countries: CountryRecord[];
  groups: EditionGroups;
  rules: RuleLeaf[];
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
    const { id, licence, attribution } = record;
    const detail = indicatorDetail.parse({ ...record, related: related.get(id) ?? [] });
    const content = body(detail, { generated_at: generatedAt, licence, attribution });
    yield { path: indicatorFile(id), content, effort: 'fast' };
  }
}

/** Increment when the same data are rendered in another way: unchanged data are then published again. */
const RENDER_VERSION = 3;

/** Hash of everything that is published but times. */
export function contentHash(kept: FileList, { freshness }: Pick<PublicData, 'freshness'>): string {
  const files = Object.entries(kept).map(([name, { sha256 }]) => [name, sha256]);
  const providers = freshness.map(({ last_ok_finished_at: _, last_ok_rows: __, ...record }) => record);
  return hash('sha256', JSON.stringify([RENDER_VERSION, files.sort(), providers]));
}

export interface KeptData
  extends Pick<PublicData, 'topics' | 'countries' | 'groups' | 'rules' | 'indicators' | 'related'> {
  additions: Additions;
  /** By provider. */
  vanished: ReadonlyMap<string, VanishedIndicator[]>;
  aliases: readonly IndicatorAlias[];
}

export function* renderKept(data: KeptData): Generator<SnapshotFile, void, undefined> {
  const { topics, countries, groups, rules, indicators, related, additions, vanished, aliases } = data;
  yield keptFile(COUNTRIES, countries);
  yield keptFile(TOPICS, topics);
  yield keptFile(GROUPS, groups);
  yield keptFile(RULES, rules);
  yield keptFile(ALIASES, aliases);
  const byId = indicators.toSorted((a, b) => (a.record.id < b.record.id ? -1 : 1));
  for (const [provider, own] of Map.groupBy(byId, ({ record }) => record.provider.id)) {
    yield keptFile(catalogueFile(provider), providerCatalogue.parse(own));
    const ids = own.map(({ record }) => record.id);
    yield keptFile(relationsFile(provider), relations.parse(listsOf(ids, related)));
    for (const word of ADDITION_WORDS) {
      const lists = z.record(z.string(), ADDITIONS[word]).parse(listsOf(ids, additions[word]));
      yield keptFile(additionFile(word, provider), lists);
    }
  }
  for (const [provider, own] of vanished) yield keptFile(termsFile(provider), own);
}

export const keptFile = (path: string, content: unknown): SnapshotFile => ({
  path,
  content: JSON.stringify(content),
  isKept: true,
});

/** The lists of some indicators by id; empty ones are left out. */
const listsOf = (ids: readonly string[], lists: ReadonlyMap<string, readonly unknown[]>) =>
  Object.fromEntries(
    ids.map((id) => [id, lists.get(id) ?? []] as const).filter(([, list]) => list.length > 0),
  );
