/**
 * All editions, as the served one governs them. Editions other than the served one open when they are first asked for,
 * one at a time, and few stay open: they share what they have in common with the others (see `ParsedObjects`,
 * `ObservationCache`).
 */
import { readWithheld, WITHHELD, type WithheldRecord } from '../../../../data/runtime/withheld.ts';
import { publishedMs, servedChain } from '../../../../data/schema/editions.ts';
import type { LogEntry, RollbackRecord } from '../../../../data/schema/snapshot.ts';
import { QueueFull } from '../../core/errors.ts';
import { SnapshotDamaged } from '../files/manifest.ts';
import type { PublicationLogFile } from '../files/publication-log.ts';
import type { SharedParts } from '../files/shared-parts.ts';
import { SnapshotUnreadable } from '../files/snapshot-files.ts';
import { rowCounts } from '../files/whole-files.ts';
import { ClosedEdition } from './closed-edition.ts';
import type { Edition, EditionQuery, Editions } from './edition.ts';
import { EditionHistory } from './edition-history.ts';
import { type ServedEdition, TodaysTerms } from './todays-terms.ts';

/** Editions that stay open beside the served one. */
const OPEN_MAX = 4;
/** Editions that wait to be opened. */
const QUEUE_MAX = 64;

export class EditionStore implements Editions {
  readonly history: EditionHistory;
  readonly #served: ServedEdition;
  readonly #shared: SharedParts;
  readonly #today: TodaysTerms;
  /** In the order of their last use. */
  readonly #open = new Map<string, Promise<ClosedEdition>>();
  #opening: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #all: readonly LogEntry[] = [];
  #byId: ReadonlyMap<string, LogEntry> = new Map();
  #chain: readonly LogEntry[] = [];
  /** When those of the chain were published. */
  #published_ms: readonly number[] = [];

  constructor(served: ServedEdition, shared: SharedParts, log: readonly LogEntry[]) {
    this.#served = served;
    this.#shared = shared;
    this.#today = new TodaysTerms(served);
    this.history = new EditionHistory(shared, this.#today, () => this.#chain);
    this.update(log);
  }

  get signedLog(): PublicationLogFile {
    return this.#shared.signedLog;
  }

  get all(): readonly LogEntry[] {
    return this.#all;
  }

  get chain(): readonly LogEntry[] {
    return this.#chain;
  }

  get rollbacks(): readonly RollbackRecord[] {
    return this.signedLog.rollbacks;
  }

  withheld(): Promise<WithheldRecord> {
    return readWithheld(this.#shared.directory).catch((cause: unknown) => {
      throw new SnapshotUnreadable(`${WITHHELD} cannot be read`, { cause });
    });
  }

  /** Takes over a log that was extended. */
  update(log: readonly LogEntry[]): void {
    if (log === this.#all) return;
    this.#all = log;
    this.#byId = new Map(log.map((entry) => [entry.edition, entry]));
    this.#chain = servedChain(log, this.#served.id);
    this.#published_ms = this.#chain.map(publishedMs);
  }

  /** Closes all; they open again when they are asked for. */
  close(): void {
    this.#open.clear();
  }

  find(query: EditionQuery): LogEntry | undefined {
    if (this.#chain.length === 0) throw new SnapshotUnreadable('the log of editions cannot be read');
    if ('id' in query) return this.#byId.get(query.id);
    return this.#chain[this.#published_ms.findLastIndex((published_ms) => published_ms <= query.moment_ms)];
  }

  servedBody(file: string): Buffer | Promise<Buffer> {
    return this.#served.body(file);
  }

  servedRowCounts(): Promise<ReadonlyMap<string, number>> {
    return rowCounts(this.#served.files);
  }

  open({ edition: id }: Pick<LogEntry, 'edition'>): Edition | Promise<Edition> {
    if (id === this.#served.id) return this.#served;
    const open = this.#open.get(id) ?? this.#start(id);
    this.#open.delete(id);
    this.#open.set(id, open);
    const [eldest] = this.#open.keys();
    if (this.#open.size > OPEN_MAX && eldest !== undefined) this.#open.delete(eldest);
    return open;
  }

  #start(id: string): Promise<ClosedEdition> {
    const entry = this.#byId.get(id);
    if (entry === undefined) throw new Error(`the log has no ${id}`);
    if (this.#waiting >= QUEUE_MAX) throw new QueueFull(`${QUEUE_MAX} editions wait to be opened`);
    this.#waiting += 1;
    const opening = this.#opening
      .then(() => ClosedEdition.open(entry, this.#shared, this.#today))
      .catch((error: unknown) => {
        this.#open.delete(id);
        throw error instanceof SnapshotDamaged ? this.#unreadable(id, error) : error;
      })
      .finally(() => {
        this.#waiting -= 1;
      });
    this.#opening = opening.catch(() => {});
    return opening;
  }

  #unreadable(id: string, cause: SnapshotDamaged): SnapshotUnreadable {
    this.#shared.log.error({ snapshot: id, err: cause }, 'edition refused');
    return new SnapshotUnreadable(`edition ${id} cannot be read`, { cause });
  }
}
