/** Orders of credit packs. A paid order grants its credits exactly once, whatever is repeated or raced. */

import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { randomId } from '../../metering/keys.ts';
import type { RunScript, StoreDependencies } from '../account-store.ts';
import { AccountError, type OrderRecord, type OrderState, type PaymentId } from '../records.ts';
import { orderFrom } from '../redis-mappers.ts';
import { unavailable } from '../validation.ts';

const CREATE_ORDER = readScript(import.meta.url, '../lua/create-order.lua', 3);
const MOVE_ORDER = readScript(import.meta.url, '../lua/move-order.lua', 3);

const ID_LENGTH = 16;
const READ_AT_ONCE = 200;

export interface OrderMove {
  order: OrderRecord;
  balance: number;
  /** False when the order was already there. */
  changed: boolean;
}

type Dependencies = Pick<StoreDependencies, 'redis' | 'now' | 'random' | 'packs'> & { run: RunScript };

export class OrderStore {
  readonly #to: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#to = dependencies;
  }

  async create(account_id: string, pack_id: string, payment: PaymentId): Promise<OrderRecord> {
    const { redis, now, random, packs, run } = this.#to;
    const pack = packs.find(({ id }) => id === pack_id);
    if (!pack) {
      const known = packs.map(({ id }) => id).join(', ');
      throw new AccountError('pack_unknown', `There is no credit pack ${pack_id}; there are ${known}.`);
    }
    const order_id = `ord_${randomId(ID_LENGTH, random)}`;
    const created_at_ms = now();
    // Whose it is comes first: an order that is found leads to its account, one that was never made leads nowhere.
    await redis.set(redisKeys.orderAccount(order_id), account_id).catch(unavailable);
    const [outcome] = await run(CREATE_ORDER, [
      redisKeys.account(account_id),
      redisKeys.order(account_id, order_id),
      redisKeys.accountOrders(account_id),
      created_at_ms,
      order_id,
      pack.id,
      pack.name,
      pack.credits,
      pack.price_minor,
      pack.currency,
      payment,
    ]);
    if (outcome !== 'created') {
      await redis.del(redisKeys.orderAccount(order_id)).catch(unavailable);
      throw outcome === 'closed'
        ? new AccountError('account_state', 'The account is closed.')
        : new AccountError('account_unknown', `There is no account ${account_id}.`);
    }
    await redis.zadd(redisKeys.orders, 'NX', created_at_ms, order_id).catch(unavailable);
    return this.get(order_id);
  }

  async move(order_id: string, to: Exclude<OrderState, 'pending'>): Promise<OrderMove> {
    const { now, run } = this.#to;
    const account_id = await this.#accountOf(order_id);
    const [outcome, detail, balance] = await run(MOVE_ORDER, [
      redisKeys.account(account_id),
      redisKeys.ledger(account_id),
      redisKeys.order(account_id, order_id),
      now(),
      order_id,
      to,
    ]);
    if (outcome === 'unknown') throw unknownOrder(order_id);
    if (outcome === 'too_large') throw new AccountError('too_large', 'No balance may become that large.');
    if (outcome === 'refused') {
      throw new AccountError('order_state', `An order that is ${String(detail)} cannot become ${to}.`);
    }
    return { order: await this.get(order_id), balance: Number(balance), changed: outcome === 'changed' };
  }

  async get(order_id: string): Promise<OrderRecord> {
    const account_id = await this.#accountOf(order_id);
    const hash = await this.#to.redis.hgetall(redisKeys.order(account_id, order_id)).catch(unavailable);
    const order = orderFrom(order_id, account_id, hash);
    if (!order) throw unknownOrder(order_id);
    return order;
  }

  async list(account_id: string): Promise<OrderRecord[]> {
    const ids = await this.#to.redis.zrevrange(redisKeys.accountOrders(account_id), 0, -1).catch(unavailable);
    return Promise.all(ids.map((order_id) => this.get(order_id)));
  }

  async listAll({ state, limit = 100 }: { state?: OrderState; limit?: number }): Promise<OrderRecord[]> {
    const { redis } = this.#to;
    const found: OrderRecord[] = [];
    for (let from = 0; found.length < limit; from += READ_AT_ONCE) {
      const ids = await redis.zrevrange(redisKeys.orders, from, from + READ_AT_ONCE - 1).catch(unavailable);
      if (ids.length === 0) break;
      const orders = await Promise.all(ids.map((order_id) => this.get(order_id)));
      found.push(...orders.filter((order) => !state || order.state === state));
    }
    return found.slice(0, limit);
  }

  async #accountOf(order_id: string): Promise<string> {
    const account_id = await this.#to.redis.get(redisKeys.orderAccount(order_id)).catch(unavailable);
    if (account_id === null) throw unknownOrder(order_id);
    return account_id;
  }
}

const unknownOrder = (order_id: string): AccountError =>
  new AccountError('order_unknown', `There is no order ${order_id}.`);
