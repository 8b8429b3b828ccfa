/** Continuous grants and purchases, and a comparison of the acknowledged ones with the ledger. */
import { setTimeout as pause } from 'node:timers/promises';
import type { RedisClient } from '../../data/runtime/redis.ts';
import type { AccountStore } from '../../gateway/commerce/accounts/account-store.ts';
import { AccountError } from '../../gateway/commerce/store/records.ts';
import { readLedger } from './clients.ts';
import type { Customer } from './deployment.ts';

export interface PurchaseTotals {
  grants: number;
  purchases: number;
  /** Acknowledged, and not in the ledger. */
  missing: number;
  /** In the ledger more than once, acknowledged or not. */
  doubled: number;
}

/** Makes grants unique in this process. */
let grants = 0;

export class PurchaseLoad {
  readonly #store: AccountStore;
  readonly #customers: readonly Customer[];
  readonly #granted: string[] = [];
  readonly #paid: string[] = [];
  #isOpen = true;
  #running: Promise<void>;

  /** Starts to grant and to buy, one at a time. */
  constructor(store: AccountStore, customers: readonly Customer[]) {
    this.#store = store;
    this.#customers = customers;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (this.#isOpen) {
      await this.#once().catch((error: unknown) => {
        // Without an acknowledgement it may have happened, but only once.
        if (!(error instanceof AccountError) || error.code !== 'unavailable') throw error;
      });
      await new Promise(setImmediate);
    }
  }

  async #once(): Promise<void> {
    const number = grants++;
    const customer = this.#customers[number % this.#customers.length];
    if (!customer) throw new Error('there is nobody to grant to');
    const { account_id } = customer;
    const word = `grant-${number}`;
    await this.#store.grant(account_id, {
      credits: 1 + (number % 9),
      by: 'faults',
      reason: word,
      idem: word,
    });
    this.#granted.push(word);
    if (number % 4 > 0) return;
    const { order_id } = await this.#store.orders.create(account_id, 'small');
    await this.#store.orders.move(order_id, 'paid');
    this.#paid.push(order_id);
  }

  /** Waits for one more acknowledged purchase, so that the test never passes without any. */
  async untilPurchased(): Promise<void> {
    const before = this.#paid.length;
    while (this.#paid.length === before) await Promise.race([pause(1), this.#running]);
  }

  /** Stops and compares the acknowledged changes with the ledgers. */
  async close(redis: RedisClient): Promise<PurchaseTotals> {
    this.#isOpen = false;
    await this.#running;
    const seen = new Map<string, number>();
    for (const { account_id } of this.#customers) {
      for (const { kind, fields } of await readLedger(redis, account_id)) {
        const name = kind === 'purchase' ? fields.order : fields.reason;
        if (kind === 'purchase' || name?.startsWith('grant-'))
          seen.set(name ?? '', (seen.get(name ?? '') ?? 0) + 1);
      }
    }
    return {
      grants: this.#granted.length,
      purchases: this.#paid.length,
      missing: [...this.#granted, ...this.#paid].filter((name) => !seen.has(name)).length,
      doubled: [...seen.values()].filter((times) => times > 1).length,
    };
  }
}
