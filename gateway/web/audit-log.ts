/**
 * Who changed what, when, and how it was before and after. Entries are only ever added.
 *
 * An entry is written after its change. A change that may be sent twice (an adjustment with an `idem`) names its
 * entry, so that the repetition writes it when the first try died in between, and never twice.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { readScript, ScriptRunner } from '../metering/scripts.ts';

const AUDIT = readScript(import.meta.url, 'lua/audit.lua', 3);
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

export class AuditLog {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #now: () => number;

  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
    this.#now = now;
  }

  /** @param name of an entry that must stand in the log once, however often it is recorded. */
  async record(change: Change, name: string | null = null): Promise<void> {
    const { by, action, subject, before, after, reason, request_id } = change;
    await this.#runner.run(AUDIT, [
      redisKeys.audit,
      redisKeys.auditOf(subject),
      redisKeys.auditOnce(name ?? ''),
      name === null ? '0' : '1',
      ...['at_ms', this.#now(), 'by', by, 'action', action, 'subject', subject],
      ...['before', JSON.stringify(before), 'after', JSON.stringify(after)],
      ...['reason', reason, 'request', request_id],
    ]);
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
