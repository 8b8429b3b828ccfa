/**
 * Makes editions of the snapshots that earlier versions published.
 *
 * They are directories `<SNAPSHOT_DIR>/<id>/` with all files of a snapshot under their names, and a `manifest.json` of
 * format 1. Files that stay as they are become objects by hard links, after their hashes are verified; the others are
 * converted. Ids, times and the pointer stay. Each snapshot enters the log by itself, so an interrupted migration
 * continues where it ended. The directories stay until the next publication, because gateways of the earlier version
 * read them.
 */
import { link, lstat, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Curated } from '../../data/curated/curated.ts';
import { acquireLock } from '../../data/runtime/file-lock.ts';
import { readSql } from '../../data/runtime/sql-files.ts';
import { ADDITIONS, type Additions } from '../../data/schema/additions.ts';
import type { Overrides } from '../../data/schema/overrides.ts';
import { TREE_PATHS } from '../../data/schema/proofs.ts';
import {
  countryRecord,
  freshnessRecord,
  relatedEntry,
  timestamp,
  topicRecord,
} from '../../data/schema/records.ts';
import {
  type FileList,
  fileList,
  type IndexedIndicator,
  indexedIndicator,
  indicatorFile,
  latestFile,
  observationsFile,
  ROUTE_FILES,
  SNAPSHOT_ID,
  snapshotCounts,
  snapshotId,
} from '../../data/schema/snapshot.ts';
import { yearOf } from '../lake/projection-rule.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { type FileDigest, hashFile } from '../runtime/hash-file.ts';
import { readServedHistory } from './departures.ts';
import { storeChanges } from './edition-changes.ts';
import { FileWriter } from './file-writer.ts';
import { type KeptData, renderKept } from './kept-files.ts';
import { LogSigner, type SigningSettings } from './log-signer.ts';
import { planSnapshot, type SnapshotPlan } from './plan-snapshot.ts';
import { contentHash } from './prerender.ts';
import { type EditionProofs, proveEdition } from './proofs.ts';
import { type Published, SnapshotStorage } from './snapshot-storage.ts';
import { publicAliases, vanishedIndicators } from './vanished.ts';

const SPLIT_LATEST = readSql(import.meta.url, 'sql/split-latest.sql');
const MEMORY_MB = 256;

const MANIFEST = 'manifest.json';
const CATALOGUE = 'catalogue.json';
const LATEST = 'latest.parquet';

const oldManifest = z.object({
  format: z.literal(1),
  id: snapshotId,
  generated_at: timestamp,
  counts: snapshotCounts,
  runs: z.record(z.string(), z.string()),
  files: fileList,
});
type OldManifest = z.infer<typeof oldManifest>;

const oldCatalogue = z.object({
  topics: z.array(topicRecord),
  countries: z.array(countryRecord),
  indicators: z.array(indexedIndicator),
});

export interface MigrationDependencies {
  settings: { LAKE_DIR: string } & SigningSettings;
  curated: Curated;
  overrides: Overrides;
  now: () => number;
  log: Logger;
}

/** What an own run of the migration needs. */
export interface StoreDependencies extends Omit<MigrationDependencies, 'settings' | 'overrides'> {
  settings: { LAKE_DIR: string; SNAPSHOT_DIR: string } & SigningSettings;
  /** The operators' changes, or a function that reads them. */
  overrides?: Overrides | (() => Promise<Overrides>);
  signal?: AbortSignal;
}

/**
 * Migrates the snapshots of an earlier version, if there are any.
 * @returns the ids of the new editions.
 * @throws {LockHeldError} while a build is running, which migrates them, too.
 */
export async function migrateStore(dependencies: StoreDependencies): Promise<string[]> {
  const { settings, overrides: given = new Map(), signal } = dependencies;
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  if ((await unmigratedIds(storage)).length === 0) return [];
  const lock = await acquireLock(storage.lockFile, 'the snapshot', { signal });
  try {
    await storage.clean();
    const overrides = typeof given === 'function' ? await given() : given;
    return await migrateSnapshots(storage, { ...dependencies, overrides });
  } finally {
    await lock.release();
  }
}

/** Ids of snapshots of an earlier version that are not in the log, oldest first. */
async function unmigratedIds(storage: SnapshotStorage): Promise<string[]> {
  const known = new Set(await storage.ids());
  const entries = await readdir(storage.directory, { withFileTypes: true }).catch(() => []);
  const ids = entries.filter((entry) => entry.isDirectory() && SNAPSHOT_ID.test(entry.name));
  return ids
    .map(({ name }) => name)
    .filter((id) => !known.has(id))
    .sort();
}

