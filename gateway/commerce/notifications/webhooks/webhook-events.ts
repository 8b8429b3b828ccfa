/**
 * Hands events of the outbox to the endpoints of an account: enters them in the log of deliveries, which holds each delivery
 * once, and queues them.
 */
import { createHash } from 'node:crypto';
import { randomId } from '../../../api/metering/metering.ts';
import type { StoreDependencies } from '../../store/store.ts';
import { rowOf } from '../catalogue.ts';
import type { StoredEvent } from '../outbox.ts';
import type { DeliveryLog } from './delivery-log.ts';
import type { DeliveryProducer } from './delivery-queue.ts';
import type { WebhookEndpoint } from './endpoint-records.ts';
import type { EndpointStore } from './endpoint-store.ts';

const TEST_ID_LENGTH = 16;

interface Dependencies extends StoreDependencies {
  endpoints: EndpointStore;
  deliveries: DeliveryLog;
  queue: DeliveryProducer;
}

export class WebhookEvents {
  readonly #deps: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies;
  }

  /** Sends a test event to one endpoint. @throws {AccountError} `endpoint_unknown` */
  async test(account_id: string, endpoint_id: string): Promise<string> {
    const { now, random, endpoints } = this.#deps;
    const endpoint = await endpoints.get(account_id, endpoint_id);
    const id = `test:${randomId(TEST_ID_LENGTH, random)}`;
    const data = { message: 'This is a test event.' };
    await this.#hand(account_id, endpoint, { id, type: 'test', at_ms: now(), data });
    return deriveMessageId(account_id, id);
  }

  /** Hands an event to every endpoint that subscribes to its type, once. */
  async hand(account_id: string, event: Pick<StoredEvent, 'id' | 'type' | 'at_ms' | 'data'>): Promise<void> {
    for (const endpoint of await this.#deps.endpoints.list(account_id))
      if (
        endpoint.state === 'enabled' &&
        endpoint.types.includes(event.type) &&
        endpoint.created_at_ms <= event.at_ms
      )
        await this.#hand(account_id, endpoint, event);
  }

  async #hand(
    account_id: string,
    { endpoint_id }: WebhookEndpoint,
    { id, type, at_ms, data }: Pick<StoredEvent, 'id' | 'type' | 'at_ms' | 'data'>,
  ): Promise<void> {
    const { deliveries, queue } = this.#deps;
    const message_id = deriveMessageId(account_id, id);
    const timestamp = new Date(at_ms).toISOString();
    const body = JSON.stringify({ type, timestamp, data: rowOf({ type })?.data.parse(data) });
    const delivery = { endpoint_id, message_id, type, at_ms, body };
    const state = await deliveries.add(account_id, delivery);
    if (state === 'waiting') await queue.add({ account_id, endpoint_id, message_id });
  }
}

const MESSAGE_ID_LENGTH = 32;

/** The same for all endpoints, and unlike that of any other account. */
function deriveMessageId(account_id: string, event_id: string): string {
  const digest = createHash('sha256').update(`${account_id} ${event_id}`).digest('hex');
  return `msg_${digest.slice(0, MESSAGE_ID_LENGTH)}`;
}
