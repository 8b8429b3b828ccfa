/**
 * Deletes published series where law demands it.
 *
 * First the decision is recorded, which no later build publishes against; then a snapshot without the series is published;
 * then its figures are deleted from all others: its own files, its rows and members of files that it shares with other
 * series, its revisions, and the prerendered files of snapshots that had it. An object that another series has, too, stays.
 * What is read in place of the deleted is recorded before anything is removed, so an interrupted run is repeated.
 */
import { hash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { hashFile, packJson, syncFiles } from '../../data/runtime/durable-files.ts';
import { withLock } from '../../data/runtime/file-lock.ts';
import { sqlOf } from '../../data/runtime/sql-files.ts';
import { isWithheld, type WithheldRecord } from '../../data/runtime/withheld.ts';
import { storedGroups } from '../../data/schema/groups.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import {
  ADDITION_WORDS,
  type FileRef,
  LATEST_FOLDER,
  observedIndicators,
} from '../../data/schema/snapshot.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { CommandError } from '../runtime/errors.ts';
import type { LogSigner } from './log-signer.ts';
import { findGarbage, removeObjects } from './retention.ts';
import type { SnapshotStorage } from './snapshot-storage.ts';
import { firstNamed } from './verify.ts';

const sql = sqlOf(import.meta.url);
const MEMORY_MB = 256;
const OBSERVATIONS = /^observations\/(.*)\.parquet$/;
const GROUP_FIGURES = /^groups\/(.*)\.json$/;
const LISTS_BY_ID = new RegExp(`^(relations|${ADDITION_WORDS.join('|')})/`);

/** Where series are withheld. */
export interface Withholding {
  storage: SnapshotStorage;
  signer: LogSigner;
  now_ms: number;
}

/** Records the decision. @throws {CommandError} when no snapshot has such a series. */
export async function decideToWithhold(
  { storage, signer, now_ms }: Withholding,
  subject: string,
  reason: string,
): Promise<void> {
  await withLock(storage.lockFile, 'the snapshot', {}, async () => {
    const record = await storage.withheld();
    if (record.decisions.some((decision) => decision.subject === subject)) return;
    const decision = { subject, reason, withheld_at: formatTimestamp(now_ms) };
    const decided = { ...record, decisions: [...record.decisions, decision] };
    const published = await publishedSeries(storage);
    if (![...published].some((id) => isWithheld({ ...record, decisions: [decision] }, id)))
      throw new CommandError(`no snapshot has a series of ${subject}`);
    await signer.writeWithheld(decided, now_ms);
  });
}

async function publishedSeries(storage: SnapshotStorage): Promise<Set<string>> {
  const ids: string[] = [];
  for (const edition of await storage.ids())
    ids.push(...observedIndicators((await storage.open(edition)).kept));
  return new Set(ids);
}

export interface Deletion {
  /** Snapshots that had one of the series. */
  snapshots: string[];
  objects: number;
  bytes: number;
}

/**
 * Deletes what is decided to be withheld from all snapshots, and everything else that nothing needs: an earlier run may
 * have left redacted copies.
 * @throws {CommandError} while the served snapshot has a withheld series.
 */
export async function deleteWithheld(
  { storage, signer, now_ms }: Withholding,
  keep: number,
): Promise<Deletion> {
  return withLock(storage.lockFile, 'the snapshot', {}, async () => {
    await storage.clean();
    return storage.whilePointerStays(async () => {
      const record = await storage.withheld();
      const served = await storage.current();
      const still = served && observedIndicators(served.kept).find((id) => isWithheld(record, id));
      if (still)
        throw new CommandError(`${still} is still in the served snapshot: build one without it first`);
      const directory = await storage.begin();
      const duck = await DuckSession.open({ scratch: join(directory, '.scratch'), memoryMb: MEMORY_MB });
      try {
        const redacted = await new Redaction(storage, record, duck, directory).run();
        await signer.writeWithheld(redacted, now_ms);
      } finally {
        await duck.close();
        await rm(directory, { recursive: true, force: true });
      }
      const garbage = await findGarbage(storage, keep);
      await removeObjects(storage, garbage.objects);
      const { tombstones } = await storage.withheld();
      const snapshots = [...new Set(tombstones.map(({ snapshot }) => snapshot))].sort();
      return { snapshots, objects: garbage.objects.length, bytes: garbage.bytes };
    });
  });
}

/** Writes lists without the withheld series. */
class Redaction {
  readonly #storage: SnapshotStorage;
  readonly #record: WithheldRecord;
  readonly #duck: DuckSession;
  readonly #directory: string;
  #ids: ReadonlySet<string> = new Set();
  /** By the hash of what is redacted; shared by snapshots. */
  readonly #done = new Map<string, FileRef>();

