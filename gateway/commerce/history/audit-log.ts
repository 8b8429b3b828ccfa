/**
 * The audit log: who changed what and when, with the state before and after. Append-only.
 *
 * Every change is audited. A pending entry is written before the change and replaced by the final entry after it, in
 * one step. If the process dies in between, `recoverPending` turns the pending entry into one that says that the
 * change was not confirmed. Each gateway's sweep calls it, and so does the audit page.
 *
 * A change that may be sent twice (an adjustment with an `idem`) names its entry, which is then written once.
 */
import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../../data/runtime/redis-scripts.ts';

import { auditArchivedThrough } from '../../../data/schema/archive.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { AccountError, guarded, throwUnavailable } from '../store/store.ts';
import type { Archive } from './archive.ts';
import {
  type ArchivedEntry,
  type Gap,
  LAST_STREAM_ID,
  NO_ARCHIVE,
  type PageOf,
  type PageQuery,
  parseStreamId,
  readAllPages,
  readLive,
} from './entries.ts';

const AUDIT = readScript(import.meta.url, 'lua/audit.lua', 4);
/** Longer than any change takes: the process of an older pending entry is gone. */
export const PENDING_TIMEOUT_MS = 60_000;
const MAX_PAGE = 1_000;
const READ_BATCH = 500;
/** `after.outcome` of a change that was perhaps made. */
const NOT_CONFIRMED = 'not confirmed: the process ended during the change';

export type AuditFacts = Readonly<Record<string, string | number | boolean | null>>;

export interface AuditedChange {
  /** E-mail address of the operator, a person's subject, or `command line`. */
  by: string;
  /** Such as `account.suspend`. */
  action: string;
  /** What was changed: `account acc_…`, `order ord_…`, `indicator x.y`. */
  subject: string;
  before: AuditFacts;
  after: AuditFacts;
  reason: string;
  request_id: string;
}

/** A change as it is asked for: what is absent is empty. */
export type AskedChange = Pick<AuditedChange, 'by' | 'action' | 'subject'> & Partial<AuditedChange>;

const EMPTY = { before: {}, after: {}, reason: '', request_id: '' } as const;

export interface AuditEntry extends AuditedChange {
  id: string;
  at_ms: number;
}

export interface AuditQuery extends PageQuery {
  /** Default: all subjects. */
  subject?: string | undefined;
}

export type AuditPage = PageOf<AuditEntry>;

/** Fields of the final entry that are known only after the change. */
export type AuditOutcome = Partial<Pick<AuditedChange, 'action' | 'before' | 'after' | 'subject'>>;

interface PendingEntry {
  at_ms: number;
  change: AuditedChange;
}

interface WriteOptions {
  at_ms: number;
  name: string | null;
  /** Id of the pending entry to replace. */
  pending: string | null;
}

/** The subject of an account's changes. */
export const accountSubject = (account_id: string): string => `account ${account_id}`;

/** The subject of a person's changes, and their author. */
export const personSubject = (person_id: string): string => `person ${person_id}`;

/** Whether the error proves that nothing was changed. */
const isRejection = (error: unknown): boolean =>
  error instanceof AccountError && error.code !== 'unavailable';

export class AuditLog {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #now: () => number;
  readonly #archive: Archive | null;

  /** @param archive older entries; without it pages report a gap. */
  constructor(redis: RedisClient, now: () => number, archive: Archive | null = null) {
    this.#redis = guarded(redis);
    this.#runner = new ScriptRunner(redis);
    this.#now = now;
    this.#archive = archive;
  }

  /** Records a change that was already made. @param name makes the entry idempotent. */
  async record(change: AskedChange, name: string | null = null): Promise<void> {
    await this.#write({ ...EMPTY, ...change }, { at_ms: this.#now(), name, pending: null });
  }

