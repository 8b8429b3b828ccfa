/**
 * Writes a small, whole snapshot by the published layout: Parquet by DuckDB, bodies with their codings, a manifest and an
 * entry in the log.
 *
 * It shares the record schemas with the build and no code, so the gateway is tested against the layout alone.
 */
import { createHash, randomUUID } from 'node:crypto';
import { cpSync, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { type RuleLeaf, rulesTree } from '../../data/proofs/merkle-tree.ts';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import { type EditionGroups, GROUPS, groupFiguresFile, type StoredGroups } from '../../data/schema/groups.ts';
import { proofsFile, RULES } from '../../data/schema/proofs.ts';
import type { CountryRecord, IndicatorRecord, TopicItem } from '../../data/schema/records.ts';
import {
  ADDITION_WORDS,
  additionFile,
  COUNTRIES as COUNTRIES_FILE,
  CURRENT_POINTER,
  catalogueFile,
  compareByName,
  countryFile,
  type FileRef,
  indicatorFile,
  type Manifest,
  manifestPath,
  objectPath,
  providerOf,
  providerOfFile,
  ROUTE_FILES,
  relationsFile,
  SNAPSHOT_FORMAT,
  TOPICS,
  termsFile,
  type VanishedIndicator,
} from '../../data/schema/snapshot.ts';
import { ADDED_LISTS, COUNTRIES, type FixtureIndicator, INDICATORS, PROVIDERS } from './fixture-data.ts';
import { enterInLog, fixtureProofs, fixtureRules, readManifest } from './fixture-log.ts';
import { byProvider, type Series, writeParquet } from './fixture-parquet.ts';
import { coverageOf, latestItem, rankRows } from './fixture-ranks.ts';
import { byName, hasValue, relatedTo, topicRecords, traitsOf } from './fixture-records.ts';
import { openingOf } from './opening-year.ts';

export interface FixtureOptions {
  /** Default `FIXTURE_ID`. */
  id?: string;
  generatedAt?: string;
  /** Invented ones; then the snapshot has no files for `include` but `added`. */
  indicators?: FixtureIndicator[];
  /** What `include` adds, by word and indicator id. */
  added?: typeof ADDED_LISTS;
  /** Figures of groups, by indicator id, and the groups. */
  groups?: Record<string, StoredGroups>;
  editionGroups?: EditionGroups;
  /** Default: all. */
  countries?: CountryRecord[];
  /** Terms of indicators that only earlier snapshots have. */
  vanished?: VanishedIndicator[];
  /** The snapshot that was served before. Default: the newest in the log. */
  base?: string | null;
}

export const FIXTURE_ID = '20261120T020000Z-00000001';
export const FIXTURE_TIME = '2026-11-20T02:00:00+00:00';

const ROOT = join(import.meta.dirname, '../..');
const SCHEMA = join(ROOT, 'data/schema');
/** Copying takes a fraction of the time that writing does; `cpSync` a tenth of what `cp` takes. */
const CACHE = join(ROOT, 'var/test/fixtures');

/** Fast: tests need valid encodings, not small ones. */
const QUICK_BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 2 };

/** Writes the snapshot below `root` and makes it the current one. @returns its id */
export async function publishFixture(root: string, options: FixtureOptions = {}): Promise<string> {
  const id = await writeFixture(root, options);
  await setCurrentSnapshot(root, id);
  return id;
}

/** Moves the pointer as publishing does, by one rename. */
export async function setCurrentSnapshot(root: string, id: string): Promise<void> {
  const next = join(root, `.${CURRENT_POINTER}-${id}`);
  await writeFile(next, `${id}\n`);
  await rename(next, join(root, CURRENT_POINTER));
}

