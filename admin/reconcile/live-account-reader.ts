/**
 * Reads accounts from Redis: wallet, live ledger, archived-through counters, orders and usage.
 *
 * One script per account reads wallet, usage, counters and the end of the ledger at one moment, so a concurrent call is
 * in all of them or in none. The rest of a long ledger is immutable and read afterwards.
 */
import { fieldsToRecord, type RedisClient, whenReady } from '../../data/runtime/redis.ts';
import { outcomeOf, readScript, ScriptRunner } from '../../data/runtime/redis-scripts.ts';

import { ledgerArchivedThrough } from '../../data/schema/archive.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { ledgerEntryFrom } from '../../gateway/commerce/history/history.ts';
import { type LedgerEntry, type OrderRecord, orderFrom } from '../../gateway/commerce/store/store.ts';
import type { LiveAccount } from './compare.ts';

/** Few, because the script blocks Redis while it runs. */
const SCRIPT_ENTRIES = 50;
const PAGE_ENTRIES = 500;
const ATTEMPTS = 5;
const RECONNECT_MS = 5_000;
const KEYS_BESIDE_USAGE = 4;

type Reply = [
  wallet: (string | null)[],
  archived_through: string[],
  last: string,
  order_ids: string[],
  used: number[],
  entries: [string, string[]][],
];

export class LiveAccountReader {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #days: readonly number[];
  readonly #script: ReturnType<typeof readScript>;

  /** @param days UTC day numbers whose live usage is read */
  constructor(redis: RedisClient, days: readonly number[]) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
    this.#days = days;
    this.#script = readScript(import.meta.url, 'lua/live-account.lua', KEYS_BESIDE_USAGE + days.length);
  }

  /** Returns null when Redis has no such account. Retries when no reply came in time, because it only reads. */
  async read(account_id: string): Promise<LiveAccount | null> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#read(account_id);
      } catch (error) {
        if (attempt === ATTEMPTS || outcomeOf(error) === 'refused') throw error;
        await whenReady(this.#redis, RECONNECT_MS);
      }
    }
  }

  async #read(account_id: string): Promise<LiveAccount | null> {
    const reply = await this.#runner.run(this.#script, [
      redisKeys.account(account_id),
      redisKeys.archivedThrough(account_id),
      redisKeys.ledger(account_id),
      redisKeys.accountOrders(account_id),
      ...this.#days.map((day) => redisKeys.usage(account_id, day)),
      SCRIPT_ENTRIES,
    ]);
    const [wallet, archived_through, last, order_ids, used, first] = reply as Reply;
    const [state, email, balance, granted, spent, paid] = wallet;
    if (!state) return null;
    const [ledger, orders] = await Promise.all([
      this.#restOfLedger(account_id, first.map(ledgerEntryFrom), last),
      this.#orders(account_id, order_ids),
    ]);
    return {
      account_id,
      email: email ?? '',
      balance: Number(balance),
      granted: Number(granted),
      spent: Number(spent),
      paid_orders: Number(paid ?? 0),
      archived_through:
        archived_through.length > 0 ? ledgerArchivedThrough.parse(fieldsToRecord(archived_through)) : null,
      ledger,
      orders,
      used: new Map(this.#days.map((day, index) => [day, used[index] ?? 0])),
    };
  }

  /** Reads on up to the entry that was last when the script ran. */
  async #restOfLedger(account_id: string, entries: LedgerEntry[], last: string): Promise<LedgerEntry[]> {
    for (let end = entries.at(-1)?.id; end !== undefined && end !== last; ) {
      const page = await this.#redis.xrange(
        redisKeys.ledger(account_id),
        `(${end}`,
        last,
        'COUNT',
        PAGE_ENTRIES,
      );
      entries.push(...page.map(ledgerEntryFrom));
      end = page.at(-1)?.[0];
    }
    return entries;
  }

  /** Skips an order without a hash; its ledger entries then show as a discrepancy. */
  async #orders(account_id: string, ids: readonly string[]): Promise<OrderRecord[]> {
    const hashes = await Promise.all(ids.map((id) => this.#redis.hgetall(redisKeys.order(account_id, id))));
    return ids.flatMap((id, index) => orderFrom(id, account_id, hashes[index] ?? {}) ?? []);
  }
}