  /**
   * Makes a change and audits it.
   * @param asked the entry as far as it is known before; `after` is the intended state.
   * @param work makes the change. If it throws an `AccountError` other than `unavailable`, there is no entry.
   * @param describe completes the entry from the result; null if nothing was changed, then there is no entry. Default: as it
   *   was asked for.
   * @param name makes the entry idempotent.
   */
  async attempt<Result>(
    asked: AskedChange,
    work: () => Promise<Result>,
    describe: (result: Result) => AuditOutcome | null = () => ({}),
    name: string | null = null,
  ): Promise<Result> {
    const change = { ...EMPTY, ...asked };
    const pending = randomUUID();
    const entry: PendingEntry = { at_ms: this.#now(), change };
    await this.#redis.hset(redisKeys.auditBegun, pending, JSON.stringify(entry));
    let outcome: AuditOutcome | null = null;
    let result: Result;
    try {
      result = await work();
      outcome = describe(result);
    } catch (error) {
      if (isRejection(error)) await this.#deletePending(pending);
      throw error;
    }
    if (outcome === null) await this.#deletePending(pending);
    else {
      const options = { at_ms: this.#now(), name, pending };
      await this.#write({ ...change, ...outcome }, options).catch(throwUnavailable);
    }
    return result;
  }

  /** Writes final entries for pending ones whose process died. */
  async recoverPending(): Promise<void> {
    const all = await this.#redis.hgetall(redisKeys.auditBegun);
    for (const [pending, text] of Object.entries(all)) {
      const { at_ms, change }: PendingEntry = JSON.parse(text);
      if (this.#now() - at_ms < PENDING_TIMEOUT_MS) continue;
      const after = { ...change.after, outcome: NOT_CONFIRMED };
      await this.#write({ ...change, after }, { at_ms, name: null, pending });
    }
  }

  /** A failure is harmless: the entry that remains says that the change was not confirmed. */
  async #deletePending(pending: string): Promise<void> {
    await this.#redis.hdel(redisKeys.auditBegun, pending).catch(() => {});
  }

  /** Idempotent if there is a name or a pending entry. */
  async #write(change: AuditedChange, { at_ms, name, pending }: WriteOptions): Promise<void> {
    const { by, action, subject, before, after, reason, request_id } = change;
    const values = [
      redisKeys.audit,
      redisKeys.auditOf(subject),
      redisKeys.auditOnce(name ?? ''),
      redisKeys.auditBegun,
      ...[name === null ? '0' : '1', pending ?? ''],
      ...['at_ms', at_ms, 'by', by, 'action', action, 'subject', subject],
      ...['before', JSON.stringify(before), 'after', JSON.stringify(after)],
      ...['reason', reason, 'request', request_id],
    ];
    if (name === null && pending === null) await this.#runner.run(AUDIT, values);
    else await this.#runner.runIdempotent(AUDIT, values);
  }

  /** Newest first, archive included. */
  async page({ subject, limit = 50, before }: AuditQuery): Promise<AuditPage> {
    const wanted = Math.min(limit, MAX_PAGE);
    const keys = {
      stream: subject === undefined ? redisKeys.audit : redisKeys.auditOf(subject),
      archivedThrough: redisKeys.auditArchivedThrough,
    };
    const { archivedThrough: hash, live } = await readLive(this.#redis, keys, { limit: wanted, before });
    if (!hash) return { entries: live.map(entryFrom), gap: null };
    const archivedThrough = auditArchivedThrough.parse(hash);
    // The stream of a subject may be trimmed later than the log.
    const end = parseStreamId(archivedThrough.through);
    const newer = live.filter(({ id }) => parseStreamId(id) > end);
    if (newer.length === wanted) return { entries: newer.map(entryFrom), gap: null };
    if (!this.#archive) return { entries: newer.map(entryFrom), gap: NO_ARCHIVE };
    const { entries, gap } = await this.#archive.auditPage({
      archivedThrough,
      subject: subject ?? null,
      before: before === undefined ? LAST_STREAM_ID : parseStreamId(before),
      limit: wanted - newer.length,
    });
    return { entries: [...newer, ...entries].map(entryFrom), gap };
  }

  /** The entries of a page. @throws {AccountError} `archive_damaged` if some of them cannot be read. */
  async list(query: AuditQuery = {}): Promise<AuditEntry[]> {
    const { entries, gap } = await this.page(query);
    if (gap) throw new AccountError('archive_damaged', gap.message);
    return entries;
  }

  /** All entries, or those of a subject, newest first; gaps stand where entries cannot be read. */
  readAll(subject?: string): AsyncGenerator<AuditEntry | Gap> {
    return readAllPages((query) => this.page({ subject, ...query }), READ_BATCH);
  }
}

function entryFrom({ id, fields }: ArchivedEntry): AuditEntry {
  return {
    id,
    at_ms: Number(fields.at_ms),
    by: fields.by ?? '',
    action: fields.action ?? '',
    subject: fields.subject ?? '',
    before: JSON.parse(fields.before ?? '{}'),
    after: JSON.parse(fields.after ?? '{}'),
    reason: fields.reason ?? '',
    request_id: fields.request ?? '',
  };
}
