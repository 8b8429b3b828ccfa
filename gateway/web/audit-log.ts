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
import type { RedisClient } from '../../data/runtime/redis.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { AccountError } from '../account/account.ts';
import { unavailable } from '../account/checks.ts';
import { readScript, ScriptRunner } from '../metering/scripts.ts';
import { PageProblem } from './page-problem.ts';

const AUDIT = readScript(import.meta.url, 'lua/audit.lua', 4);
/** Longer than any change takes: a note of that age was left by a process that is gone. */
export const CUT_SHORT_AFTER_MS = 60_000;
const PAGE_AT_MOST = 1_000;

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
  error instanceof PageProblem || (error instanceof AccountError && error.code !== 'unavailable');

export class AuditLog {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #now: () => number;

  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
    this.#now = now;
  }

  /** What has been done already. @param name of an entry that must stand in the log once, however often it is recorded. */
  async record(change: Change, name: string | null = null): Promise<void> {
    await this.#write(change, { at_ms: this.#now(), name, note: null });
  }

  /**
   * Carries out a change, with its entry.
   * @param asked the entry as far as it is known before; its `after` is what is wanted.
   * @param work makes the change. When it is refused (an `AccountError`, a `PageProblem`) there is no entry.
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
    else await this.#runner.runRepeatable(AUDIT, values);
  }

  /** Newest first; `before` is the id of the last entry already seen. */
  list(options: { limit?: number; before?: string } = {}): Promise<AuditEntry[]> {
    return this.#read(redisKeys.audit, options);
  }

  /** Entries of one subject, newest first. */
  of(subject: string, options: { limit?: number; before?: string } = {}): Promise<AuditEntry[]> {
    return this.#read(redisKeys.auditOf(subject), options);
  }

  async #read(
    key: string,
    { limit = 50, before }: { limit?: number; before?: string },
  ): Promise<AuditEntry[]> {
    const start = before === undefined ? '+' : `(${before}`;
    const entries = await this.#redis.xrevrange(key, start, '-', 'COUNT', Math.min(limit, PAGE_AT_MOST));
    return entries.map(entryFrom);
  }
}

function entryFrom([id, fields]: [id: string, fields: string[]]): AuditEntry {
  const hash: Record<string, string> = {};
  for (let i = 0; i + 1 < fields.length; i += 2) hash[fields[i] ?? ''] = fields[i + 1] ?? '';
  return {
    id,
    at_ms: Number(hash.at_ms),
    by: hash.by ?? '',
    action: hash.action ?? '',
    subject: hash.subject ?? '',
    before: JSON.parse(hash.before ?? '{}'),
    after: JSON.parse(hash.after ?? '{}'),
    reason: hash.reason ?? '',
    request_id: hash.request ?? '',
  };
}
