/**
 * The webhooks of a gateway: endpoints, the log of deliveries, and what sends them. An event is entered in the log, which
 * holds each delivery once, and queued; an attempt may be made twice, under the same `webhook-id`.
 */
import { createHash } from 'node:crypto';
import type { Job, Queue } from 'bullmq';
import type { Logger } from 'pino';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import { randomId } from '../../../api/metering/metering.ts';
import { nullIf, type StoreDependencies } from '../../store/store.ts';
import { eventRow } from '../catalogue.ts';
import { openQueue, REMOVED, retryOptions, startWorker, WEBHOOK_ATTEMPTS } from '../jobs/queue.ts';
import type { StoredEvent } from '../outbox.ts';
import { type Delivery, DeliveryLog } from './delivery-log.ts';
import type { WebhookEndpoint } from './endpoint-records.ts';
import { EndpointStore, type SigningEndpoint } from './endpoint-store.ts';
import { type SentWebhook, WebhookSender } from './sender.ts';
import { signedHeaders } from './signature.ts';

const GONE = 410;
const TEST_ID_LENGTH = 16;
const MESSAGE_ID_LENGTH = 32;

export interface DeliveryId {
  account_id: string;
  endpoint_id: string;
  message_id: string;
}

type DeliveryQueue = Pick<Queue, 'add' | 'getJob' | 'close'>;
type HandedEvent = Pick<StoredEvent, 'id' | 'type' | 'at_ms' | 'data'>;

interface WebhookDependencies extends StoreDependencies {
  /** Whether endpoints may be at private addresses, and use http. */
  allowsPrivate: boolean;
  /** Default: the one in Redis. */
  queue?: DeliveryQueue;
}

export class Webhooks {
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryLog;
  readonly #deps: WebhookDependencies;
  readonly #queue: DeliveryQueue;
  readonly #sender: WebhookSender;

  constructor(dependencies: WebhookDependencies) {
    this.endpoints = new EndpointStore(dependencies);
    this.deliveries = new DeliveryLog(dependencies);
    this.#deps = dependencies;
    this.#queue = dependencies.queue ?? openQueue(dependencies.redis, 'webhooks');
    this.#sender = new WebhookSender(dependencies);
  }

  /** Sends a test event to one endpoint. @throws {AccountError} `endpoint_unknown` */
  async test(account_id: string, endpoint_id: string): Promise<string> {
    const { now, random } = this.#deps;
    const endpoint = await this.endpoints.get(account_id, endpoint_id);
    const id = `test:${randomId(TEST_ID_LENGTH, random)}`;
    const data = { message: 'This is a test event.' };
    await this.#hand(account_id, endpoint, { id, type: 'test', at_ms: now(), data });
    return deriveMessageId(account_id, id);
  }

  /** Hands an event to every endpoint that subscribes to its type, once. */
  async hand(account_id: string, event: HandedEvent): Promise<void> {
    for (const endpoint of await this.endpoints.list(account_id))
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
    { id, type, at_ms, data }: HandedEvent,
  ): Promise<void> {
    const message_id = deriveMessageId(account_id, id);
    const timestamp = new Date(at_ms).toISOString();
    const body = JSON.stringify({ type, timestamp, data: eventRow({ type })?.data.parse(data) });
    const state = await this.deliveries.add(account_id, { endpoint_id, message_id, type, at_ms, body });
    if (state === 'waiting') await this.#enqueue({ account_id, endpoint_id, message_id });
  }

  /** Makes another attempt now. @throws {AccountError} `delivery_unknown`; `endpoint_disabled` */
  async replay(delivery: DeliveryId): Promise<void> {
    const { account_id, endpoint_id, message_id } = delivery;
    await this.deliveries.replay(account_id, endpoint_id, message_id);
    await this.#enqueue(delivery);
    const job: Job | undefined = await this.#queue.getJob(deliveryJobId(delivery));
    if (job && (await job.isDelayed())) await job.promote();
  }

  /** A delivery that waits for its next attempt is not queued again. The log keeps what became of it. */
  async #enqueue(delivery: DeliveryId): Promise<void> {
    const options = { jobId: deliveryJobId(delivery), ...retryOptions('webhooks'), ...REMOVED };
    await this.#queue.add('delivery', delivery, options);
  }

  /** @param redis a connection that only this worker uses */
  startWorker(redis: RedisClient, log: Logger): { stop(): Promise<void> } {
    const worker = startWorker<DeliveryId>(redis, 'webhooks', async ({ data, attemptsMade }) => {
      const isLast = attemptsMade + 1 >= WEBHOOK_ATTEMPTS;
      const result = await this.#deliver(data, isLast).catch((error: unknown) => {
        log.warn({ delivery: data, err: error }, 'delivery of a webhook failed here');
        throw error;
      });
      if (result === 'again') throw new Error('the endpoint did not accept it');
    });
    return { stop: () => worker.close() };
  }

  /**
   * Makes one attempt and records it.
   * @param isLast whether a failure is final
   * @returns whether another attempt is needed
   * @throws {AccountError} `unavailable`
   */
  async #deliver(
    { account_id, endpoint_id, message_id }: DeliveryId,
    isLast: boolean,
  ): Promise<'done' | 'again'> {
    const endpoint = await this.endpoints.get(account_id, endpoint_id).catch(nullIf('endpoint_unknown'));
    const delivery = await this.deliveries.find(account_id, endpoint_id, message_id);
    if (!endpoint || delivery?.state !== 'waiting') return 'done';
    const isEnabled = endpoint.state === 'enabled';
    const sent = isEnabled
      ? await this.#send(endpoint, delivery)
      : { status: null, answer: 'not sent: the webhook is disabled' };
    const { status } = sent;
    const isAccepted = status !== null && status >= 200 && status < 300;
    const outcome = isAccepted ? 'delivered' : status === GONE ? 'gone' : 'failed';
    const isFinal = isLast || outcome === 'gone' || !isEnabled;
    const state = outcome === 'delivered' ? 'delivered' : isFinal ? 'failed' : 'waiting';
    const attempt = { at_ms: this.#deps.now(), ...sent };
    await this.deliveries.record(account_id, delivery, { attempt, state, outcome });
    return state === 'waiting' ? 'again' : 'done';
  }

  #send({ url, secrets }: SigningEndpoint, { message_id, body }: Delivery): Promise<SentWebhook> {
    const sent_at_s = Math.floor(this.#deps.now() / 1_000);
    return this.#sender.send(url, signedHeaders({ message_id, sent_at_s, body }, secrets), body);
  }

  async close(): Promise<void> {
    await Promise.all([this.#queue.close(), this.#sender.close()]);
  }
}

const deliveryJobId = ({ account_id, endpoint_id, message_id }: DeliveryId): string =>
  [account_id, endpoint_id, message_id].join('-');

/** The same for all endpoints, and unlike that of any other account. */
function deriveMessageId(account_id: string, event_id: string): string {
  const digest = createHash('sha256').update(`${account_id} ${event_id}`).digest('hex');
  return `msg_${digest.slice(0, MESSAGE_ID_LENGTH)}`;
}
