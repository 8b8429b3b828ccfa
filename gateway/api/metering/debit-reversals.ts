/**
 * Reverses debits whose answer the client never got: those of unknown outcome (the client was told 503) and those whose
 * answer could not be produced after the charge. Each is reversed as soon as Redis answers. A repeated reversal changes
 * nothing, and a debit that arrives after its reversal charges nothing.
 *
 * Redis remembers a debit for at least two minutes; within that time a reversal needs no more. After a longer outage the
 * ledger is searched first for the charge. Debits older than half a day, and those beyond the bound of the queue, are
 * logged with their request id, so that an operator can compare the ledger and refund.
 */
import type { Logger } from 'pino';
import { fieldsToRecord, type RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, type ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { dayOf, minuteOf, monthOf, redisKeys } from '../../../data/schema/redis-keys.ts';
import type { Debit } from './admission.ts';

const REVERSE = readScript(import.meta.url, 'lua/reverse.lua', 8);
const QUEUED_AT_MOST = 50_000;
/** After this Redis may have forgotten a debit, and a delayed debit can no longer arrive. */
const REMEMBERED_MS = 110_000;
/** Long before a ledger entry may be archived. */
const REVERSE_WITHIN_MS = 43_200_000;
const RETRY_EVERY_MS = 250;
const BATCH_SIZE = 100;
/** How far the clocks of this gateway and of Redis may differ. */
const CLOCK_SKEW_MS = 10_000;
const LEDGER_PAGE_SIZE = 1_000;

interface Dependencies {
  redis: RedisClient;
  runner: ScriptRunner;
  now: () => number;
  log: Logger;
}

export class DebitReversals {
  readonly #dependencies: Dependencies;
  #queue: Debit[] = [];
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Queues a debit; the reversal is tried soon, and again until Redis answers. */
  add(debit: Debit): void {
    this.#enqueue(debit);
    this.#schedule();
  }

  /** Reverses a debit at once; queues it when Redis does not answer. Never rejects. */
  async reverse(debit: Debit): Promise<void> {
    this.add(debit);
    if (this.#dependencies.redis.status === 'ready') await this.flush();
  }

  /** Tries every queued reversal once. */
  async flush(): Promise<void> {
    // A flush that began earlier may not include the latest debits.
    await this.#flushing;
    this.#flushing ??= this.#flushOnce().finally(() => {
      this.#flushing = null;
      this.#schedule();
    });
    await this.#flushing;
  }

  #enqueue(debit: Debit): void {
    if (this.#queue.length >= QUEUED_AT_MOST) this.#giveUp(debit);
    else this.#queue.push(debit);
  }

  #schedule(): void {
    if (this.#timer || this.#queue.length === 0 || this.#dependencies.redis.status === 'end') return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.flush();
    }, RETRY_EVERY_MS);
    this.#timer.unref();
  }

  async #flushOnce(): Promise<void> {
    const now_ms = this.#dependencies.now();
    const queue = this.#queue;
    this.#queue = [];
    const remembered: Debit[] = [];
    const forgotten = new Map<string, Debit[]>();
    for (const debit of queue) {
      const age_ms = now_ms - debit.at_ms;
      if (age_ms > REVERSE_WITHIN_MS) this.#giveUp(debit);
      else if (age_ms <= REMEMBERED_MS) remembered.push(debit);
      else forgotten.set(debit.account_id, [...(forgotten.get(debit.account_id) ?? []), debit]);
    }
    await this.#reverseAll(remembered, false);
    for (const [account_id, debits] of forgotten) await this.#reverseCharged(account_id, debits);
  }

  async #reverseAll(debits: readonly Debit[], isCharged: boolean): Promise<void> {
    for (let from = 0; from < debits.length; from += BATCH_SIZE) {
      await Promise.all(
        debits.slice(from, from + BATCH_SIZE).map((debit) => this.#reverse(debit, isCharged)),
      );
    }
  }

  /** Reverses those of forgotten debits that the ledger holds. */
  async #reverseCharged(account_id: string, debits: readonly Debit[]): Promise<void> {
    const ledger = redisKeys.ledger(account_id);
    const charged = await findCharged(this.#dependencies.redis, ledger, debits).catch(() => null);
    if (charged === null) for (const debit of debits) this.#enqueue(debit);
    else await this.#reverseAll(charged, true);
  }

  async #reverse(debit: Debit, isCharged: boolean): Promise<void> {
    const { debit_id, price, at_ms, account_id, key_id, route, request_id } = debit;
    const { indicators, idempotency_key, leased, feed_id = '' } = debit;
    const { runner, now, log } = this.#dependencies;
    const account = redisKeys.account(account_id);
    const keys = [
      account,
      redisKeys.ledger(account_id),
      redisKeys.usage(account_id, dayOf(at_ms)),
      redisKeys.debits(account_id, minuteOf(at_ms)),
      idempotency_key === undefined ? account : redisKeys.repeatable(account_id, idempotency_key),
      leased === undefined ? account : redisKeys.lease(account_id, leased),
      redisKeys.rulesOf(account_id, key_id),
      redisKeys.feeds(account_id),
    ];
    const values = [now(), debit_id, price, route, request_id, key_id, isCharged ? '1' : '', at_ms];
    const more = [monthOf(at_ms), indicators, feed_id];
    try {
      const given_back = await runner.run(REVERSE, [...keys, ...values, ...more], true);
      log.warn({ request_id, given_back }, 'debit reversed');
    } catch {
      this.#enqueue(debit);
    }
  }

  #giveUp({ request_id, debit_id, price, key_id }: Debit): void {
    this.#dependencies.log.error(
      { request_id, debit_id, price, key_id },
      'debit not reversed in time: compare the ledger and refund by hand',
    );
  }
}

