/** Webhooks for a test file: real Redis, accounts, the queue with its worker, and a receiver. */
import { randomBytes } from 'node:crypto';
import type { Queue } from 'bullmq';
import { connectRedis } from '../../../../data/runtime/redis.ts';
import { readSettings } from '../../../../data/runtime/settings.ts';
import { AccountStore } from '../../../../gateway/commerce/accounts/account-store.ts';
import { openQueue } from '../../../../gateway/commerce/notifications/jobs/queue.ts';
import { Outbox } from '../../../../gateway/commerce/notifications/outbox.ts';
import { type DeliveryId, Webhooks } from '../../../../gateway/commerce/notifications/webhooks/webhooks.ts';
import { readPacks } from '../../../../gateway/commerce/orders/order-store.ts';
import { silentLog, startRedis } from '../../../redis.ts';
import { startReceiver } from './receiver.ts';

export async function startWebhooks() {
  const server = await startRedis();
  const redis = await server.connect();
  const settings = readSettings({ REDIS_URL: server.url, WEBHOOK_PRIVATE_TARGETS: 'true' });
  const clock = { ms: Date.now() };
  const store = { redis, now: () => clock.ms, random: randomBytes };
  const accounts = new AccountStore({ ...store, packs: await readPacks(settings.CURATED_DIR) });
  const webhooks = new Webhooks({ ...store, allowsPrivate: true });
  const outbox = new Outbox(store);
  const dispatch = (account_id: string): Promise<void> =>
    outbox.drain(account_id, async (event) => {
      await webhooks.hand(account_id, event);
      return 'taken';
    });
  const receiver = await startReceiver();
  const queue: Queue<DeliveryId> = openQueue(redis, 'webhooks');
  const workers: { stop(): Promise<void> }[] = [];
  let made = 0;
  return {
    redis,
    accounts,
    webhooks,
    receiver,
    outbox,
    queue,
    /** The clock of the service. */
    clock,
    /** Settings of a process that sends webhooks of the same Redis. */
    settings: { ...server.settings, WEBHOOK_PRIVATE_TARGETS: 'true' },
    /** A new verified account with 1,000 credits. */
    async account(): Promise<string> {
      const email = `webhooks-${made++}@example.org`;
      return (await accounts.create({ email, verified: true, credits: 1_000, by: 'test' })).account_id;
    },
    /** An endpoint at a path of the receiver. */
    endpoint: (account_id: string, path: string, types: readonly string[]) =>
      webhooks.endpoints.create(account_id, { url: receiver.url + path, types, by: 'per_test' }),
    /** Starts a worker as a gateway does. */
    startWorker() {
      const connection = connectRedis(settings, silentLog, 'jobs');
      const worker = webhooks.startWorker(connection, silentLog);
      const started = {
        async stop() {
          await worker.stop();
          connection.disconnect();
        },
      };
      workers.push(started);
      return started;
    },
    /** Writes an event to the outbox and hands it over. */
    async tell(account_id: string, type: string, id: string, data: object): Promise<void> {
      await outbox.emit(account_id, type, id, data);
      await dispatch(account_id);
    },
    /** Does what the sweep does for events. */
    async dispatchAll(): Promise<void> {
      for (const account_id of await outbox.listOwners()) await dispatch(account_id);
    },
    /** Makes the next attempt of every delivery that waits for its time. */
    async promoteAll(): Promise<void> {
      for (const job of await queue.getDelayed()) await job.promote();
    },
    /** Whether no delivery is queued or sent, except those that wait for their time. */
    async idle(): Promise<boolean> {
      return (await queue.getJobCountByTypes('waiting', 'active', 'prioritized')) === 0;
    },
    async stop(): Promise<void> {
      await Promise.all(workers.map((worker) => worker.stop()));
      await queue.close();
      await webhooks.close();
      await receiver.stop();
      await server.stop();
    },
  };
}
