/**
 * Writes a small, whole snapshot by the published layout: Parquet by DuckDB, bodies with their codings, a manifest.
 *
 * It shares the record schemas with the build and no code, so the gateway is tested against the layout alone.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { ADDITION_WORDS, additionFile } from '../../data/schema/additions.ts';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import type { IndicatorRecord, TopicItem } from '../../data/schema/records.ts';
import {
  CATALOGUE,
  CURRENT_POINTER,
  compareByName,
  countryFile,
  indicatorFile,
  MANIFEST,
  OBSERVATION_COLUMNS,
  observationsFile,
  ROUTE_FILES,
  SNAPSHOT_FORMAT,
} from '../../data/schema/snapshot.ts';
import { ADDED_LISTS, COUNTRIES, type FixtureIndicator, INDICATORS, PROVIDERS } from './fixture-data.ts';
import { coverageOf, latestItem, type RankedRow, rankRows } from './fixture-ranks.ts';

export interface FixtureOptions {
  /** Default `FIXTURE_ID`. */
  id?: string;
  generatedAt?: string;
  /** Invented ones; then the snapshot has no files for `include`, like one of an earlier version. */
  indicators?: FixtureIndicator[];
}

export const FIXTURE_ID = '20261120T020000Z-00000001';
export const FIXTURE_TIME = '2026-11-20T02:00:00+00:00';

const ROOT = join(import.meta.dirname, '../..');
const SCHEMA = join(ROOT, 'data/schema');
/** Copying takes a fifth of the time that writing does. */
const CACHE = join(ROOT, 'var/test/fixtures');

/** Fast: tests need valid encodings, not small ones. */
const QUICK_BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 2 };

interface Series {
  indicator: FixtureIndicator;
  record: IndicatorRecord;
  rows: RankedRow[];
}

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

/** Copies the snapshot from the cache, which it fills first; invented indicators are written directly. */
export async function writeFixture(root: string, options: FixtureOptions = {}): Promise<string> {
  const { id = FIXTURE_ID } = options;
  const directory = join(root, id);
  if (options.indicators === undefined) {
    const cached = join(CACHE, await cacheKey(options));
    if (!existsSync(cached)) await fillCache(cached, options);
    await cp(cached, directory, { recursive: true });
  } else {
    await writeSnapshot(directory, options);
  }
  return id;
}

/** A digest of the options and of everything that the snapshot is made with. */
async function cacheKey({ id, generatedAt }: FixtureOptions): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([id, generatedAt]));
  const isSource = (name: string): boolean => name.startsWith('fixture-');
  const own = (await readdir(import.meta.dirname)).filter(isSource);
  const sources = [
    join(ROOT, 'package-lock.json'),
    ...(await readdir(SCHEMA)).filter((name) => name.endsWith('.ts')).map((name) => join(SCHEMA, name)),
    ...own.map((name) => join(import.meta.dirname, name)),
  ];
  for (const file of sources.toSorted()) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}

/** Complete at once or not at all: two test files may fill it at the same time. */
async function fillCache(cached: string, options: FixtureOptions): Promise<void> {
  const incomplete = `${cached}-${process.pid}`;
  await writeSnapshot(incomplete, options);
  await rename(incomplete, cached).catch(async (error: unknown) => {
    await rm(incomplete, { recursive: true });
    if (!existsSync(cached)) throw error;
  });
}

async function writeSnapshot(directory: string, options: FixtureOptions): Promise<void> {
  const { id = FIXTURE_ID, generatedAt = FIXTURE_TIME, indicators = INDICATORS } = options;
  const all = indicators.map(toSeries).sort((a, b) => compareByName(a.record, b.record));
  await writeParquet(directory, all);
  await writeCatalogue(directory, generatedAt, all);
  await writeLists(directory, generatedAt, all);
  await writeIndicators(directory, generatedAt, all);
  await writeCountries(directory, generatedAt, all);
  if (options.indicators === undefined) await writeAddedLists(directory);
  await writeManifest(directory, id, generatedAt, all);
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
    licence: provider.licence,
    licence_url: provider.licence_url,
    attribution: provider.attribution,
    provider,
    coverage: coverageOf(rows),
  };
  return { indicator, record, rows };
}

async function writeParquet(directory: string, all: Series[]): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const columns = Object.entries(OBSERVATION_COLUMNS).map(([name, type]) => `${name} ${type}`);
  await connection.run(`CREATE TABLE rows (${columns.join(', ')})`);
  for (const { record, rows } of all) {
    await appendRows(connection, rows);
    const path = join(directory, observationsFile(record.id));
    await mkdir(dirname(path), { recursive: true });
    await connection.run(`COPY (FROM rows ORDER BY iso3, year) TO '${path}' (FORMAT parquet, CODEC snappy)`);
    await connection.run('DELETE FROM rows');
  }
  connection.closeSync();
  instance.closeSync();
}

const SERVED_COLUMNS = ['iso3', 'year', 'value', 'ci_lo', 'ci_hi', 'rank', 'rank_delta_1y', 'projected'];
/** Stored and not in any answer. */
const UNSERVED_COLUMNS = Object.keys(OBSERVATION_COLUMNS).filter((name) => !SERVED_COLUMNS.includes(name));