/** Stores the snapshot and enters it in the log. Copies it from the cache, which it fills first. */
export async function writeFixture(root: string, options: FixtureOptions = {}): Promise<string> {
  const { id = FIXTURE_ID, base, ...content } = options;
  const cached = join(CACHE, await cacheKey({ id, ...content }));
  if (!existsSync(cached)) await fillCache(cached, options);
  cpSync(cached, root, { recursive: true });
  await enterInLog(root, id, base);
  return id;
}

/** Where a file of a snapshot is stored. */
export async function fixturePath(root: string, name: string, id = FIXTURE_ID): Promise<string> {
  const { kept, prerendered, providers } = await readManifest(root, id);
  const provider = providers[providerOfFile(name) ?? ''];
  const lists = [provider, prerendered].filter((ref) => ref !== undefined);
  const read = ({ sha256 }: FileRef) => readFile(join(root, objectPath(sha256)), 'utf8');
  const files = await Promise.all(lists.map(async (ref) => JSON.parse(await read(ref))));
  const found: FileRef | undefined = Object.assign({}, kept, ...files)[name];
  if (found === undefined) throw new Error(`the fixture has no ${name}`);
  return join(root, objectPath(found.sha256));
}

const digestOf = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

let sources: Promise<Buffer[]> | undefined;

/** A digest of the content and of everything that the snapshot is made with. */
async function cacheKey(content: Omit<FixtureOptions, 'base'>): Promise<string> {
  sources ??= readSources();
  const hash = createHash('sha256').update(JSON.stringify(content));
  for (const source of await sources) hash.update(source);
  return hash.digest('hex').slice(0, 16);
}

async function readSources(): Promise<Buffer[]> {
  const isSource = (name: string): boolean => name.startsWith('fixture-');
  const own = (await readdir(import.meta.dirname)).filter(isSource);
  const files = [
    join(ROOT, 'package-lock.json'),
    ...(await readdir(SCHEMA)).filter((name) => name.endsWith('.ts')).map((name) => join(SCHEMA, name)),
    ...own.map((name) => join(import.meta.dirname, name)),
  ];
  return Promise.all(files.toSorted().map((file) => readFile(file)));
}

/** Complete at once or not at all: several tests may fill it at the same time. */
async function fillCache(cached: string, options: FixtureOptions): Promise<void> {
  const incomplete = `${cached}-${randomUUID()}`;
  await storeSnapshot(incomplete, options);
  await rename(incomplete, cached).catch(async (error: unknown) => {
    await rm(incomplete, { recursive: true });
    if (!existsSync(cached)) throw error;
  });
}

/** Writes the files under their names first. */
async function storeSnapshot(root: string, options: FixtureOptions): Promise<void> {
  const { id = FIXTURE_ID, generatedAt = FIXTURE_TIME, indicators = INDICATORS } = options;
  const { countries = COUNTRIES, vanished = [] } = options;
  const all = indicators.map(toSeries).sort((a, b) => compareByName(a.record, b.record));
  const written: Written = { directory: join(root, `.building-${id}`), generatedAt, all, countries };
  await writeParquet(written);
  await writeKept(written);
  await writeLists(written);
  await writeIndicators(written);
  await writeCountries(written);
  await writeAddedLists(written, options.added ?? (options.indicators === undefined ? ADDED_LISTS : {}));
  if (options.editionGroups) {
    written.rules = fixtureRules(all, options.editionGroups, options.groups, options.added);
    await writeJson(written, GROUPS, options.editionGroups);
    await writeJson(written, RULES, written.rules);
  }
  for (const [id, figures] of Object.entries(options.groups ?? {}))
    await writeJson(written, groupFiguresFile(id), figures);
  for (const [provider, terms] of Map.groupBy(vanished, (one) => providerOf(one.id)))
    await writeJson(written, termsFile(provider), terms);
  await seal(root, id, written);
}

interface Written {
  directory: string;
  generatedAt: string;
  all: Series[];
  countries: CountryRecord[];
  rules?: RuleLeaf[];
}

