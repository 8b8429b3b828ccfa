/** Which events webhooks are told: those of keys, orders and the balance, each once; whatever else happens meanwhile. */

import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SUBSCRIBABLE } from '../../../../gateway/commerce/notifications/catalogue.ts';
import type { StoredEvent } from '../../../../gateway/commerce/notifications/outbox.ts';
import { Webhooks } from '../../../../gateway/commerce/notifications/webhooks/webhooks.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { cases } from '../../../environment.ts';
import { startWebhooks } from './harness.ts';
import { answers } from './receiver.ts';

const harness = await stopAfterTests(startWebhooks());
beforeEach(() => {
  harness.receiver.received.length = 0;
  harness.receiver.respond = answers(200);
});

/** In any order, because events overtake each other. */
const sorted = (events: readonly (readonly [type: string, data: object])[]) =>
  events.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));

/** Types and data of what was received at a path. */
const told = (path: string) =>
  sorted(harness.receiver.at(path).map(({ payload: { type, data } }) => [type, data] as const));

describe('with a worker', () => {
  let worker: { stop(): Promise<void> };
  beforeAll(() => {
    worker = harness.startWorker();
  });
  afterAll(() => worker.stop());

  it('an event whose delivery could not be queued is told by the next sweep', async () => {
    const { redis, clock, outbox } = harness;
    const account_id = await harness.account();
    await harness.endpoint(account_id, '/queued', ['key.created']);
    const store = { redis, now: () => clock.ms, random: randomBytes };
    const queue = Object.assign(Object.create(harness.queue), {
      add: () => Promise.reject(new Error('Redis is gone')),
    });
    const broken = new Webhooks({ ...store, allowsPrivate: true, queue });
    const data = { key_id: 'k', label: '' };
    await outbox.emit(account_id, 'key.created', 'k', data);
    const hand = (event: StoredEvent) => broken.hand(account_id, event).then(() => 'taken' as const);
    await expect(outbox.drain(account_id, hand)).rejects.toThrow('Redis is gone');
    expect(told('/queued')).toEqual([]);
    await harness.dispatchAll();
    await expect.poll(() => told('/queued')).toEqual([['key.created', data]]);
  });

  it('a closed account loses its webhooks, and what waits for them is not sent', async () => {
    const { accounts, webhooks, redis } = harness;
    const account_id = await harness.account();
    await harness.endpoint(account_id, '/closed', SUBSCRIBABLE);
    await accounts.keys.mint(account_id);
    await accounts.close(account_id);
    await harness.dispatchAll();
    await harness.tell(account_id, 'key.created', 'late', { key_id: 'late', label: '' });
    expect([await webhooks.endpoints.list(account_id), harness.receiver.at('/closed')]).toEqual([[], []]);
    for (const name of ['webhooks', 'deliveries', 'delivery-log'])
      expect(await redis.exists(`{a:${account_id}}:${name}`)).toBe(0);
    const url = harness.receiver.url;
    const late = webhooks.endpoints.create(account_id, { url, types: ['key.created'], by: '' });
    await expect(late).rejects.toMatchObject({ code: 'account_state' });
  });

  it('each event reaches each endpoint that subscribes when it is handed over, with one id, and no other', async () => {
    const types = ['key.created', 'key.revoked'] as const;
    const endpoint = fc.record({
      subscribes: fc.subarray([...types], { minLength: 1 }),
      isRemoved: fc.boolean(),
    });
    const event = fc.record({ type: fc.constantFrom(...types), fails: fc.nat(2) });
    let run = 0;
    const property = async (
      endpoints: { subscribes: string[]; isRemoved: boolean }[],
      events: { type: (typeof types)[number]; fails: number }[],
    ) => {
      const { receiver, webhooks } = harness;
      const account_id = await harness.account();
      const base = `/run-${run++}`;
      const made = [];
      for (const [index, { subscribes }] of endpoints.entries())
        made.push(await harness.endpoint(account_id, `${base}/${index}`, subscribes));
      for (const [index, { isRemoved }] of endpoints.entries())
        if (isRemoved) await webhooks.endpoints.remove(account_id, made[index]?.endpoint_id ?? '');
      const failures = new Map<string, number>();
      receiver.respond = ({ path, payload }, response) => {
        const attempt = `${path} ${payload.data.key_id}`;
        const failed = failures.get(attempt) ?? 0;
        failures.set(attempt, failed + 1);
        response.writeHead(failed < (events[Number(payload.data.key_id)]?.fails ?? 0) ? 500 : 200).end();
      };
      await Promise.all(
        events.map(({ type }, index) =>
          harness.tell(account_id, type, String(index), { key_id: String(index), label: '' }),
        ),
      );
      const expected = endpoints.flatMap(({ subscribes, isRemoved }, at) =>
        events.flatMap(({ type }, index) =>
          subscribes.includes(type) && !isRemoved ? [`${base}/${at} ${index}`] : [],
        ),
      );
      const delivered = async () => {
        await harness.promoteAll();
        const log = await webhooks.deliveries.list(account_id);
        return log.filter(({ state }) => state === 'delivered').length;
      };
      await expect.poll(delivered).toBe(expected.length);
      const seen = receiver.received.filter(({ path }) => path.startsWith(`${base}/`));
      const reached = new Set(seen.map(({ path, payload }) => `${path} ${payload.data.key_id}`));
      expect([...reached].sort()).toEqual(expected.sort());
      for (const index of events.keys()) {
        const ids = seen.filter(({ payload }) => payload.data.key_id === String(index)).map(({ id }) => id);
        expect(new Set(ids).size).toBeLessThanOrEqual(1);
      }
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(endpoint, { minLength: 1, maxLength: 4 }),
        fc.array(event, { minLength: 1, maxLength: 6 }),
        property,
      ),
      { numRuns: cases(15) },
    );
  });
});

it('a worker that is killed while it sends loses nothing: another sends it again, with the same id', async () => {
  const { receiver, webhooks, settings } = harness;
  const account_id = await harness.account();
  const { endpoint_id } = await harness.endpoint(account_id, '/killed', ['key.created']);
  receiver.respond = () => {};
  const child = fork(new URL('worker-program.ts', import.meta.url), { env: settings });
  await harness.tell(account_id, 'key.created', 'k', { key_id: 'k', label: '' });
  await expect.poll(() => receiver.received.length).toBe(1);
  child.kill('SIGKILL');
  await once(child, 'exit');
  receiver.respond = answers(200);
  const [job] = await harness.queue.getActive();
  // What passes within a minute: the job's lock ends, and two checks find it without one.
  const keyOf = (name: string): string => harness.queue.toKey(name);
  await harness.redis.del(keyOf(`${job?.id}:lock`), keyOf('stalled-check'));
  await harness.redis.sadd(keyOf('stalled'), job?.id ?? '');
  const worker = harness.startWorker();
  await expect
    .poll(async () => (await webhooks.deliveries.list(account_id, endpoint_id))[0]?.state)
    .toBe('delivered');
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  expect(receiver.received.length).toBe(2);
  await worker.stop();
});
