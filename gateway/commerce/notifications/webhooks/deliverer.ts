/** Makes one attempt of a delivery and records it. May run twice for one delivery, whose `webhook-id` stays the same. */
import { AccountError } from '../../store/store.ts';
import type { Delivery, DeliveryLog } from './delivery-log.ts';
import type { DeliveryId } from './delivery-queue.ts';
import type { EndpointStore, SigningEndpoint } from './endpoint-store.ts';
import type { SentWebhook, WebhookSender } from './sender.ts';
import { signedHeaders } from './signature.ts';

const GONE = 410;

export interface DelivererDependencies {
  endpoints: EndpointStore;
  deliveries: DeliveryLog;
  sender: WebhookSender;
  /** Unix milliseconds. */
  now: () => number;
}

export class Deliverer {
  readonly #deps: DelivererDependencies;

  constructor(dependencies: DelivererDependencies) {
    this.#deps = dependencies;
  }

  /**
   * @param isLast whether a failure is final
   * @returns whether another attempt is needed
   * @throws {AccountError} `unavailable`
   */
  async deliver(
    { account_id, endpoint_id, message_id }: DeliveryId,
    isLast: boolean,
  ): Promise<'done' | 'again'> {
    const { endpoints, deliveries } = this.#deps;
    const endpoint = await endpoints.get(account_id, endpoint_id).catch(nullIfRemoved);
    const delivery = await deliveries.find(account_id, endpoint_id, message_id);
    if (!endpoint || delivery?.state !== 'waiting') return 'done';
    const sent =
      endpoint.state === 'enabled'
        ? await this.#send(endpoint, delivery)
        : { status: null, answer: 'not sent: the webhook is disabled' };
    return this.#record(account_id, { endpoint, delivery, sent, isLast });
  }

  #send({ url, secrets }: SigningEndpoint, { message_id, body }: Delivery): Promise<SentWebhook> {
    const sent_at_s = Math.floor(this.#deps.now() / 1_000);
    return this.#deps.sender.send(url, signedHeaders({ message_id, sent_at_s, body }, secrets), body);
  }

  async #record(
    account_id: string,
    attempt: { endpoint: SigningEndpoint; delivery: Delivery; sent: SentWebhook; isLast: boolean },
  ): Promise<'done' | 'again'> {
    const { deliveries, now } = this.#deps;
    const { endpoint, delivery, sent, isLast } = attempt;
    const { status } = sent;
    const outcome =
      status !== null && status >= 200 && status < 300 ? 'delivered' : status === GONE ? 'gone' : 'failed';
    const isFinal = isLast || outcome === 'gone' || endpoint.state === 'disabled';
    const state = outcome === 'delivered' ? 'delivered' : isFinal ? 'failed' : 'waiting';
    await deliveries.record(account_id, delivery, { attempt: { at_ms: now(), ...sent }, state, outcome });
    return state === 'waiting' ? 'again' : 'done';
  }
}

function nullIfRemoved(error: unknown): null {
  if (error instanceof AccountError && error.code === 'endpoint_unknown') return null;
  throw error;
}
