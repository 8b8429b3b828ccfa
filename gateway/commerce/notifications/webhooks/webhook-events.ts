/**
 * Tells events to the endpoints of an account.
 *
 * An event is first stored with the account, by the script that makes the change or by `emit`, and then handed to every
 * endpoint that subscribes to it: entered in the log of deliveries and queued. It is removed only after that, so that a
 * process that dies in between loses nothing; the sweep hands it over again, and the log holds each delivery once.
 */
import { createHash } from 'node:crypto';
import { readScript } from '../../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { randomId } from '../../../api/metering/metering.ts';
import {
  createRunScript,
  type RunScript,
  type StoreDependencies,
  throwUnavailable,
} from '../../store/store.ts';
import type { DeliveryLog } from './delivery-log.ts';
import type { DeliveryProducer } from './delivery-queue.ts';
import {
  endpointsFrom,
  eventField,
  type PendingEvent,
  pendingEventsFrom,
  untoldFrom,
  type WebhookEndpoint,
} from './endpoint-records.ts';
import type { EndpointStore } from './endpoint-store.ts';
import { EVENT_TYPES, type EventData, type EventType } from './event-types.ts';

const EMIT = readScript(import.meta.url, 'emit-event.lua', 1);
const BATCH = 200;
const TEST_ID_LENGTH = 16;

interface Dependencies extends StoreDependencies {
  endpoints: EndpointStore;
  deliveries: DeliveryLog;
  queue: DeliveryProducer;
}

export class WebhookEvents {
  readonly #deps: Dependencies;
  readonly #run: RunScript;

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies;
    this.#run = createRunScript(dependencies.redis);
  }

  /**
   * Tells an event to every endpoint that subscribes to its type. Idempotent by type and id, for as long as the log of
   * deliveries reaches back.
   * @param id of the event, unique among those of its type in the account
   * @throws {AccountError} `unavailable`; {ZodError} when the data has not the shape of the type
   */
  async emit<Type extends EventType>(
    account_id: string,
    type: Type,
    id: string,
    data: EventData<Type>,
  ): Promise<void> {
    const event = JSON.stringify({ type, at_ms: this.#deps.now(), data: EVENT_TYPES[type].data.parse(data) });
    const names = [redisKeys.webhooks(account_id), eventField(`${type}:${id}`)];
    const [result] = await this.#run(EMIT, [...names, event]);
    if (result === 'stored') await this.dispatch(account_id);
  }

  /** Sends a test event to one endpoint. @throws {AccountError} `endpoint_unknown` */
  async test(account_id: string, endpoint_id: string): Promise<string> {
    const { now, random, endpoints } = this.#deps;
    const endpoint = await endpoints.get(account_id, endpoint_id);
    const event_id = `test:${randomId(TEST_ID_LENGTH, random)}`;
    const data = { message: 'This is a test event.' };
    await this.#hand(account_id, endpoint, { event_id, type: 'test', at_ms: now(), data });
    return messageIdOf(account_id, event_id);
  }

  /** Hands the events that wait to their endpoints. Idempotent. */
  async dispatch(account_id: string): Promise<void> {
    const { endpoints, redis } = this.#deps;
    const hash = await endpoints.read(account_id);
    const enabled = endpointsFrom(hash).filter(({ state }) => state === 'enabled');
    for (const event of pendingEventsFrom(hash)) {
      for (const endpoint of enabled)
        if (endpoint.types.includes(event.type) && endpoint.created_at_ms <= event.at_ms)
          await this.#hand(account_id, endpoint, event);
      await redis.hdel(redisKeys.webhooks(account_id), event.field).catch(throwUnavailable);
    }
  }

  async #hand(
    account_id: string,
    { endpoint_id }: WebhookEndpoint,
    { event_id, type, at_ms, data }: Omit<PendingEvent, 'field'>,
  ): Promise<void> {
    const { deliveries, queue } = this.#deps;
    const message_id = messageIdOf(account_id, event_id);
    const timestamp = new Date(at_ms).toISOString();
    const body = JSON.stringify({ type, timestamp, data: EVENT_TYPES[type].data.parse(data) });
    const delivery = { endpoint_id, message_id, type, at_ms, body };
    const state = await deliveries.add(account_id, delivery);
    if (state === 'waiting') await queue.add({ account_id, endpoint_id, message_id });
  }

  /** Accounts with events that wait, and endpoints that were disabled without telling the owner yet. */
  async *findPending(): AsyncGenerator<{ account_id: string; untold: WebhookEndpoint[] }> {
    const { redis, endpoints } = this.#deps;
    for (let from = 0; ; from += BATCH) {
      const ids = await redis.zrange(redisKeys.webhookAccounts, String(from), String(from + BATCH - 1));
      if (ids.length === 0) return;
      const hashes = await Promise.all(ids.map((account_id) => endpoints.read(account_id)));
      for (const [index, account_id] of ids.entries()) {
        const hash = hashes[index] ?? {};
        const untold = untoldFrom(hash);
        if (untold.length > 0 || pendingEventsFrom(hash).length > 0) yield { account_id, untold };
      }
    }
  }
}

const MESSAGE_ID_LENGTH = 32;

/** The same for all endpoints, and unlike that of any other account. */
function messageIdOf(account_id: string, event_id: string): string {
  const digest = createHash('sha256').update(`${account_id} ${event_id}`).digest('hex');
  return `msg_${digest.slice(0, MESSAGE_ID_LENGTH)}`;
}