function toSeries(indicator: FixtureIndicator): Series {
  const provider = PROVIDERS[indicator.id.split('.', 1)[0] as keyof typeof PROVIDERS];
  const rows = rankRows(indicator);
  const record: IndicatorRecord = {
    id: indicator.id,
    name: indicator.name,
    description: indicator.description ?? null,
    unit: indicator.unit ?? null,
    topic: indicator.topic,
    higher_is_better: indicator.higher_is_better ?? null,
    preferred: indicator.preferred ?? false,
    featured: indicator.featured ?? false,
    access_tier: indicator.access_tier ?? 'open',
    no_rank: indicator.no_rank ?? false,
    licence: indicator.licence ?? provider.licence,
    licence_url: provider.licence_url,
    attribution: provider.attribution,
    provider,
    coverage: coverageOf(rows),
  };
  return { indicator, record, rows };
}

async function writeJson({ directory }: Written, name: string, content: unknown): Promise<void> {
  const path = join(directory, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify(content));
}

async function writeKept(written: Written): Promise<void> {
  const { all, countries } = written;
  await writeJson(written, COUNTRIES_FILE, byName(countries));
  await writeJson(written, TOPICS, topicRecords(all));
  for (const [provider, own] of byProvider(all)) {
    const indicators = own
      .map(({ indicator, record, rows }) => ({
        record,
        opening: openingOf(rows),
        topic_order: indicator.topic_order ?? 1000,
        has_projections: (record.coverage?.yr_max ?? 0) > (record.coverage?.latest_year ?? 0),
        ...traitsOf(indicator),
      }))
      .sort((a, b) => (a.record.id < b.record.id ? -1 : 1));
    await writeJson(written, catalogueFile(provider), indicators);
    await writeJson(written, proofsFile(provider), fixtureProofs(provider, own));
    const related = own.map(({ record }) => [record.id, relatedTo(record, all)] as const);
    await writeJson(written, relationsFile(provider), Object.fromEntries(related));
  }
}

async function writeBody(path: string, body: unknown): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(body));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  await writeFile(`${path}.br`, brotliCompressSync(bytes, { params: QUICK_BROTLI }));
  await writeFile(`${path}.zst`, zstdCompressSync(bytes));
  await writeFile(`${path}.gz`, gzipSync(bytes));
}

async function writeLists({ directory, generatedAt: generated_at, all, countries }: Written): Promise<void> {
  const list = (path: string, data: unknown[], more = {}): Promise<void> =>
    writeBody(join(directory, path), { data, meta: { generated_at, count: data.length, ...more } });
  const records = all.map(({ record }) => record);
  await list(ROUTE_FILES.countries, byName(countries));
  await list(ROUTE_FILES.indicators, records, { total: records.length });
  await list(ROUTE_FILES.topics, topicRecords(all));
  const freshness = Object.values(PROVIDERS).map(({ id, name, licence, attribution }) => ({
    provider_id: id,
    name,
    licence,
    attribution,
    cadence: id === 'beta' ? null : 'annual',
    upstream: id === 'beta' ? [] : [{ name: `${name} archive`, url: 'https://example.org/' }],
    last_ok_finished_at: id === 'gamma' ? null : generated_at,
    last_ok_rows: id === 'gamma' ? null : 12,
    latest_data_year: 2021,
  }));
  await list(ROUTE_FILES.freshness, freshness);
  const coverage = countries
    .toSorted((a, b) => (a.iso3 < b.iso3 ? -1 : 1))
    .map(({ iso3, name }) => {
      const held = all.map(({ rows }) => rows.filter((row) => row.iso3 === iso3));
      const years = held.flatMap((rows) => rows.filter(hasValue)).map(({ year }) => year);
      return {
        iso3,
        name,
        n_observations: held.flat().length,
        n_indicators: held.filter((rows) => rows.some(hasValue)).length,
        yr_min: years.length > 0 ? Math.min(...years) : null,
        yr_max: years.length > 0 ? Math.max(...years) : null,
      };
    });
  await list(ROUTE_FILES.coverage, coverage);
}

