/** The webhooks of a gateway: endpoints, the log of deliveries, events, and what sends them. */
import type { Logger } from 'pino';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import type { Settings } from '../../../../data/runtime/settings.ts';
import type { StoreDependencies } from '../../store/store.ts';
import { Deliverer } from './deliverer.ts';
import { DeliveryLog } from './delivery-log.ts';
import { type DeliveryProducer, DeliveryQueue, startDeliveryWorker } from './delivery-queue.ts';
import { EndpointStore } from './endpoint-store.ts';
import { WebhookSender } from './sender.ts';
import { WebhookEvents } from './webhook-events.ts';

export interface Webhooks {
  endpoints: EndpointStore;
  deliveries: DeliveryLog;
  events: WebhookEvents;
  queue: DeliveryProducer;
  /** @param redis a connection that only this worker uses */
  startWorker(redis: RedisClient, log: Logger): { stop(): Promise<void> };
  close(): Promise<void>;
}

export function openWebhooks(
  store: StoreDependencies,
  { WEBHOOK_PRIVATE_TARGETS: allowsPrivate }: Pick<Settings, 'WEBHOOK_PRIVATE_TARGETS'>,
): Webhooks {
  const endpoints = new EndpointStore({ ...store, allowsPrivate });
  const deliveries = new DeliveryLog(store);
  const queue = new DeliveryQueue(store.redis);
  const events = new WebhookEvents({ ...store, endpoints, deliveries, queue });
  const sender = new WebhookSender({ allowsPrivate });
  const deliverer = new Deliverer({ endpoints, deliveries, sender, now: store.now });
  return {
    ...{ endpoints, deliveries, events, queue },
    startWorker: (redis, log) =>
      startDeliveryWorker(redis, (delivery, isLast) => deliverer.deliver(delivery, isLast), log),
    async close() {
      await Promise.all([queue.close(), sender.close()]);
    },
  };
}