/**
 * Migrates all snapshots of an earlier version. The caller holds the lock of the build. A damaged one is logged and left.
 * @returns the ids of the new editions.
 */
export async function migrateSnapshots(
  storage: SnapshotStorage,
  deps: MigrationDependencies,
): Promise<string[]> {
  const ids = await unmigratedIds(storage);
  if (ids.length === 0) return [];
  const { settings, curated, overrides, now, log } = deps;
  const plan = await planSnapshot(settings.LAKE_DIR, curated, overrides, yearOf(now()));
  const migrated: string[] = [];
  const migration = new Migration(storage, deps, plan);
  for (const id of ids) {
    try {
      await migration.migrate(id);
      migrated.push(id);
      log.info({ snapshot: id }, 'snapshot migrated');
    } catch (error) {
      log.error({ snapshot: id, err: error }, 'snapshot of an earlier version is not migrated');
    }
  }
  return migrated;
}

class Migration {
  readonly #storage: SnapshotStorage;
  readonly #deps: MigrationDependencies;
  readonly #plan: SnapshotPlan;
  readonly #signer: LogSigner;
  /** Digests by inode: old snapshots share unchanged files. */
  readonly #digests = new Map<string, FileDigest>();

  constructor(storage: SnapshotStorage, deps: MigrationDependencies, plan: SnapshotPlan) {
    this.#storage = storage;
    this.#deps = deps;
    this.#plan = plan;
    this.#signer = new LogSigner(deps.settings, storage);
  }

