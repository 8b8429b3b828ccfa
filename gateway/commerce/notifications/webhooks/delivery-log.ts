/** The log of deliveries of an account: what was sent to which endpoint, and what it answered. */
import { readScript } from '../../../../data/runtime/redis-scripts.ts';
import { DAY_MS, redisKeys } from '../../../../data/schema/redis-keys.ts';
import { AccountError, Store } from '../../store/store.ts';
import type { SentWebhook } from './sender.ts';

const ADD = readScript(import.meta.url, 'add-delivery.lua', 3);
const RECORD = readScript(import.meta.url, 'record-attempt.lua', 3);
const REPLAY = readScript(import.meta.url, 'replay-delivery.lua', 2);

/** What is kept of an endpoint. */
export const KEPT = { deliveries: 200, days: 30 } as const;
const MAX_ATTEMPTS_KEPT = 20;
/** An endpoint that does nothing but fail is disabled after that. */
export const DISABLE_AFTER_DAYS = 5;

export type DeliveryState = 'waiting' | 'delivered' | 'failed';

/** Times are Unix milliseconds. */
type Attempt = SentWebhook & { at_ms: number };

export interface NewDelivery {
  endpoint_id: string;
  /** The `webhook-id`. */
  message_id: string;
  type: string;
  /** When the event happened. */
  at_ms: number;
  /** The request body. */
  body: string;
}

export interface Delivery extends NewDelivery {
  state: DeliveryState;
  /** The latest, oldest first. */
  attempts: readonly Attempt[];
}

export class DeliveryLog extends Store {
  /** Enters a delivery, once. @returns its state, or `gone` when there is no such endpoint */
  async add(
    account_id: string,
    { endpoint_id, message_id, ...delivery }: NewDelivery,
  ): Promise<DeliveryState | 'gone'> {
    const { webhooks, webhookDeliveries, webhookLog } = redisKeys;
    const ttl_ms = KEPT.days * DAY_MS;
    const [result] = await this.run(ADD, [
      ...[webhooks(account_id), webhookDeliveries(account_id), webhookLog(account_id)],
      ...[endpoint_id, message_id, JSON.stringify(delivery), delivery.at_ms],
      ...[this.now() - ttl_ms, KEPT.deliveries, ttl_ms],
    ]);
    return result === 'added' ? 'waiting' : (result as DeliveryState | 'gone');
  }

  /** @returns whether this attempt disabled the endpoint */
  async record(
    account_id: string,
    { endpoint_id, message_id, attempts }: Delivery,
    done: { attempt: Attempt; state: DeliveryState; outcome: 'delivered' | 'failed' | 'gone' },
  ): Promise<boolean> {
    const { attempt, state, outcome } = done;
    const kept = [...attempts, attempt].slice(-MAX_ATTEMPTS_KEPT);
    const { webhooks, webhookLog, accountOutbox } = redisKeys;
    if (outcome !== 'delivered') await this.expectEvents(account_id);
    const [result] = await this.run(RECORD, [
      ...[webhooks(account_id), webhookLog(account_id), accountOutbox(account_id), endpoint_id, message_id],
      ...[state, JSON.stringify(kept), outcome, this.now(), DISABLE_AFTER_DAYS * DAY_MS],
    ]);
    return result === 'disabled';
  }

  /** Lets a delivery wait again. @throws {AccountError} `delivery_unknown`; `endpoint_disabled` */
  async replay(account_id: string, endpoint_id: string, message_id: string): Promise<void> {
    const names = [redisKeys.webhooks(account_id), redisKeys.webhookLog(account_id)];
    const [result] = await this.run(REPLAY, [...names, endpoint_id, message_id]);
    if (result === 'unknown') throw unknownDelivery(message_id);
    if (result === 'disabled')
      throw new AccountError('endpoint_disabled', 'The webhook is disabled: enable it first.');
  }

  /** Null when it was removed, is too old, or was pushed out by newer ones. */
  async find(account_id: string, endpoint_id: string, message_id: string): Promise<Delivery | null> {
    const [delivery = null] = await this.#read(account_id, [`${endpoint_id}:${message_id}`]);
    return delivery;
  }

  /** @throws {AccountError} `delivery_unknown` */
  async get(account_id: string, endpoint_id: string, message_id: string): Promise<Delivery> {
    const delivery = await this.find(account_id, endpoint_id, message_id);
    if (!delivery) throw unknownDelivery(message_id);
    return delivery;
  }

  /** Newest first. @param endpoint_id without it, those of all endpoints */
  async list(account_id: string, endpoint_id?: string): Promise<Delivery[]> {
    const oldest_ms = this.now() - KEPT.days * DAY_MS;
    const key = redisKeys.webhookDeliveries(account_id);
    const names = await this.redis.zrange(key, '+inf', String(oldest_ms), 'BYSCORE', 'REV');
    const wanted = names.filter((name) => endpoint_id === undefined || name.startsWith(`${endpoint_id}:`));
    return this.#read(account_id, wanted);
  }

  async #read(account_id: string, names: readonly string[]): Promise<Delivery[]> {
    if (names.length === 0) return [];
    const fields = names.flatMap((name) => [name, `${name}:state`, `${name}:attempts`]);
    const values = await this.redis.hmget(redisKeys.webhookLog(account_id), ...fields);
    return names.flatMap((name, index): Delivery[] => {
      const [stored, state, attempts] = values.slice(index * 3, index * 3 + 3);
      if (!stored || !attempts) return [];
      const [endpoint_id = '', message_id = ''] = name.split(':');
      const { type, at_ms, body } = JSON.parse(stored) as Pick<NewDelivery, 'type' | 'at_ms' | 'body'>;
      const facts = { endpoint_id, message_id, type, at_ms, body };
      return [{ ...facts, state: state as DeliveryState, attempts: JSON.parse(attempts) as Attempt[] }];
    });
  }
}

const unknownDelivery = (message_id: string): AccountError =>
  new AccountError('delivery_unknown', `There is no delivery ${message_id}; the log keeps the latest.`);
