/**
 * Reads what Redis says of accounts: wallet, live ledger, what was carried over, orders and usage.
 *
 * One script an account reads wallet, usage, what was carried over and where the ledger ends as of one moment, so that a
 * call in between is in all or none; what of a long ledger does not come with it never changes and is read after it.
 */
import { fieldsToRecord, type RedisClient, whenReady } from '../../data/runtime/redis.ts';
import { outcomeOf, readScript, ScriptRunner } from '../../data/runtime/redis-scripts.ts';
import { ledgerArchivedThrough } from '../../data/schema/archive.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { LedgerEntry, OrderRecord } from '../../gateway/accounts/records.ts';
import { ledgerEntryFrom, orderFrom } from '../../gateway/accounts/redis-mappers.ts';
import type { LiveAccount } from './compare.ts';

const FIRST_ENTRIES = 50;
const PIECE = 500;
const TRIES = 5;
const BACK_WITHIN_MS = 5_000;
const KEYS_BESIDE_USAGE = 4;

type Reply = [
  wallet: (string | null)[],
  carried: string[],
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

  /** @param days numbers of the UTC days whose live usage is read */
  constructor(redis: RedisClient, days: readonly number[]) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
    this.#days = days;
    this.#script = readScript(import.meta.url, 'lua/live-account.lua', KEYS_BESIDE_USAGE + days.length);
  }

  /** Null when Redis has no such account. Asks again when no answer came in time: it is only reading. */
  async read(account_id: string): Promise<LiveAccount | null> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#read(account_id);
      } catch (error) {
        if (attempt === TRIES || outcomeOf(error) === 'refused') throw error;
        await whenReady(this.#redis, BACK_WITHIN_MS);
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
      FIRST_ENTRIES,
    ]);
    const [wallet, carried, last, order_ids, used, first] = reply as Reply;
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
      carried: carried.length > 0 ? ledgerArchivedThrough.parse(fieldsToRecord(carried)) : null,
      ledger,
      orders,
      used: new Map(this.#days.map((day, index) => [day, used[index] ?? 0])),
    };
  }

  /** Reads on to the entry that was the last one. */
  async #restOfLedger(account_id: string, entries: LedgerEntry[], last: string): Promise<LedgerEntry[]> {
    for (let end = entries.at(-1)?.id; end !== undefined && end !== last; ) {
      const piece = await this.#redis.xrange(redisKeys.ledger(account_id), `(${end}`, last, 'COUNT', PIECE);
      entries.push(...piece.map(ledgerEntryFrom));
      end = piece.at(-1)?.[0];
    }
    return entries;
  }

  /** Orders whose hash is there; one that is missed is found by its entries. */
  async #orders(account_id: string, ids: readonly string[]): Promise<OrderRecord[]> {
    if (ids.length === 0) return [];
    const hashes = await Promise.all(ids.map((id) => this.#redis.hgetall(redisKeys.order(account_id, id))));
    return ids.flatMap((id, index) => orderFrom(id, account_id, hashes[index] ?? {}) ?? []);
  }
}