  async migrate(id: string): Promise<void> {
    const old = join(this.#storage.directory, id);
    const manifest = oldManifest.parse(await readJson(join(old, MANIFEST)));
    await this.#verify(old, manifest);
    const directory = await this.#storage.begin();
    const duck = await DuckSession.open({ scratch: join(directory, '.scratch'), memoryMb: MEMORY_MB });
    try {
      const base = await this.#base();
      const { kept, proofs } = await this.#convert(duck, old, directory, manifest, base);
      const rendered = pick(manifest.files, isPrerendered);
      await linkFiles(old, directory, rendered);
      const paths = new FileWriter(directory);
      await paths.writeAll([proofs.paths], () => {});
      await paths.flush();
      const prerendered = { ...rendered, ...paths.files };
      const { id: _, generated_at, counts, runs } = manifest;
      const content = contentHash(kept, { freshness: await freshnessOf(old) });
      const facts = { id, generated_at, counts, runs, content };
      const { aliases } = this.#deps.curated;
      const changes = base
        ? await storeChanges(duck, this.#storage, base, { directory, kept, aliases })
        : { changes: null, changed: {} };
      const lineage = { base: base?.id ?? null, ...changes };
      const sealed = await this.#storage.seal({ directory, kept, prerendered, facts, lineage });
      await this.#storage.enter(sealed, proofs.root, this.#signer.commit);
    } finally {
      await duck.close();
      await rm(directory, { recursive: true, force: true });
    }
  }

  /** The edition before, whether or not it was rolled back. */
  async #base(): Promise<Published | null> {
    const last = (await this.#storage.log()).editions.at(-1);
    return last ? this.#storage.open(last.edition) : null;
  }

  /** @throws {Error} naming the first file that is not what was published. */
  async #verify(old: string, { files }: OldManifest): Promise<void> {
    for (const [name, { bytes, sha256 }] of Object.entries(files)) {
      const path = join(old, name);
      const { dev, ino } = await lstat(path);
      const inode = `${dev}:${ino}`;
      const digest = this.#digests.get(inode) ?? (await hashFile(path));
      this.#digests.set(inode, digest);
      if (digest.sha256 !== sha256 || digest.bytes !== bytes)
        throw new Error(`${path} does not match its manifest`);
    }
  }

  /** Links and writes the kept files. */
  async #convert(
    duck: DuckSession,
    old: string,
    directory: string,
    manifest: OldManifest,
    base: Published | null,
  ): Promise<{ kept: FileList; proofs: EditionProofs }> {
    const observations = pick(manifest.files, (name) => name.startsWith('observations/'));
    await linkFiles(old, directory, observations);
    const catalogue = oldCatalogue.parse(await readJson(join(old, CATALOGUE)));
    const ids = catalogue.indicators.map(({ record }) => record.id);
    const writer = new FileWriter(directory);
    const data: KeptData = {
      ...catalogue,
      related: await readRelations(old, ids),
      additions: await readAdditions(old, manifest.files),
      vanished: await this.#vanished(ids, base),
      aliases: publicAliases(this.#plan, this.#deps.curated),
    };
    const proofs = await this.#prove(duck, directory, catalogue.indicators, observations, base);
    await writer.writeAll([...renderKept(data), ...proofs.files], () => {});
    const providers = [...new Set(catalogue.indicators.map(({ record }) => record.provider.id))];
    await splitLatest(duck, old, directory, providers);
    await writer.adopt(providers.map(wholeLatest), new Map());
    await writer.flush();
    return { kept: { ...observations, ...writer.files }, proofs };
  }

  /** Which upstream files fed which series is not known of these snapshots. */
  async #prove(
    duck: DuckSession,
    directory: string,
    indicators: readonly IndexedIndicator[],
    observations: FileList,
    base: Published | null,
  ): Promise<EditionProofs> {
    const proven = indicators.map(({ record: { id, unit, provider } }) => {
      return { id, unit, providerId: provider.id, files: [] };
    });
    const beside = join(directory, '.proofs');
    const tables = base ? pick({ ...base.kept, ...(await this.#storage.prerendered(base)) }, isProof) : {};
    await this.#storage.show(tables, beside);
    const isShared = ({ id }: { id: string }): boolean => {
      const name = observationsFile(id);
      return base?.kept[name] !== undefined && base.kept[name].sha256 === observations[name]?.sha256;
    };
    const linked = new Set(proven.filter(isShared).map(({ id }) => id));
    return proveEdition(duck, directory, proven, { directory: beside, linked }, () => {});
  }

  /** Terms of the indicators that earlier editions have, under today's decisions. */
  async #vanished(ids: string[], base: Published | null): Promise<KeptData['vanished']> {
    const { providers, withheld } = this.#plan;
    const { curated, overrides } = this.#deps;
    const plan = { indicators: ids.map((id) => ({ id })), withheld, providers };
    const { departures } = await readServedHistory(this.#storage, base?.id ?? null);
    return vanishedIndicators(plan, { storage: this.#storage, base, departures }, curated, overrides);
  }
}

const isPrerendered = (name: string): boolean =>
  name.startsWith('routes/') ||
  ['coverage.parquet', 'catalogue.parquet', 'concepts.json', 'statistics.json'].includes(name);

const isProof = (name: string): boolean => name.startsWith('proofs/') || name === TREE_PATHS;

const pick = (files: FileList, isPicked: (name: string) => boolean): FileList =>
  Object.fromEntries(Object.entries(files).filter(([name]) => isPicked(name)));

const readJson = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, 'utf8'));

async function linkFiles(from: string, to: string, files: FileList): Promise<void> {
  const names = Object.keys(files);
  for (const folder of new Set(names.map((name) => dirname(join(to, name))))) {
    await mkdir(folder, { recursive: true });
  }
  for (const name of names) await link(join(from, name), join(to, name));
}

const relatedBody = z.object({ data: z.object({ related: z.array(relatedEntry) }) });

async function readRelations(old: string, ids: readonly string[]): Promise<KeptData['related']> {
  const related: [string, z.infer<typeof relatedEntry>[]][] = [];
  for (const id of ids) {
    related.push([id, relatedBody.parse(await readJson(join(old, indicatorFile(id)))).data.related]);
  }
  return new Map(related);
}

/** Early versions wrote no lists for some words. */
async function readAdditions(old: string, files: FileList): Promise<Additions> {
  const read = async <Item>(word: string, schema: z.ZodType<Item>): Promise<Map<string, Item>> => {
    const name = `${word}.json`;
    const lists = files[name] ? z.record(z.string(), schema).parse(await readJson(join(old, name))) : {};
    return new Map(Object.entries(lists));
  };
  return {
    sources: await read('sources', ADDITIONS.sources),
    quality: await read('quality', ADDITIONS.quality),
    twins: await read('twins', ADDITIONS.twins),
  };
}

/** The latest values of a provider in one part. */
const wholeLatest = (provider: string): string => latestFile(provider, 0);

async function splitLatest(
  duck: DuckSession,
  old: string,
  directory: string,
  providers: readonly string[],
): Promise<void> {
  await mkdir(join(directory, 'latest'), { recursive: true });
  for (const provider of providers) {
    const file = join(directory, wholeLatest(provider));
    await duck.run(SPLIT_LATEST, { all: join(old, LATEST), provider, file });
  }
}

const freshnessBody = z.object({ data: z.array(freshnessRecord) });
const freshnessOf = async (old: string) =>
  freshnessBody.parse(await readJson(join(old, ROUTE_FILES.freshness))).data;