  constructor(storage: SnapshotStorage, record: WithheldRecord, duck: DuckSession, directory: string) {
    this.#storage = storage;
    this.#record = record;
    this.#duck = duck;
    this.#directory = directory;
  }

  async run(): Promise<WithheldRecord> {
    const { decisions, tombstones, lists } = this.#record;
    const known = new Set(tombstones.map(({ indicator }) => indicator));
    const all = [...(await publishedSeries(this.#storage)), ...known];
    this.#ids = new Set(all.filter((id) => isWithheld(this.#record, id)));
    const result: WithheldRecord = { decisions, tombstones: [...tombstones], lists: { ...lists } };
    for (const snapshot of await this.#storage.ids()) {
      const published = await this.#storage.publishedManifest(snapshot);
      const { kept } = await this.#storage.open(snapshot);
      const gone = observedIndicators(kept).filter((id) => this.#ids.has(id));
      result.tombstones.push(...gone.map((indicator) => ({ snapshot, indicator })));
      for (const { sha256, bytes } of Object.values(published.providers)) {
        const list = lists[sha256] ?? { sha256, bytes };
        const redacted = await this.#list(list);
        if (redacted.sha256 !== list.sha256) result.lists[sha256] = redacted;
      }
    }
    return result;
  }

  async #list(ref: FileRef): Promise<FileRef> {
    const known = this.#done.get(ref.sha256);
    if (known) return known;
    const files: [string, FileRef][] = [];
    for (const [name, file] of Object.entries(await this.#storage.readList(ref))) {
      const redacted = await this.#file(name, file);
      if (redacted) files.push([name, redacted]);
    }
    const text = JSON.stringify(Object.fromEntries(files));
    const isSame = hash('sha256', text) === ref.sha256;
    const redacted = isSame ? ref : await this.#storage.put(text);
    this.#done.set(ref.sha256, redacted);
    return redacted;
  }

  /** The file without the withheld series; null when it is theirs. */
  async #file(name: string, ref: FileRef): Promise<FileRef | null> {
    const id = OBSERVATIONS.exec(name)?.[1];
    if (id !== undefined) return this.#ids.has(id) ? null : ref;
    if (name.startsWith(LATEST_FOLDER)) return this.#latest(ref);
    if (GROUP_FIGURES.test(name)) return this.#groupFigures(name, ref);
    if (/^(catalogue|terms)\//.test(name)) return this.#json(ref, (lists) => this.#withoutRecords(lists));
    return LISTS_BY_ID.test(name) ? this.#json(ref, (lists) => this.#withoutMentions(lists)) : ref;
  }

  /** Figures of groups are those of their members, and of the series that weighs them. */
  async #groupFigures(name: string, ref: FileRef): Promise<FileRef | null> {
    const { divisor } = storedGroups.parse(JSON.parse(await this.#storage.readText(ref)));
    const ids = [GROUP_FIGURES.exec(name)?.[1] ?? '', divisor ?? ''];
    return ids.some((id) => this.#ids.has(id)) ? null : ref;
  }

  #withoutRecords(records: unknown): unknown {
    const idOf = (one: { id?: string; record?: { id: string } }): string => one.record?.id ?? one.id ?? '';
    return Array.isArray(records) ? records.filter((one) => !this.#ids.has(idOf(one))) : records;
  }

  /** Lists by indicator id: no list of a withheld series, and no entry that names one. */
  #withoutMentions(lists: unknown): unknown {
    const kept = Object.entries(lists as Record<string, unknown[]>).flatMap(([id, list]) => {
      if (this.#ids.has(id)) return [];
      const entries = list.filter((entry) => firstNamed(JSON.stringify(entry), this.#ids) === undefined);
      return entries.length === 0 && list.length > 0 ? [] : [[id, entries] as const];
    });
    return Object.fromEntries(kept);
  }

  async #json(ref: FileRef, redact: (content: unknown) => unknown): Promise<FileRef> {
    const text = await this.#storage.readText(ref);
    const redacted = JSON.stringify(redact(JSON.parse(text)));
    return redacted === text ? ref : this.#storage.put(await packJson(redacted));
  }

  async #latest(ref: FileRef): Promise<FileRef> {
    const ids = listValue([...this.#ids]);
    const from = this.#storage.pathOf(ref);
    const [held] = await this.#duck.rows(sql('count-withheld'), { from, ids });
    if (held?.n === 0) return ref;
    await mkdir(this.#directory, { recursive: true });
    const file = join(this.#directory, ref.sha256);
    await this.#duck.run(sql('redact-latest'), { from, ids, file });
    await syncFiles([file]);
    const redacted = await hashFile(file);
    await this.#storage.adopt(this.#directory, { [ref.sha256]: redacted });
    return redacted;
  }
}
