/** Deliveries of webhooks to a real receiver: signed, retried, recorded, and ended where an endpoint ends. */
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../../data/schema/redis-keys.ts';
import type { Delivery } from '../../../../gateway/commerce/notifications/webhooks/delivery-log.ts';
import { EndpointStore } from '../../../../gateway/commerce/notifications/webhooks/endpoint-store.ts';
import { WebhookSender } from '../../../../gateway/commerce/notifications/webhooks/sender.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { startWebhooks } from './harness.ts';
import { answers, isSignedWith } from './receiver.ts';

const harness = await stopAfterTests(startWebhooks());
harness.startWorker();
beforeEach(() => {
  // Verifiers compare the time of a signature with their own clock.
  harness.clock.ms = Date.now();
  harness.receiver.received.length = 0;
  harness.receiver.respond = answers(200, 'thank you');
});

/** A delivery that was attempted that often, and waits or has ended. */
async function attempted(account_id: string, endpoint_id: string, attempts: number): Promise<Delivery> {
  const latest = async () => (await harness.webhooks.deliveries.list(account_id, endpoint_id))[0];
  await expect.poll(async () => (await latest())?.attempts.length).toBe(attempts);
  await expect.poll(() => harness.idle()).toBe(true);
  const delivery = await latest();
  if (!delivery) throw new Error('no delivery');
  return delivery;
}

const stateOf = async (account_id: string, endpoint_id: string) => {
  const { state, disabled_because, failing_since_ms } = await harness.webhooks.endpoints.get(
    account_id,
    endpoint_id,
  );
  return { state, disabled_because, failing_since_ms };
};

it('an event reaches the endpoints that subscribe to it, signed, with one id, once for each id of an event', async () => {
  const { receiver } = harness;
  const account_id = await harness.account();
  const first = await harness.endpoint(account_id, '/first', ['key.created', 'credits.low']);
  const second = await harness.endpoint(account_id, '/second', ['key.created']);
  await harness.endpoint(account_id, '/other', ['credits.low']);
  const data = { key_id: 'k1', label: 'notebook' };
  for (let repeat = 0; repeat < 3; repeat++) await harness.tell(account_id, 'key.created', 'k1', data);
  await expect.poll(() => receiver.received.length).toBe(2);
  const { body, attempts, state, type } = await attempted(account_id, first.endpoint_id, 1);
  const [one] = receiver.at('/first');
  const [two] = receiver.at('/second');
  if (!one || !two) throw new Error('not delivered');
  expect(one.id).toMatch(/^msg_[0-9a-f]{32}$/);
  expect(two.id).toBe(one.id);
  const timestamp = new Date(harness.clock.ms).toISOString();
  expect(one.payload).toEqual({ type: 'key.created', timestamp, data });
  expect([isSignedWith(first.secret, one), isSignedWith(second.secret, two)]).toEqual([true, true]);
  expect([isSignedWith(second.secret, one), isSignedWith(first.secret, two)]).toEqual([false, false]);
  expect(receiver.received.length).toBe(2);
  expect([type, state, body]).toEqual(['key.created', 'delivered', one.body]);
  expect(attempts).toEqual([{ at_ms: harness.clock.ms, status: 200, answer: 'thank you' }]);
});

it('data of another shape than that of its type is refused and stored nowhere', async () => {
  const account_id = await harness.account();
  await harness.endpoint(account_id, '/shape', ['credits.low']);
  const emit = harness.tell(account_id, 'credits.low', '1', { balance: -1, threshold: 5 });
  await expect(emit).rejects.toThrow('balance');
  expect(await harness.webhooks.deliveries.list(account_id)).toEqual([]);
});

it.each(['test', 'key.stolen', ''])('no endpoint subscribes to "%s"', async (type) => {
  const made = harness.endpoint(await harness.account(), '/none', ['key.created', type]);
  await expect(made).rejects.toMatchObject({
    code: 'bad_input',
    message: expect.stringContaining(`"${type}"`),
  });
});

it('an endpoint at a private address is refused, unless the settings allow it', async () => {
  const { redis } = harness;
  const store = { redis, now: () => harness.clock.ms, random: randomBytes };
  const endpoints = new EndpointStore({ ...store, allowsPrivate: false });
  const account_id = await harness.account();
  const create = (url: string) => endpoints.create(account_id, { url, types: ['key.created'], by: '' });
  await expect(create('http://example.org/')).rejects.toThrow('an https:// address');
  await expect(create('https://169.254.169.254/')).rejects.toThrow('no address of the public internet');
  await expect(create('https://localhost/')).rejects.toThrow('no address of the public internet');
  expect(await create('https://example.org/')).toMatchObject({ secret: expect.stringMatching(/^whsec_/) });
});

