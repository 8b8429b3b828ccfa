/** Deliveries of webhooks to a real receiver: signed, retried, recorded, and ended where an endpoint ends. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startWebhooks, type WebhookHarness } from './harness.ts';
import { answers, isSignedWith } from './receiver.ts';

let harness: WebhookHarness;
beforeAll(async () => {
  harness = await startWebhooks();
  harness.startWorker();
});
afterAll(() => harness.stop());
beforeEach(() => {
  harness.receiver.received.length = 0;
  harness.receiver.respond = answers(200, 'thank you');
});

describe('an event', () => {
  it('reaches the endpoints that subscribe to it, signed, with one id, once for each id of an event', async () => {
    const { webhooks, receiver } = harness;
    const account_id = await harness.account();
    const first = await harness.endpoint(account_id, '/first', ['key.created', 'credits.low']);
    const second = await harness.endpoint(account_id, '/second', ['key.created']);
    await harness.endpoint(account_id, '/other', ['credits.low']);
    const data = { key_id: 'k1', label: 'notebook' };
    for (let repeat = 0; repeat < 3; repeat++)
      await webhooks.events.emit(account_id, 'key.created', 'k1', data);
    await expect.poll(() => receiver.received.length).toBe(2);
    await expect.poll(() => harness.idle()).toBe(true);
    const [one] = receiver.at('/first');
    const [two] = receiver.at('/second');
    if (!one || !two) throw new Error('not delivered');
    expect(one.id).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(two.id).toBe(one.id);
    expect(one.payload).toEqual({
      type: 'key.created',
      timestamp: new Date(harness.clock.ms).toISOString(),
      data,
    });
    expect([isSignedWith(first.secret, one), isSignedWith(second.secret, two)]).toEqual([true, true]);
    expect([isSignedWith(second.secret, one), isSignedWith(first.secret, two)]).toEqual([false, false]);
    expect(receiver.received.length).toBe(2);
    const [logged] = await webhooks.deliveries.list(account_id, first.endpoint_id);
    expect(logged).toMatchObject({ type: 'key.created', state: 'delivered', body: one.body });
    expect(logged?.attempts).toEqual([{ at_ms: harness.clock.ms, status: 200, answer: 'thank you' }]);
  });
});
