/**
 * Compares an edition with the one served before it, and stores the result for the log: which indicators came, went or
 * were renamed or described otherwise, and which figures of the others were revised.
 *
 * A figure is a row with a value. A revision is a change of its value, bounds, status or `projected`; ranks follow from
 * other figures and do not count. `restored` is a figure that an earlier edition withdrew. An indicator that comes or
 * goes as a whole is listed and has no revisions: its figures of that edition are all added, or all withdrawn.
 */

import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { INTEGER, listValue, VARCHAR } from '@duckdb/node-api';
import { z } from 'zod';
import { hashFile, syncFiles, unpackJson } from '../../../data/runtime/durable-files.ts';
import { inBatches } from '../../../data/runtime/in-parallel.ts';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import type { IndicatorAlias } from '../../../data/schema/curated.ts';
import { servedChain } from '../../../data/schema/editions.ts';
import { type Redefinition, redefinitionOf } from '../../../data/schema/records.ts';
import {
  catalogueFile,
  type EditionChanges,
  type EditionLineage,
  editionChanges,
  type FileList,
  type LogEntry,
  observationsFile,
  observedIndicators,
  providerCatalogue,
  providerOf,
} from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { Published, SnapshotStorage } from '../snapshot-storage.ts';

const sql = sqlOf(import.meta.url);

export interface FinishedBuild {
  /** Holds its files. */
  directory: string;
  kept: FileList;
  aliases: readonly IndicatorAlias[];
}

/** Compares a finished build with its base, if any. @returns what changed, with the revisions stored as objects. */
export async function storeChanges(
  duck: DuckSession,
  storage: SnapshotStorage,
  base: Published | null,
  build: FinishedBuild,
): Promise<Omit<EditionLineage, 'base'>> {
  const { directory, kept, aliases } = build;
  if (base === null) return { changes: null, changed: {} };
  const withdrawals = await Withdrawals.read(storage, base.id);
  const changes = await compareEditions(duck, {
    base: observationFiles(base.kept, (name) => storage.pathOf(base.kept[name] ?? { sha256: '' })),
    next: observationFiles(kept, (name) => join(directory, name)),
    renames: new Map(aliases.map(({ old, new: now }) => [old, now])),
    earlier: (indicator) => withdrawals.of(namesOf(indicator, aliases)),
    directory,
  });
  const redefined = await findRedefined(storage, base, build, changes, withdrawals);
  const files = Object.fromEntries(
    Object.entries(changes.revised).map(([indicator, { file }]) => [revisionsFile(indicator), file]),
  );
  await syncFiles(Object.keys(files).map((name) => join(directory, name)));
  await storage.adopt(directory, files);
  return {
    changes: await storage.put(JSON.stringify(editionChanges.parse({ ...changes, redefined }))),
    changed: countChanges({ ...changes, redefined }),
  };
}

const namesOf = (indicator: string, aliases: readonly IndicatorAlias[]): string[] => [
  indicator,
  ...aliases.filter((alias) => alias.new === indicator).map(({ old }) => old),
];

const CATALOGUE = /^catalogue\/(.*)\.json$/;

function observationFiles(files: FileList, pathOf: (name: string) => string): Map<string, ObservationFile> {
  return new Map(
    observedIndicators(files).map((id) => {
      const name = observationsFile(id);
      const { bytes = 0, sha256 = '' } = files[name] ?? {};
      return [id, { path: pathOf(name), bytes, sha256 }];
    }),
  );
}

/** Figures and indicators that the served editions withdrew. What no longer has files is left out. */
class Withdrawals {
  readonly #storage: SnapshotStorage;
  readonly #editions: readonly { entry: LogEntry; changes: EditionChanges }[];
  readonly #bases = new Map<string, Promise<Published>>();

  private constructor(storage: SnapshotStorage, editions: { entry: LogEntry; changes: EditionChanges }[]) {
    this.#storage = storage;
    this.#editions = editions;
  }

  /** @param served the id of the newest edition to look at. */
  static async read(storage: SnapshotStorage, served: string): Promise<Withdrawals> {
    const editions: { entry: LogEntry; changes: EditionChanges }[] = [];
    for (const entry of servedChain((await storage.log()).editions, served)) {
      if (entry.changes === null) continue;
      editions.push({ entry, changes: await storage.readChanges(entry.changes) });
    }
    return new Withdrawals(storage, editions);
  }

  /** @param names all ids of one indicator. */
  async of(names: readonly string[]): Promise<EarlierFiles> {
    const found: EarlierFiles = { revisions: [], observations: [] };
    const providers = new Set(names.map(providerOf));
    for (const { entry, changes } of this.#editions) {
      if (![...providers].some((provider) => entry.changed[provider] !== undefined)) continue;
      for (const name of names) {
        const revised = changes.revised[name];
        if (revised && revised.withdrawn > 0) await this.#add(found.revisions, revised.file);
        if (entry.base !== null && changes.withdrawn.includes(name)) {
          const { kept } = await this.#base(entry.base);
          await this.#add(found.observations, kept[observationsFile(name)]);
        }
      }
    }
    return found;
  }

