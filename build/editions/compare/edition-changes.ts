/** What changed since the served edition, for the log: compares the files of a build with it, and stores the result. */
import { join } from 'node:path';
import { syncFiles } from '../../../data/runtime/durable-files.ts';
import type { IndicatorAlias } from '../../../data/schema/curated.ts';
import { servedChain } from '../../../data/schema/editions.ts';
import {
  type EditionChanges,
  type EditionLineage,
  editionChanges,
  type FileList,
  type LogEntry,
  observationsFile,
  providerOf,
} from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { Published, SnapshotStorage } from '../snapshot-storage.ts';
import {
  compareEditions,
  countChanges,
  type EarlierFiles,
  type ObservationFile,
  revisionsFile,
} from './compare-editions.ts';

export interface FinishedBuild {
  /** Holds its files. */
  directory: string;
  kept: FileList;
  aliases: readonly IndicatorAlias[];
}

/** Compares a finished build with its base. @returns what changed, with the revisions stored as objects. */
export async function storeChanges(
  duck: DuckSession,
  storage: SnapshotStorage,
  base: Published,
  { directory, kept, aliases }: FinishedBuild,
): Promise<Omit<EditionLineage, 'base'>> {
  const withdrawals = await Withdrawals.read(storage, base.id);
  const changes = await compareEditions(duck, {
    base: observationFiles(base.kept, (name) => storage.pathOf(base.kept[name] ?? { sha256: '' })),
    next: observationFiles(kept, (name) => join(directory, name)),
    renames: new Map(aliases.map(({ old, new: now }) => [old, now])),
    earlier: (indicator) => withdrawals.of(namesOf(indicator, aliases)),
    directory,
  });
  const files = Object.fromEntries(
    Object.entries(changes.revised).map(([indicator, { file }]) => [revisionsFile(indicator), file]),
  );
  await syncFiles(Object.keys(files).map((name) => join(directory, name)));
  await storage.adopt(directory, files);
  return {
    changes: await storage.put(JSON.stringify(editionChanges.parse(changes))),
    changed: countChanges(changes),
  };
}

const namesOf = (indicator: string, aliases: readonly IndicatorAlias[]): string[] => [
  indicator,
  ...aliases.filter((alias) => alias.new === indicator).map(({ old }) => old),
];

const OBSERVATIONS = /^observations\/(.*)\.parquet$/;

function observationFiles(files: FileList, pathOf: (name: string) => string): Map<string, ObservationFile> {
  return new Map(
    Object.entries(files).flatMap(([name, { bytes, sha256 }]) => {
      const id = OBSERVATIONS.exec(name)?.[1];
      return id === undefined ? [] : [[id, { path: pathOf(name), bytes, sha256 }] as const];
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
      const changes = editionChanges.parse(JSON.parse(await storage.readText(entry.changes)));
      editions.push({ entry, changes });
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

  #base(id: string): Promise<Published> {
    const known = this.#bases.get(id) ?? this.#storage.open(id);
    this.#bases.set(id, known);
    return known;
  }

  async #add(paths: string[], ref: FileList[string] | undefined): Promise<void> {
    if (ref && (await this.#storage.has(ref))) paths.push(this.#storage.pathOf(ref));
  }
}