it('an endpoint at a port below 1024 but those of the web is refused, made or changed, whatever the settings', async () => {
  const account_id = await harness.account();
  const { endpoints } = harness.webhooks;
  const at = (port: number) => ({ url: `http://example.org:${port}/`, types: ['key.created'], by: '' });
  const { endpoint_id } = await endpoints.create(account_id, at(1_024));
  for (const port of [80, 443, 8_080]) await endpoints.change(account_id, endpoint_id, at(port));
  for (const port of [0, 25, 1_023]) {
    const refusal = `The URL has port ${port}; it may be 80, 443, or 1024 and above.`;
    await expect(endpoints.create(account_id, at(port))).rejects.toThrow(refusal);
    await expect(endpoints.change(account_id, endpoint_id, at(port))).rejects.toThrow(refusal);
  }
});

describe('a failing endpoint', () => {
  it('is tried ten times with growing delays, with one id, and can be asked again from the log', async () => {
    const { receiver, webhooks, queue } = harness;
    const account_id = await harness.account();
    const { endpoint_id, secret } = await harness.endpoint(account_id, '/failing', ['key.created']);
    receiver.respond = answers(503, 'x'.repeat(2_000));
    await harness.tell(account_id, 'key.created', 'k', { key_id: 'k', label: '' });
    const delays: (number | undefined)[] = [];
    for (let attempt = 1; attempt < 10; attempt++) {
      const { state, message_id } = await attempted(account_id, endpoint_id, attempt);
      expect(state).toBe('waiting');
      const [job] = await queue.getDelayed();
      delays.push(job?.delay);
      expect(job?.data).toEqual({ account_id, endpoint_id, message_id });
      await harness.promoteAll();
    }
    const hours = (count: number): number => count * 3_600_000;
    expect(delays).toEqual([5_000, 300_000, 1_800_000, ...[2, 5, 10, 14, 20, 24].map(hours)]);
    const failed = await attempted(account_id, endpoint_id, 10);
    expect(failed.state).toBe('failed');
    expect(failed.attempts[9]).toMatchObject({ status: 503, answer: 'x'.repeat(500) });
    expect([await queue.count(), new Set(receiver.received.map(({ id }) => id)).size]).toEqual([0, 1]);

    receiver.respond = answers(204);
    await webhooks.replay({ account_id, endpoint_id, message_id: failed.message_id });
    const replayed = await attempted(account_id, endpoint_id, 11);
    expect([replayed.state, replayed.body]).toEqual(['delivered', failed.body]);
    const last = receiver.received.at(-1);
    expect(last && [last.id, isSignedWith(secret, last)]).toEqual([failed.message_id, true]);
  });

  it('is disabled after five days of nothing but failure, and enabled again by saving it', async () => {
    const { receiver, webhooks, clock } = harness;
    const account_id = await harness.account();
    const { endpoint_id } = await harness.endpoint(account_id, '/days', ['key.created']);
    const start_ms = clock.ms;
    const emit = (id: string) => harness.tell(account_id, 'key.created', id, { key_id: id, label: '' });
    const fail = async (id: string, at_ms: number) => {
      clock.ms = at_ms;
      await emit(id);
      await attempted(account_id, endpoint_id, 1);
    };
    receiver.respond = answers(500);
    await fail('a', start_ms);
    // One success in between starts the count anew.
    receiver.respond = answers(200);
    await fail('b', start_ms + 2 * DAY_MS);
    expect((await stateOf(account_id, endpoint_id)).failing_since_ms).toBeNull();
    receiver.respond = answers(500);
    await fail('c', start_ms + 3 * DAY_MS);
    await fail('d', start_ms + 8 * DAY_MS - 1);
    expect((await stateOf(account_id, endpoint_id)).state).toBe('enabled');
    await fail('e', start_ms + 8 * DAY_MS);
    expect(await stateOf(account_id, endpoint_id)).toMatchObject({
      state: 'disabled',
      disabled_because: 'failures',
    });

    // What waits ends without being sent, and new events are not kept.
    const before = receiver.received.length;
    await emit('f');
    await harness.promoteAll();
    const logged = () => webhooks.deliveries.list(account_id, endpoint_id);
    await expect
      .poll(async () => (await logged()).map(({ state }) => state))
      .toEqual(['failed', 'failed', 'failed', 'delivered', 'failed']);
    const log = await logged();
    const [{ message_id } = { message_id: '' }] = log;
    await expect(webhooks.deliveries.replay(account_id, endpoint_id, message_id)).rejects.toMatchObject({
      code: 'endpoint_disabled',
    });
    expect(receiver.received.length).toBe(before);

    const url = `${receiver.url}/days`;
    await webhooks.endpoints.change(account_id, endpoint_id, { url, types: ['key.created'] });
    receiver.respond = answers(200);
    await fail('g', clock.ms + 1);
    expect(await stateOf(account_id, endpoint_id)).toMatchObject({
      state: 'enabled',
      failing_since_ms: null,
    });
  });

  it('that answers 410 is disabled at once', async () => {
    const { receiver } = harness;
    const account_id = await harness.account();
    const { endpoint_id } = await harness.endpoint(account_id, '/gone', ['key.created']);
    receiver.respond = answers(410);
    await harness.tell(account_id, 'key.created', 'k', { key_id: 'k', label: '' });
    expect((await attempted(account_id, endpoint_id, 1)).state).toBe('failed');
    expect(await stateOf(account_id, endpoint_id)).toMatchObject({
      state: 'disabled',
      disabled_because: 'gone',
    });
    expect(await harness.queue.count()).toBe(0);
  });

  it.each([301, 302, 307, 404])('is one that answers %i; redirects are not followed', async (status) => {
    const { receiver, webhooks } = harness;
    const account_id = await harness.account();
    const { endpoint_id } = await harness.endpoint(account_id, '/elsewhere', ['key.created']);
    receiver.respond = answers(status);
    await harness.tell(account_id, 'key.created', 'k', { key_id: 'k', label: '' });
    expect((await attempted(account_id, endpoint_id, 1)).state).toBe('waiting');
    expect(receiver.at('/redirected')).toEqual([]);
    await webhooks.endpoints.remove(account_id, endpoint_id);
    await harness.promoteAll();
  });

  it('that never answers, or never ends its answer, is given up at the time limit', async () => {
    const sender = new WebhookSender({ allowsPrivate: true, timeout_ms: 50 });
    const send = () => sender.send(`${harness.receiver.url}/silent`, {}, '{}');
    harness.receiver.respond = () => {};
    expect(await send()).toEqual({ status: null, answer: 'no response within 0.05 s' });
    harness.receiver.respond = (_, response) => response.writeHead(200).write('half');
    expect(await send()).toEqual({ status: null, answer: 'no response within 0.05 s' });
    await sender.close();
  });
});

