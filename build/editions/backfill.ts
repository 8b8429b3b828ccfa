/**
 * Makes editions of what the lake held before the first publication: one for each night on which a provider had a new
 * good run. They are ordinary builds in a scratch directory, from a lake as it stood, with the curated data of today. One
 * replacement of the log publishes them all, so a crash leaves nothing but objects that nothing names.
 */
import { link, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { moveFiles } from '../../data/runtime/durable-files.ts';
import { withLock } from '../../data/runtime/file-lock.ts';
import {
  type EditionLineage,
  editionLineage,
  type FileRef,
  type LogEntry,
  type Manifest,
} from '../../data/schema/snapshot.ts';
import { LostRunError, PastLake, type PastNight } from '../lake/lake.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { CommandError } from '../runtime/errors.ts';
import { type BuildDependencies, buildSnapshot, NothingToPublish } from './build-snapshot.ts';
import { storeChanges } from './compare/compare-editions.ts';
import { LogSigner } from './log-signer.ts';
import { withoutWithheld } from './plan/licensing.ts';
import { SnapshotStorage } from './snapshot-storage.ts';

/** Removed by the next build when a crash leaves it. */
const SCRATCH = '.building-backfill';

export interface BackfillSummary {
  /** The editions that were added, oldest first. */
  editions: string[];
  /** Series that were left out of some of them: no catalogue in the lake describes them any more. */
  left_out: string[];
  /** Why there is no edition of a night, as sentences. */
  lost: string[];
}

/**
 * Adds the editions that are missing before the first one. Repeating it adds nothing.
 * @throws {CommandError} before the first publication; {LockHeldError} when a build is running.
 */
export async function backfill(dependencies: BuildDependencies): Promise<BackfillSummary> {
  const storage = new SnapshotStorage(dependencies.settings.SNAPSHOT_DIR);
  const { waitForOther_ms: wait_ms, signal } = dependencies;
  return withLock(storage.lockFile, 'the snapshot', { wait_ms, signal }, async (lock) => {
    const scratch = join(storage.directory, SCRATCH);
    try {
      await storage.clean();
      const curated = withoutWithheld(dependencies.curated, await storage.withheld());
      return await new Backfill({ ...dependencies, curated, signal: lock.signal }, storage, scratch).run();
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });
}

class Backfill {
  readonly #deps: BuildDependencies;
  readonly #storage: SnapshotStorage;
  readonly #scratch: SnapshotStorage;
  readonly #lakeDir: string;
  readonly #signer: LogSigner;

  constructor(deps: BuildDependencies, storage: SnapshotStorage, scratch: string) {
    this.#deps = deps;
    this.#storage = storage;
    this.#scratch = new SnapshotStorage(join(scratch, 'snapshots'));
    this.#lakeDir = join(scratch, 'lake');
    this.#signer = new LogSigner(deps.settings, storage);
  }

  async run(): Promise<BackfillSummary> {
    const { settings, curated } = this.#deps;
    await this.#signer.recover();
    const { editions } = await this.#storage.log();
    const [first] = editions.toSorted((a, b) => (a.published_at < b.published_at ? -1 : 1));
    if (!first) throw new CommandError('nothing is published yet: run materialise first');
    const lake = await PastLake.open(settings.LAKE_DIR, curated, this.#lakeDir);
    const summary: BackfillSummary = { editions: [], left_out: [], lost: [] };
    for (const night of lake.nightsBefore(first.published_at.slice(0, 10))) {
      this.#deps.signal?.throwIfAborted();
      await this.#buildNight(lake, night, summary);
    }
    const { editions: made } = await this.#scratch.log();
    const newest = made.at(-1);
    if (newest) await this.#publish(made, newest, first);
    summary.editions = made.map(({ edition }) => edition);
    summary.left_out = [...new Set(summary.left_out)].sort();
    return summary;
  }

  async #buildNight(lake: PastLake, night: PastNight, summary: BackfillSummary): Promise<void> {
    const { curated, log, overrides, signal } = this.#deps;
    try {
      summary.left_out.push(...(await lake.advance(night)));
      await buildSnapshot({
        settings: {
          LAKE_DIR: this.#lakeDir,
          SNAPSHOT_DIR: this.#scratch.directory,
          SNAPSHOT_KEEP: 1,
          SIGNING_DIR: join(this.#lakeDir, '..', 'signing'),
        },
        curated,
        log,
        now: () => night.ended_ms,
        ...(overrides && { overrides }),
        ...(signal && { signal }),
      });
    } catch (error) {
      if (error instanceof NothingToPublish) return;
      if (!(error instanceof LostRunError)) throw error;
      summary.lost.push(error.message);
    }
  }

  /** Takes over the objects and the manifests, then enters all in the log at once. */
  async #publish(made: readonly LogEntry[], newest: LogEntry, first: LogEntry): Promise<void> {
    const changes = await this.#compare(newest.edition, first.edition);
    await this.#adoptChanges(changes.changes);
    const successor = { edition: first.edition, ...changes };
    const added: LogEntry[] = [];
    for (const entry of made) added.push(await this.#takeOver(entry, entry === newest ? { successor } : {}));
    await this.#storage.whilePointerStays(async () => {
      const { editions } = await this.#storage.log();
      const linked = editions.map((entry) =>
        entry.edition === first.edition ? { ...entry, base: newest.edition, ...changes } : entry,
      );
      await this.#signer.commit([...linked, ...added]);
    });
  }

  /** Takes over the objects and the manifest of an edition, marked as backfilled. @returns its entry in the log. */
  async #takeOver(entry: LogEntry, more: Pick<Manifest, 'successor'>): Promise<LogEntry> {
    const { manifest, kept } = await this.#scratch.open(entry.edition);
    await this.#adopt([...Object.values(manifest.providers), ...Object.values(kept)]);
    await this.#adoptChanges(entry.changes);
    const lineage = { ...editionLineage.parse(entry), backfilled: true as const };
    const hash = await this.#storage.putManifest({ ...manifest, lineage, ...more });
    return { ...entry, ...lineage, manifest: hash };
  }

  /** What the first publication changed against the night before it. */
  async #compare(base: string, first: string): Promise<Omit<EditionLineage, 'base'>> {
    const directory = join(this.#lakeDir, '..', 'first');
    const { kept } = await this.#storage.open(first);
    await this.#storage.show(kept, directory);
    await using duck = await DuckSession.open({ scratch: join(directory, '.scratch') });
    const { aliases } = this.#deps.curated;
    const published = await this.#scratch.open(base);
    return await storeChanges(duck, this.#scratch, published, { directory, kept, aliases });
  }

  /** Takes over what changed in an edition, and the figures. */
  async #adoptChanges(ref: FileRef | null): Promise<void> {
    if (ref === null) return;
    const { revised } = await this.#scratch.readChanges(ref);
    await this.#adopt([ref, ...Object.values(revised).map(({ file }) => file)]);
  }

  async #adopt(refs: readonly FileRef[]): Promise<void> {
    const files = refs.map((ref) => [this.#scratch.pathOf(ref), this.#storage.pathOf(ref)] as const);
    await moveFiles(files, (from, to) => link(from, to).catch(whenPresent));
  }
}

function whenPresent(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
