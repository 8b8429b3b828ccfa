/** Orders of credit packs. A paid order grants its credits exactly once, even if repeated or raced; changes issue invoices. */
import { join } from 'node:path';
import { z } from 'zod';
import { Problems, readDocument } from '../../../data/curated/table.ts';
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { type CreditPack, creditPack } from '../../../data/schema/curated.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import {
  AccountError,
  expectOpenAccount,
  type OrderRecord,
  type OrderState,
  orderFrom,
  type PaymentId,
  Store,
  type StoreDependencies,
} from '../store/store.ts';
import { InvoiceRegister } from './invoice-register.ts';
import type { SalesTerms } from './sales-terms.ts';

const CREATE_ORDER = readScript(import.meta.url, 'lua/create-order.lua', 4);
const MOVE_ORDER = readScript(import.meta.url, 'lua/move-order.lua', 4);

const SESSION_FIELD = 'session:';
const READ_BATCH = 200;
const ID_BATCH = 10_000;

/** The credit packs on sale, from curated data. @throws {CuratedError} naming file, line and reason. */
export async function readPacks(curatedDir: string): Promise<CreditPack[]> {
  const problems = new Problems();
  const document = await readDocument(join(curatedDir, 'packs.yaml'), z.array(creditPack), problems);
  problems.throwIfAny();
  return document?.value ?? [];
}

/** What the payment provider reports: about a session (`open` when it starts), or the full refund of a payment. */
export interface PaymentReport {
  kind: 'open' | 'expired' | 'failed' | 'paid' | 'refunded';
  /** Empty for `refunded`. */
  session_id: string;
  /** Empty if the provider names none. */
  payment_id: string;
}

interface Dependencies extends StoreDependencies {
  packs: readonly CreditPack[];
  terms: SalesTerms;
}

export class OrderStore extends Store<Dependencies> {
  readonly invoices = new InvoiceRegister({ ...this.deps, readOrder: (order_id) => this.get(order_id) });

  /** Grants nothing yet. @throws {AccountError} `pack_unknown`, `account_state` */
  async create(
    account_id: string,
    pack_id: string,
    payment: PaymentId = 'invoice',
    by = '',
  ): Promise<OrderRecord> {
    const { redis } = this;
    const { packs } = this.deps;
    const pack = packs.find(({ id }) => id === pack_id);
    if (!pack) {
      const known = packs.map(({ id }) => id).join(', ');
      throw new AccountError('pack_unknown', `There is no credit pack ${pack_id}; there are ${known}.`);
    }
    const order_id = this.newId('ord');
    await this.invoices.follow(order_id, async () => {
      const created_at_ms = this.now();
      // Written first: an order that can be found always leads to its account.
      await redis.set(redisKeys.orderAccount(order_id), account_id);
      await this.expectEvents(account_id);
      const [result] = await this.run(CREATE_ORDER, [
        ...[redisKeys.account(account_id), redisKeys.order(account_id, order_id)],
        ...[redisKeys.accountOrders(account_id), redisKeys.accountOutbox(account_id)],
        ...[created_at_ms, order_id, pack.id, pack.name, pack.credits, pack.price_minor, pack.currency],
        ...[payment, by],
      ]);
      if (result !== 'created') await redis.del(redisKeys.orderAccount(order_id));
      expectOpenAccount(result, account_id);
      await redis.zadd(redisKeys.orders, 'NX', created_at_ms, order_id);
    });
    return this.get(order_id);
  }