  /** The newest edition that had an indicator which was withdrawn since. @param names all its ids. */
  async lastWith(names: readonly string[]): Promise<{ edition: Published; id: string } | null> {
    for (const { entry, changes } of this.#editions.toReversed()) {
      const id = names.find((name) => changes.withdrawn.includes(name));
      if (id !== undefined && entry.base !== null) return { edition: await this.#base(entry.base), id };
    }
    return null;
  }

  #base(id: string): Promise<Published> {
    const known = this.#bases.get(id) ?? this.#storage.open(id);
    this.#bases.set(id, known);
    return known;
  }

  async #add(paths: string[], ref: FileList[string] | undefined): Promise<void> {
    if (ref && (await this.#storage.has(ref))) paths.push(this.#storage.pathOf(ref));
  }
}

/** Compressed observations per batch, about a million rows. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** The observations of one indicator in one edition. */
export interface ObservationFile {
  path: string;
  bytes: number;
  sha256: string;
}

/** Files that tell which figures of an indicator earlier editions withdrew. */
export interface EarlierFiles {
  /** Its revisions in earlier editions. */
  revisions: string[];
  /** Its last observations before each time that it was withdrawn as a whole. */
  observations: string[];
}

export interface ComparedEditions {
  /** By indicator id. */
  base: ReadonlyMap<string, ObservationFile>;
  next: ReadonlyMap<string, ObservationFile>;
  /** New ids by old id. */
  renames: ReadonlyMap<string, string>;
  /** Asked for indicators with different files; under all ids that the indicator has had. */
  earlier(indicator: string): Promise<EarlierFiles>;
  /** Receives the revisions as `revisionsFile` names them. */
  directory: string;
}

/** The revisions of an indicator while an edition is built. */
const revisionsFile = (indicator: string): string => `revisions/${indicator}.parquet`;

/** An indicator that both editions have, with different files. */
interface ComparedSeries {
  number: number;
  indicator: string;
  base: ObservationFile;
  next: ObservationFile;
}

/** Writes the revisions of each indicator that has any. @returns what changed, with the hashes of these files. */
export async function compareEditions(
  duck: DuckSession,
  { base, next, renames, earlier, directory }: ComparedEditions,
): Promise<Omit<EditionChanges, 'redefined'>> {
  const renamed = findRenamed(base, next, renames);
  const oldIds = new Map(renamed.map(({ from, to }) => [to, from]));
  const continued = new Set(oldIds.values());
  const series = [...next.keys()].sort().flatMap((indicator): Omit<ComparedSeries, 'number'>[] => {
    const [before, after] = [base.get(oldIds.get(indicator) ?? indicator), next.get(indicator)];
    return before && after && before.sha256 !== after.sha256
      ? [{ indicator, base: before, next: after }]
      : [];
  });
  const numbered = series.map((one, number) => ({ ...one, number }));
  await fillTables(duck, numbered, earlier);
  await mkdir(join(directory, 'revisions'), { recursive: true });
  const revised: EditionChanges['revised'] = {};
  for (const batch of inBatches(numbered, BATCH_BYTES, (one) => one.base.bytes + one.next.bytes))
    Object.assign(revised, await writeBatch(duck, directory, batch));
  return {
    added: [...next.keys()].filter((id) => !base.has(id) && !oldIds.has(id)).sort(),
    withdrawn: [...base.keys()].filter((id) => !next.has(id) && !continued.has(id)).sort(),
    renamed,
    revised,
  };
}

/** The series that continue under a new id, by the new id. If several old ids have one, the first listed continues. */
function findRenamed(
  base: ComparedEditions['base'],
  next: ComparedEditions['next'],
  renames: ReadonlyMap<string, string>,
): EditionChanges['renamed'] {
  const found = new Map<string, string>();
  for (const [from, to] of renames) {
    const isContinued = base.has(from) && !next.has(from) && next.has(to) && !base.has(to);
    if (isContinued && !found.has(to)) found.set(to, from);
  }
  return [...found].map(([to, from]) => ({ from, to })).sort((a, b) => (a.to < b.to ? -1 : 1));
}

async function fillTables(
  duck: DuckSession,
  series: readonly ComparedSeries[],
  earlier: ComparedEditions['earlier'],
): Promise<void> {
  await duck.run(sql('compared-tables'));
  const files = series.map(({ number, base, next }) => [number, base.path, next.path]);
  await duck.fill('compared', [INTEGER, VARCHAR, VARCHAR], files);
  const revisions: [number: number, file: string][] = [];
  const observations: [number: number, file: string][] = [];
  for (const { number, indicator } of series) {
    const found = await earlier(indicator);
    for (const file of found.revisions) revisions.push([number, file]);
    for (const file of found.observations) observations.push([number, file]);
  }
  await duck.fill('earlier_files', [INTEGER, VARCHAR], [...revisions, ...observations]);
  const filesOf = (found: readonly [number, string][]) => distinct(found.map(([, file]) => file));
  if (revisions.length > 0) await duck.run(sql('withdrawn-figures'), { files: filesOf(revisions) });
  if (observations.length > 0) await duck.run(sql('withdrawn-series'), { files: filesOf(observations) });
}

/** Series with equal rows share a file, which a statement must read once. */
const distinct = (paths: readonly string[]) => listValue([...new Set(paths)]);

const countsRow = z.object({
  number: z.int(),
  added: z.int(),
  changed: z.int(),
  withdrawn: z.int(),
  restored: z.int(),
});

async function writeBatch(
  duck: DuckSession,
  directory: string,
  batch: readonly ComparedSeries[],
): Promise<EditionChanges['revised']> {
  const indicators = new Map(batch.map(({ number, indicator }) => [number, indicator]));
  await duck.run(sql('revision-batch'), {
    base: distinct(batch.map(({ base }) => base.path)),
    next: distinct(batch.map(({ next }) => next.path)),
    numbers: listValue([...indicators.keys()]),
  });
  const revised: EditionChanges['revised'] = {};
  for (const { number, ...counts } of await duck.select(countsRow, sql('count-revisions'))) {
    const indicator = indicators.get(number) ?? '';
    const file = join(directory, revisionsFile(indicator));
    await duck.run(sql('write-revisions'), { number, file });
    revised[indicator] = { ...counts, file: await hashFile(file) };
  }
  return revised;
}

/** The numbers of changed indicators by provider. */
export function countChanges({ revised, ...changes }: EditionChanges): LogEntry['changed'] {
  const counts: LogEntry['changed'] = {};
  const ids = {
    added: changes.added,
    withdrawn: changes.withdrawn,
    renamed: changes.renamed.map(({ to }) => to),
    revised: Object.keys(revised),
    redefined: changes.redefined.map(({ indicator }) => indicator),
  };
  for (const [what, own] of Object.entries(ids) as [keyof typeof ids, readonly string[]][])
    for (const provider of own.map(providerOf)) {
      counts[provider] ??= { added: 0, withdrawn: 0, renamed: 0, revised: 0, redefined: 0 };
      counts[provider][what] += 1;
    }
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
}

type Catalogue = ReadonlyMap<string, Parameters<typeof redefinitionOf>[0]>;

/**
 * Which indicators a build describes otherwise than its base, by id. One that comes back is compared with what it was when
 * it went.
 */
async function findRedefined(
  storage: SnapshotStorage,
  base: Published,
  { directory, kept, aliases }: FinishedBuild,
  changes: Pick<EditionChanges, 'added' | 'renamed'>,
  withdrawals: Withdrawals,
): Promise<Redefinition[]> {
  const oldIds = new Map(changes.renamed.map(({ from, to }) => [to, from]));
  const published = publishedCatalogues(storage);
  const found: Redefinition[] = [];
  for (const provider of new Set(Object.keys(kept).flatMap((name) => CATALOGUE.exec(name)?.[1] ?? []))) {
    const file = catalogueFile(provider);
    if (base.kept[file]?.sha256 === kept[file]?.sha256) continue;
    const now = parseCatalogue(unpackJson(await readFile(join(directory, file))));
    for (const [id, record] of now) {
      const last = changes.added.includes(id)
        ? await withdrawals.lastWith(namesOf(id, aliases))
        : { edition: base, id: oldIds.get(id) ?? id };
      const before = last && (await published(last.edition, providerOf(last.id))).get(last.id);
      const redefinition = before && redefinitionOf(before, record);
      if (redefinition) found.push(redefinition);
    }
  }
  return found.sort((a, b) => (a.indicator < b.indicator ? -1 : 1));
}

function parseCatalogue(text: string): Catalogue {
  return new Map(providerCatalogue.parse(JSON.parse(text)).map(({ record }) => [record.id, record]));
}

/** Reads each catalogue once. */
function publishedCatalogues(storage: SnapshotStorage) {
  const read = new Map<string, Promise<Catalogue>>();
  return ({ kept }: Published, provider: string): Promise<Catalogue> => {
    const ref = kept[catalogueFile(provider)];
    if (ref === undefined) return Promise.resolve(new Map());
    const known = read.get(ref.sha256) ?? storage.readText(ref).then(parseCatalogue);
    read.set(ref.sha256, known);
    return known;
  };
}