/** What `findCharged` compares of a debit. */
export type SearchedDebit = Pick<Debit, 'at_ms' | 'price' | 'request_id' | 'key_id'>;

/** How often the ledger holds each charge, and how often each call was refunded. */
interface LedgerCounts {
  charged: Map<string, number>;
  refunded: Map<string, number>;
}

/**
 * Those of an account's debits that were charged and not refunded, read from the ledger near the time at which they
 * were sent. Identical debits are found as often as the ledger holds them; a refund of the same call, however late,
 * counts against them. Rejects with the error of Redis.
 */
export async function findCharged<Searched extends SearchedDebit>(
  redis: RedisClient,
  ledger: string,
  debits: readonly Searched[],
): Promise<Searched[]> {
  const counts: LedgerCounts = { charged: new Map(), refunded: new Map() };
  let from = String(Math.min(...debits.map(({ at_ms }) => at_ms)) - CLOCK_SKEW_MS);
  for (;;) {
    const page = await redis.xrange(ledger, from, '+', 'COUNT', LEDGER_PAGE_SIZE);
    for (const [, fields] of page) countEntry(counts, fieldsToRecord(fields));
    const last = page.at(-1);
    if (!last || page.length < LEDGER_PAGE_SIZE) break;
    from = `(${last[0]}`;
  }
  return debits.filter(({ at_ms, request_id, key_id, price }) => {
    const call = callOf(key_id, price, request_id);
    if (add(counts.charged, `${at_ms} ${call}`, -1) < 0) return false;
    return add(counts.refunded, call, -1) < 0;
  });
}

function countEntry(counts: LedgerCounts, fields: Record<string, string>): void {
  const { at_ms, kind, key = '', delta, request = '' } = fields;
  const call = callOf(key, Math.abs(Number(delta)), request);
  if (kind === 'debit') add(counts.charged, `${at_ms} ${call}`, 1);
  else if (kind === 'refund') add(counts.refunded, call, 1);
}

const callOf = (key_id: string, price: number, request_id: string): string =>
  `${key_id} ${price} ${request_id}`;

function add(counts: Map<string, number>, name: string, by: number): number {
  const count = (counts.get(name) ?? 0) + by;
  counts.set(name, count);
  return count;
}
