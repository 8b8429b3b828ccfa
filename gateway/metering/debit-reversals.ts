/**
 * Debits of unknown fate whose client was told 503: "nothing was charged" must become true. Each is voided as soon as
 * Redis answers; a void repeated changes nothing, and a debit that arrives after its void charges nothing.
 *
 * A debit is remembered in Redis for two minutes at least, and within that time a void needs no more. When Redis was
 * away for longer, the ledger is asked first whether the debit was charged. Those that are half a day old, and those
 * beyond the bound, are logged with their request id, so that an operator can look at the ledger and refund.
 */
import type { Logger } from 'pino';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readScript, type ScriptRunner } from '../../data/runtime/redis-scripts.ts';
import { chargedDebits } from './debit-search.ts';
import type { Admission } from './metering.ts';

const VOID = readScript(import.meta.url, 'lua/reverse.lua', 4);
const KEPT_AT_MOST = 50_000;
/** After this a debit may be forgotten, and cannot arrive any more. */
const REMEMBERED_MS = 110_000;
/** Long before a ledger entry may be archived. */
const VOID_WITHIN_MS = 43_200_000;
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

export class DebitReversals {
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
    const now_ms = this.#to.now();
    const waiting = this.#owed;
    this.#owed = [];
    const fresh: DoubtfulDebit[] = [];
    const late = new Map<string, DoubtfulDebit[]>();
    for (const debit of waiting) {
      const age_ms = now_ms - debit.now_ms;
      const [, , , , ledger] = debit.names;
      if (age_ms > VOID_WITHIN_MS) this.#giveUp(debit);
      else if (age_ms <= REMEMBERED_MS) fresh.push(debit);
      else late.set(ledger, [...(late.get(ledger) ?? []), debit]);
    }
    await this.#voidAll(fresh, false);
    for (const [ledger, debits] of late) await this.#voidLate(ledger, debits);
  }

  async #voidAll(debits: readonly DoubtfulDebit[], isCharged: boolean): Promise<void> {
    for (let from = 0; from < debits.length; from += AT_ONCE) {
      await Promise.all(debits.slice(from, from + AT_ONCE).map((debit) => this.#void(debit, isCharged)));
    }
  }

  /** Of debits that Redis has forgotten only those are voided that the ledger holds. */
  async #voidLate(ledger: string, debits: readonly DoubtfulDebit[]): Promise<void> {
    const sought = debits.map((debit) => ({
      ...debit,
      request_id: debit.admission.request_id,
      key_id: debit.admission.key.key_id,
    }));
    const charged = await chargedDebits(this.#to.redis, ledger, sought).catch(() => null);
    if (charged === null) this.#owed.push(...debits);
    else await this.#voidAll(charged, true);
  }

  async #void(debit: DoubtfulDebit, isCharged: boolean): Promise<void> {
    const { names, debit_id, price, admission, now_ms } = debit;
    const [account, , , , ledger, usage, debits] = names;
    const { route, request_id, key } = admission;
    const values = [account, ledger, usage, debits, this.#to.now(), debit_id, price, route, request_id];
    try {
      const more = [key.key_id, isCharged ? '1' : '', now_ms];
      const given_back = await this.#to.runner.run(VOID, [...values, ...more], true);
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
