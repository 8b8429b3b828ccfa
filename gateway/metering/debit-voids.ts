/**
 * Debits of unknown fate whose client was told 503: "nothing was charged" must become true. Each is voided as soon as
 * Redis answers; a void repeated changes nothing, and a debit that arrives after its void charges nothing.
 *
 * A debit is remembered in Redis for two minutes at least; a void must arrive within that time. Older ones, and those
 * beyond the bound, are logged with their request id, so that an operator can look at the ledger and refund.
 */
import type { Logger } from 'pino';
import type { RedisClient } from '../../data/runtime/redis.ts';
import type { Admission } from './metering.ts';
import { readScript, type ScriptRunner } from './scripts.ts';

const VOID = readScript(import.meta.url, 'void.lua', 4);
const KEPT_AT_MOST = 50_000;
const VOID_WITHIN_MS = 110_000;
const RETRY_EVERY_MS = 250;
const AT_ONCE = 100;

export interface DoubtfulDebit {
  /** The keys of the admission script, in its order. */
  names: readonly [
    account: string,
    keys: string,
    minute: string,
    day: string,
    ledger: string,
    usage: string,
    debits: string,
  ];
  debit_id: string;
  price: number;
  admission: Pick<Admission, 'route' | 'request_id' | 'key'>;
  now_ms: number;
}

interface Dependencies {
  redis: RedisClient;
  runner: ScriptRunner;
  now: () => number;
  log: Logger;
}

export class DebitVoids {
  readonly #to: Dependencies;
  #owed: DoubtfulDebit[] = [];
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;

  constructor(dependencies: Dependencies) {
    this.#to = dependencies;
  }

  /** Debits that still wait. */
  get count(): number {
    return this.#owed.length;
  }

  add(debit: DoubtfulDebit): void {
    if (this.#owed.length >= KEPT_AT_MOST) this.#giveUp(debit);
    else this.#owed.push(debit);
    this.#schedule();
  }

  /** Tries every waiting void once. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushOnce().finally(() => {
      this.#flushing = null;
      this.#schedule();
    });
    return this.#flushing;
  }

  #schedule(): void {
    if (this.#timer || this.#owed.length === 0 || this.#to.redis.status === 'end') return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.flush();
    }, RETRY_EVERY_MS);
    this.#timer.unref();
  }

  async #flushOnce(): Promise<void> {
    const waiting = this.#owed;
    this.#owed = [];
    for (let from = 0; from < waiting.length; from += AT_ONCE) {
      await Promise.all(waiting.slice(from, from + AT_ONCE).map((debit) => this.#void(debit)));
    }
  }

  async #void(debit: DoubtfulDebit): Promise<void> {
    const { names, debit_id, price, admission } = debit;
    const [account, , , , ledger, usage, debits] = names;
    const now_ms = this.#to.now();
    if (now_ms - debit.now_ms > VOID_WITHIN_MS) return this.#giveUp(debit);
    const { route, request_id, key } = admission;
    const values = [account, ledger, usage, debits, now_ms, debit_id, price, route, request_id, key.key_id];
    try {
      const given_back = await this.#to.runner.run(VOID, values, true);
      this.#to.log.warn({ request_id, given_back }, 'a debit of unknown fate was voided');
    } catch {
      this.#owed.push(debit);
    }
  }

  #giveUp({ admission, debit_id, price }: DoubtfulDebit): void {
    const { request_id, key } = admission;
    this.#to.log.error(
      { request_id, debit_id, price, key_id: key.key_id },
      'a debit of unknown fate could not be voided in time: compare the ledger',
    );
  }
}