async function writeIndicators({ directory, generatedAt, all }: Written): Promise<void> {
  for (const { record } of all) {
    const related = relatedTo(record, all);
    const meta = { generated_at: generatedAt, licence: record.licence, attribution: record.attribution };
    await writeBody(join(directory, indicatorFile(record.id)), { data: { ...record, related }, meta });
  }
}

async function writeAddedLists(written: Written, added: typeof ADDED_LISTS): Promise<void> {
  for (const word of ADDITION_WORDS) {
    const lists = Object.entries(added[word] ?? {});
    for (const [provider, own] of Map.groupBy(lists, ([id]) => providerOf(id)))
      await writeJson(written, additionFile(word, provider), Object.fromEntries(own));
  }
}

async function writeCountries({ directory, generatedAt, all, countries }: Written): Promise<void> {
  for (const country of countries) {
    const topics: Record<string, TopicItem[]> = {};
    for (const slug of TOPIC_SLUGS) {
      const held = all
        .filter(({ record }) => record.topic === slug)
        .sort((a, b) => (a.indicator.topic_order ?? 1000) - (b.indicator.topic_order ?? 1000))
        .map(({ record, rows }) => latestItem(record, rows, country.iso3))
        .filter((item) => item !== null);
      if (held.length > 0) topics[slug] = held;
    }
    const counts = Object.entries(topics).map(([slug, items]) => [slug, items.length] as const);
    const meta = {
      generated_at: generatedAt,
      count: counts.reduce((total, [, count]) => total + count, 0),
      topic_counts: Object.fromEntries(counts),
    };
    await writeBody(join(directory, countryFile(country.iso3)), { data: { ...country, topics }, meta });
  }
}

/** Moves the files to where their content is named, and writes lists and manifest. */
async function seal(
  root: string,
  id: string,
  { directory, generatedAt, all, countries, rules }: Written,
): Promise<void> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  const refs: [string, FileRef][] = [];
  for (const entry of names.filter((name) => name.isFile())) {
    const path = join(entry.parentPath, entry.name);
    refs.push([relative(directory, path), await storeObject(root, await readFile(path))]);
  }
  await rm(directory, { recursive: true });
  const [kept = [], prerendered = []] = [false, true].map((isRendered) =>
    refs.filter(([name]) => /^(routes|bundles)\//.test(name) === isRendered),
  );
  const storeList = (list: [string, FileRef][]): Promise<FileRef> =>
    storeObject(root, Buffer.from(JSON.stringify(Object.fromEntries(list.sort()))));
  const lists = Map.groupBy(kept, ([name]) => providerOfFile(name) ?? '');
  const providers: Record<string, FileRef> = {};
  for (const [provider, own] of lists) if (provider !== '') providers[provider] = await storeList(own);
  const manifest: Manifest = {
    format: SNAPSHOT_FORMAT,
    id,
    generated_at: generatedAt,
    lineage: { base: null, changes: null, changed: {} },
    counts: {
      providers: Object.keys(PROVIDERS).length,
      indicators: all.length,
      countries: countries.length,
      observations: all.reduce((total, { rows }) => total + rows.length, 0),
    },
    runs: {},
    content: digestOf(JSON.stringify(refs)),
    providers,
    kept: Object.fromEntries(lists.get('') ?? []),
    prerendered: await storeList(prerendered),
    ...(rules && { rules: { leaves: rules.length, root: rulesTree(rules).root.toString('hex') } }),
  };
  const path = join(root, manifestPath(id));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify(manifest));
}

/** Stores a file by its content. */
export async function storeObject(root: string, bytes: Buffer): Promise<FileRef> {
  const ref = { bytes: bytes.length, sha256: digestOf(bytes) };
  const path = join(root, objectPath(ref.sha256));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  return ref;
}