  /**
   * Changes the state by hand. Idempotent. @throws {AccountError} `order_state`, `order_unknown`, `too_large`
   * @param by whom mails about it name; without it there are none
   */
  move(order_id: string, to: Exclude<OrderState, 'pending'>, by = '') {
    return this.invoices.follow(order_id, () => this.#move(order_id, `become ${to}`, ['hand', to, '', by]));
  }

  /**
   * Records a report and moves the order to the state that follows from all reports, whatever their sequence.
   * Idempotent. @throws {AccountError} `order_state` for a session that starts when the order is not pending,
   * `order_unknown`, `too_large`
   */
  settle(order_id: string, { kind, session_id, payment_id }: PaymentReport) {
    return this.invoices.follow(order_id, () =>
      this.#move(order_id, 'be paid', [kind, session_id, payment_id, 'stripe']),
    );
  }

  /** @param wish what a refusal says that the order cannot do @param report as `move-order.lua` takes it */
  async #move(order_id: string, wish: string, report: readonly string[]) {
    const account_id = await this.#accountOf(order_id);
    await this.expectEvents(account_id);
    const [result, state, balance, payments, before] = await this.run(MOVE_ORDER, [
      redisKeys.account(account_id),
      redisKeys.ledger(account_id),
      redisKeys.order(account_id, order_id),
      redisKeys.accountOutbox(account_id),
      ...[this.now(), order_id, ...report],
    ]);
    if (result === 'unknown') throw unknownOrder(order_id);
    if (result === 'too_large') throw new AccountError('too_large', 'The balance would become too large.');
    if (result === 'refused')
      throw new AccountError('order_state', `An order that is ${String(state)} cannot ${wish}.`);
    return {
      order: await this.get(order_id),
      balance: Number(balance),
      /** False when the order was already in that state. */
      changed: result === 'changed',
      /** False if the report was known already. */
      isNew: result !== 'unchanged',
      /** Payments that were not refunded; more than one means that the order was paid twice. */
      payments: Number(payments),
      before: before as OrderState,
    };
  }

  /** The payment sessions that are known of an order. */
  async sessions({ account_id, order_id }: OrderRecord) {
    const hash = await this.redis.hgetall(redisKeys.order(account_id, order_id));
    return Object.entries(hash)
      .filter(([field]) => field.startsWith(SESSION_FIELD))
      .map(([field, state]) => ({
        session_id: field.slice(SESSION_FIELD.length),
        state: state as Exclude<PaymentReport['kind'], 'refunded'>,
      }));
  }

  /** @throws {AccountError} `order_unknown` */
  async get(order_id: string): Promise<OrderRecord> {
    const account_id = await this.#accountOf(order_id);
    const hash = await this.redis.hgetall(redisKeys.order(account_id, order_id));
    const order = orderFrom(order_id, account_id, hash);
    if (!order) throw unknownOrder(order_id);
    return order;
  }

  /** Newest first. */
  async list(account_id: string): Promise<OrderRecord[]> {
    const ids = await this.redis.zrevrange(redisKeys.accountOrders(account_id), 0, -1);
    return Promise.all(ids.map((order_id) => this.get(order_id)));
  }

  /** Orders of all accounts, newest first. */
  async listAll({ state, limit = 100 }: { state?: OrderState; limit?: number }): Promise<OrderRecord[]> {
    const { redis } = this;
    const found: OrderRecord[] = [];
    for (let from = 0; found.length < limit; from += READ_BATCH) {
      const ids = await redis.zrevrange(redisKeys.orders, from, from + READ_BATCH - 1);
      if (ids.length === 0) break;
      const orders = await Promise.all(ids.map((order_id) => this.get(order_id)));
      found.push(...orders.filter((order) => !state || order.state === state));
    }
    return found.slice(0, limit);
  }

  /** Ids that contain a text, of all accounts, newest first. @param limit of ids */
  async findIds(part: string, limit = 500): Promise<string[]> {
    const found: string[] = [];
    for (let from = 0; found.length < limit; from += ID_BATCH) {
      const ids = await this.redis.zrevrange(redisKeys.orders, from, from + ID_BATCH - 1);
      if (ids.length === 0) break;
      found.push(...ids.filter((id) => id.includes(part)));
    }
    return found.slice(0, limit);
  }

  async #accountOf(order_id: string): Promise<string> {
    const account_id = await this.redis.get(redisKeys.orderAccount(order_id));
    if (account_id === null) throw unknownOrder(order_id);
    return account_id;
  }
}

export type Settlement = Awaited<ReturnType<OrderStore['settle']>>;

const unknownOrder = (order_id: string): AccountError =>
  new AccountError('order_unknown', `There is no order ${order_id}.`);