async function appendRows(connection: DuckDBConnection, rows: RankedRow[]): Promise<void> {
  const appender = await connection.createAppender('rows');
  const number = (value: number | null | undefined, append: (value: number) => void): void =>
    value === null || value === undefined ? appender.appendNull() : append(value);
  for (const row of rows) {
    appender.appendVarchar(row.iso3);
    appender.appendInteger(row.year);
    number(row.value, (value) => appender.appendDouble(value));
    number(row.ci_lo, (value) => appender.appendDouble(value));
    number(row.ci_hi, (value) => appender.appendDouble(value));
    number(row.rank, (value) => appender.appendInteger(value));
    number(row.rank_delta_1y, (value) => appender.appendInteger(value));
    appender.appendBoolean(row.projected ?? false);
    for (const _ of UNSERVED_COLUMNS) appender.appendNull();
    appender.endRow();
  }
  appender.closeSync();
}

const topicRecords = (all: Series[]) =>
  TOPIC_SLUGS.map((slug) => {
    const held = all.filter(({ record }) => record.topic === slug);
    return {
      slug,
      name: slug[0]?.toUpperCase() + slug.slice(1),
      description: `All about ${slug}.`,
      n_indicators: held.length,
      n_featured: held.filter(({ record }) => record.featured).length,
      n_countries: new Set(held.flatMap(({ rows }) => rows.filter(hasValue).map(({ iso3 }) => iso3))).size,
    };
  });

const hasValue = ({ value }: RankedRow): boolean => value !== null;

const countriesByName = COUNTRIES.toSorted((a, b) =>
  compareByName({ name: a.name, id: a.iso3 }, { name: b.name, id: b.iso3 }),
);

async function writeCatalogue(directory: string, generated_at: string, all: Series[]): Promise<void> {
  const indicators = all.map(({ indicator, record }) => ({
    record,
    topic_order: indicator.topic_order ?? 1000,
    has_projections: (record.coverage?.yr_max ?? 0) > (record.coverage?.latest_year ?? 0),
  }));
  const index = { generated_at, topics: topicRecords(all), countries: countriesByName, indicators };
  await writeFile(join(directory, CATALOGUE), JSON.stringify(index));
}

async function writeBody(path: string, body: unknown): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(body));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  await writeFile(`${path}.br`, brotliCompressSync(bytes, { params: QUICK_BROTLI }));
  await writeFile(`${path}.zst`, zstdCompressSync(bytes));
  await writeFile(`${path}.gz`, gzipSync(bytes));
}

async function writeLists(directory: string, generated_at: string, all: Series[]): Promise<void> {
  const list = (path: string, data: unknown[], more = {}): Promise<void> =>
    writeBody(join(directory, path), { data, meta: { generated_at, count: data.length, ...more } });
  const records = all.map(({ record }) => record);
  await list(ROUTE_FILES.countries, countriesByName);
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
  const coverage = COUNTRIES.toSorted((a, b) => (a.iso3 < b.iso3 ? -1 : 1)).map(({ iso3, name }) => {
    const rows = all.flatMap((series) => series.rows.filter((row) => row.iso3 === iso3));
    const years = rows.filter(hasValue).map(({ year }) => year);
    const held = all.filter((series) => series.rows.some((row) => row.iso3 === iso3 && hasValue(row)));
    return {
      iso3,
      name,
      n_observations: rows.length,
      n_indicators: held.length,
      yr_min: years.length > 0 ? Math.min(...years) : null,
      yr_max: years.length > 0 ? Math.max(...years) : null,
    };
  });
  await list(ROUTE_FILES.coverage, coverage);
}

async function writeIndicators(directory: string, generated_at: string, all: Series[]): Promise<void> {
  for (const { record } of all) {
    const others = all.filter((other) => other.record.id !== record.id);
    const related = others.slice(0, 12).map(({ record: { id, name, topic, unit } }) => ({
      id,
      name,
      topic,
      unit,
      relation: name === record.name ? 'same_concept' : 'related',
    }));
    const meta = { generated_at, licence: record.licence, attribution: record.attribution };
    await writeBody(join(directory, indicatorFile(record.id)), { data: { ...record, related }, meta });
  }
}

async function writeAddedLists(directory: string): Promise<void> {
  for (const word of ADDITION_WORDS) {
    await writeFile(join(directory, additionFile(word)), JSON.stringify(ADDED_LISTS[word] ?? {}));
  }
}

async function writeCountries(directory: string, generated_at: string, all: Series[]): Promise<void> {
  for (const country of COUNTRIES) {
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
      generated_at,
      count: counts.reduce((total, [, count]) => total + count, 0),
      topic_counts: Object.fromEntries(counts),
    };
    await writeBody(join(directory, countryFile(country.iso3)), { data: { ...country, topics }, meta });
  }
}

async function writeManifest(
  directory: string,
  id: string,
  generated_at: string,
  all: Series[],
): Promise<void> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  const files: Record<string, { bytes: number; sha256: string }> = {};
  for (const entry of names.filter((name) => name.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    files[relative(directory, path)] = { bytes: bytes.length, sha256 };
  }
  const counts = {
    providers: Object.keys(PROVIDERS).length,
    indicators: all.length,
    countries: COUNTRIES.length,
    observations: all.reduce((total, { rows }) => total + rows.length, 0),
  };
  const manifest = { format: SNAPSHOT_FORMAT, id, generated_at, counts, runs: {}, files };
  await writeFile(join(directory, MANIFEST), JSON.stringify(manifest));
}