it('a rotated secret signs beside the new one for a day', async () => {
  const { webhooks, receiver, clock } = harness;
  const account_id = await harness.account();
  const { endpoint_id, secret } = await harness.endpoint(account_id, '/rotated', ['key.created']);
  const start_ms = clock.ms;
  const next = await webhooks.endpoints.rotate(account_id, endpoint_id);
  const { old_secret_until_ms } = await webhooks.endpoints.get(account_id, endpoint_id);
  expect(old_secret_until_ms).toBe(start_ms + DAY_MS);
  await webhooks.test(account_id, endpoint_id);
  await attempted(account_id, endpoint_id, 1);
  const [both] = receiver.received;
  expect(both && [isSignedWith(secret, both), isSignedWith(next, both)]).toEqual([true, true]);
  clock.ms = start_ms + DAY_MS;
  expect((await webhooks.endpoints.get(account_id, endpoint_id)).secrets).toEqual([next]);
});

it('the log keeps the last 200 deliveries of an endpoint, of the last 30 days', async () => {
  const { webhooks, clock } = harness;
  const account_id = await harness.account();
  const { endpoint_id } = await harness.endpoint(account_id, '/log', ['key.created']);
  const other = await harness.endpoint(account_id, '/log-of-another', ['key.created']);
  const start_ms = clock.ms;
  const add = (number: number, id = endpoint_id) =>
    webhooks.deliveries.add(account_id, {
      endpoint_id: id,
      message_id: `msg_${number}`,
      type: 'key.created',
      at_ms: start_ms + number,
      body: '{}',
    });
  await add(0, other.endpoint_id);
  for (let number = 0; number < 203; number++) await add(number);
  const log = await webhooks.deliveries.list(account_id, endpoint_id);
  expect([log.length, log[0]?.message_id, log.at(-1)?.message_id]).toEqual([200, 'msg_202', 'msg_3']);
  expect((await webhooks.deliveries.list(account_id, other.endpoint_id)).length).toBe(1);
  clock.ms = start_ms + 30 * DAY_MS + 100;
  expect((await webhooks.deliveries.list(account_id, endpoint_id)).at(-1)?.message_id).toBe('msg_100');
  expect(await add(30 * DAY_MS)).toBe('waiting');
  expect((await harness.redis.hkeys(`{a:${account_id}}:delivery-log`)).length).toBe(3 * (103 + 1));
});
