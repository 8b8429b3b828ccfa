/**
 * Reconciliation of all accounts: one reading at a time, in the background of whoever asked, its outcome kept until
 * the next. An account is named only when it disagrees twice in a row, so that an order that moves while it is read
 * is no false alarm.
 */
import type { Logger } from 'pino';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { checkAccount, type Disagreement } from './account-check.ts';
import { type FactSources, readFacts } from './account-facts.ts';

/** Few, so that a reading never stands long before a paid call in Redis. */
const AT_ONCE = 8;

export interface Reconciliation {
  finished_at_ms: number;
  duration_ms: number;
  accounts: number;
  disagreements: Disagreement[];
}

export interface ReconcileProgress {
  done: number;
  total: number;
}

export class Reconciler {
  readonly #sources: FactSources;
  readonly #log: Logger;
  #last: Reconciliation | null = null;
  #running: Promise<void> | null = null;
  #progress: ReconcileProgress = { done: 0, total: 0 };

  constructor(sources: FactSources, log: Logger) {
    this.#sources = sources;
    this.#log = log;
  }

  /** The outcome of the last whole reading; null before the first. */
  get last(): Reconciliation | null {
    return this.#last;
  }

  /** How far a reading is that has not ended; null when there is none. */
  get progress(): ReconcileProgress | null {
    return this.#running ? this.#progress : null;
  }

  /** Reads everything anew, or joins a reading that is under way; waits for it, but not longer than `patience_ms`. */
  async refresh(patience_ms: number): Promise<void> {
    this.#running ??= this.#run()
      .catch((error: unknown) => this.#log.error({ err: error }, 'reconciliation failed'))
      .finally(() => {
        this.#running = null;
      });
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((settle) => {
      timer = setTimeout(settle, patience_ms);
      timer.unref();
    });
    await Promise.race([this.#running, patience]);
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    const { redis, now } = this.#sources;
    const began_ms = now();
    const ids = await redis.zrange(redisKeys.accounts, '0', '-1');
    this.#progress = { done: 0, total: ids.length };
    const disagreements: Disagreement[] = [];
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const piece = ids.slice(from, from + AT_ONCE);
      disagreements.push(...(await Promise.all(piece.map((id) => this.#check(id)))).flat());
      this.#progress = { done: from + piece.length, total: ids.length };
    }
    const finished_at_ms = now();
    this.#last = {
      finished_at_ms,
      duration_ms: finished_at_ms - began_ms,
      accounts: ids.length,
      disagreements,
    };
  }

  async #check(account_id: string): Promise<Disagreement[]> {
    const first = await this.#look(account_id);
    return first.length === 0 ? [] : this.#look(account_id);
  }

  async #look(account_id: string): Promise<Disagreement[]> {
    const facts = await readFacts(this.#sources, account_id);
    return facts === null ? [] : checkAccount(facts);
  }
}
