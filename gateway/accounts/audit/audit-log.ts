/**
 * Who changed what, when, and how it was before and after. Entries are only ever added.
 *
 * No change is without its entry. What is about to be changed is noted first, and the note becomes the entry when the
 * change has been made, in one step. A process that dies in between leaves its note behind; `settle`, called by every
 * gateway's sweep and before the log is shown, makes an entry of it, which says that nobody confirmed the change.
 *
 * A change that may be sent twice (an adjustment with an `idem`) names its entry, which is then written once.
 */
import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import type { Archive } from '../../archive/archive.ts';
import type { Fields, Gap } from '../../archive/entries.ts';
import { AccountError } from '../records.ts';
import { unavailable } from '../validation.ts';
import { type AuditQuery, readAuditPage } from './audit-history.ts';

const AUDIT = readScript(import.meta.url, 'audit.lua', 4);
/** Longer than any change takes: a note of that age was left by a process that is gone. */
export const CUT_SHORT_AFTER_MS = 60_000;
const PIECE = 500;

export type Facts = Readonly<Record<string, string | number | boolean | null>>;

export interface Change {
  /** E-mail address of who did it, or `command line`. */
  by: string;
  /** Such as `account.suspend`. */
  action: string;
  /** What was changed: `account acc_…`, `order ord_…`, `indicator x.y`. */
  subject: string;
  before: Facts;
  after: Facts;
  reason: string;
  request_id: string;
}

export interface AuditEntry extends Change {
  id: string;
  at_ms: number;
}

export interface AuditPage {
  /** Newest first. */
  entries: AuditEntry[];
  /** What comes after these entries and cannot be read; null when nothing is missing. */
  gap: Gap | null;
}

/** What an entry says of an outcome, in the place of what was known before. */
export type Told = Partial<Pick<Change, 'before' | 'after' | 'subject'>>;

interface Begun {
  at_ms: number;
  change: Change;
}

interface Writing {
  at_ms: number;
  name: string | null;
  /** The note that the entry takes the place of. */
  note: string | null;
}

const NOT_CONFIRMED = 'not confirmed: the process ended before it could tell';

/** Nothing was changed, for sure. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AccountError ? error.code !== 'unavailable' : error instanceof Error && 'status' in error;

export class AuditLog {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #now: () => number;
  readonly #archive: Archive | null;

  /** @param archive where older entries are; without it pages say that they cannot be read here. */
  constructor(redis: RedisClient, now: () => number, archive: Archive | null = null) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
    this.#now = now;
    this.#archive = archive;
  }

  /** What has been done already. @param name of an entry that must stand in the log once, however often it is recorded. */
  async record(change: Change, name: string | null = null): Promise<void> {
    await this.#write(change, { at_ms: this.#now(), name, note: null });
  }

  /**
   * Carries out a change, with its entry.
   * @param asked the entry as far as it is known before; its `after` is what is wanted.
   * @param work makes the change. When it is refused (an `AccountError`, an error with a `status`) there is no entry.
   * @param told what the entry says of the outcome; null when nothing was changed, and there is no entry either.
   * @param name as in `record`
   */
  async attempt<Outcome>(
    asked: Change,
    work: () => Promise<Outcome>,
    told: (outcome: Outcome) => Told | null,
    name: string | null = null,
  ): Promise<Outcome> {
    const note = randomUUID();
    const begun: Begun = { at_ms: this.#now(), change: asked };
    await this.#redis.hset(redisKeys.auditBegun, note, JSON.stringify(begun)).catch(unavailable);
    let said: Told | null = null;
    let outcome: Outcome;
    try {
      outcome = await work();
      said = told(outcome);
    } catch (error) {
      if (isRefusal(error)) await this.#forget(note);
      throw error;
    }
    if (said === null) await this.#forget(note);
    else await this.#write({ ...asked, ...said }, { at_ms: this.#now(), name, note }).catch(unavailable);
    return outcome;
  }

  /** Makes entries of notes whose process died between a change and its entry. */
  async settle(): Promise<void> {
    const notes = await this.#redis.hgetall(redisKeys.auditBegun);
    for (const [note, text] of Object.entries(notes)) {
      const { at_ms, change }: Begun = JSON.parse(text);
      if (this.#now() - at_ms < CUT_SHORT_AFTER_MS) continue;
      const after = { ...change.after, outcome: NOT_CONFIRMED };
      await this.#write({ ...change, after }, { at_ms, name: null, note });
    }
  }

  /** One that stays behind says that nobody confirmed a change: no lie, though nothing was changed. */
  async #forget(note: string): Promise<void> {
    await this.#redis.hdel(redisKeys.auditBegun, note).catch(() => {});
  }

  /** Harmless to repeat where there is a name or a note. */
  async #write(change: Change, { at_ms, name, note }: Writing): Promise<void> {
    const { by, action, subject, before, after, reason, request_id } = change;
    const values = [
      redisKeys.audit,
      redisKeys.auditOf(subject),
      redisKeys.auditOnce(name ?? ''),
      redisKeys.auditBegun,
      ...[name === null ? '0' : '1', note ?? ''],
      ...['at_ms', at_ms, 'by', by, 'action', action, 'subject', subject],
      ...['before', JSON.stringify(before), 'after', JSON.stringify(after)],
      ...['reason', reason, 'request', request_id],
    ];
    if (name === null && note === null) await this.#runner.run(AUDIT, values);
    else await this.#runner.runIdempotent(AUDIT, values);
  }

  /** Newest first, archive included; of one subject, or of all. */
  async page(query: AuditQuery): Promise<AuditPage> {
    const { entries, gap } = await readAuditPage(this.#redis, this.#archive, query);
    return { entries: entries.map(entryFrom), gap };
  }

  /** The entries of a page. @throws {AccountError} `archive_damaged` when entries among them cannot be read. */
  list(query: Omit<AuditQuery, 'subject'> = {}): Promise<AuditEntry[]> {
    return this.#whole(query);
  }

  /** The same of one subject. */
  of(subject: string, query: Omit<AuditQuery, 'subject'> = {}): Promise<AuditEntry[]> {
    return this.#whole({ ...query, subject });
  }

  async #whole(query: AuditQuery): Promise<AuditEntry[]> {
    const { entries, gap } = await this.page(query);
    if (gap) throw new AccountError('archive_damaged', gap.message);
    return entries;
  }
}

function entryFrom({ id, fields }: { id: string; fields: Fields }): AuditEntry {
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

/** All entries, or those of one subject, newest first; in between, what cannot be read. */
export async function* wholeAudit(audit: AuditLog, subject?: string): AsyncGenerator<AuditEntry | Gap> {
  for (let before: string | undefined; ; ) {
    const { entries, gap } = await audit.page({
      limit: PIECE,
      ...(subject !== undefined && { subject }),
      ...(before !== undefined && { before }),
    });
    yield* entries;
    if (gap) yield gap;
    before = gap ? (gap.before ?? undefined) : entries.length < PIECE ? undefined : entries.at(-1)?.id;
    if (before === undefined) return;
  }
}
