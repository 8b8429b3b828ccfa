/**
 * Reads the audit log forward, each entry once. Entries that were archived
 * before they were read are skipped.
 */
import { fieldsToRecord, type RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { throwUnavailable } from '../store/store.ts';
import { type AuditEntry, entryFrom } from './audit-log.ts';

export class AuditFollower {
  readonly #redis: RedisClient;

  constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  /** The next entries, oldest first; the same ones until `advance`. */
  async next(limit: number): Promise<AuditEntry[]> {
    const told = (await this.#redis.get(redisKeys.auditTold).catch(throwUnavailable)) ?? '0-0';
    return this.#read(`(${told}`, '+', limit);
  }

  /** Continues after an entry. */
  async advance(id: string): Promise<void> {
    await this.#redis.set(redisKeys.auditTold, id).catch(throwUnavailable);
  }

  /** Null once it is archived. */
  async find(id: string): Promise<AuditEntry | null> {
    const [entry = null] = await this.#read(id, id, 1);
    return entry;
  }

  async #read(from: string, to: string, limit: number): Promise<AuditEntry[]> {
    const found = await this.#redis.xrange(redisKeys.audit, from, to, 'COUNT', limit).catch(throwUnavailable);
    return found.map(([id, flat]) => entryFrom({ id, fields: fieldsToRecord(flat) }));
  }
}
