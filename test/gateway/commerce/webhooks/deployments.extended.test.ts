/** Webhooks as a gateway sends them, on each kind of Redis, verified by the official library in Python. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { installPackages, pythonPath } from '../../../python-packages.ts';
import { DEPLOYMENTS, useDeployment } from '../pages/deployments.ts';
import type { AccountPagesHarness } from '../pages/harness.ts';
import { answers, type ReceivedWebhook, startReceiver } from './receiver.ts';

const PACKAGES = ['standardwebhooks==1.1.0'];
const VERIFIER = join(import.meta.dirname, 'verify_webhooks.py');

/** What the library says of each: its type, or `refused`. */
function verifyInPython(
  secret: string,
  webhooks: readonly Pick<ReceivedWebhook, 'body' | 'headers'>[],
): string[] {
  const input = webhooks
    .map(({ body, headers }) => `${JSON.stringify({ secret, body, headers })}\n`)
    .join('');
  const program = [`PYTHONPATH=${pythonPath(PACKAGES)}`, 'python3', VERIFIER];
  const { status, stdout, stderr } = spawnSync('env', program, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout.trimEnd().split('\n');
}

await installPackages(PACKAGES);
const receiver = await stopAfterTests(startReceiver());

describe.each(DEPLOYMENTS)('webhooks on $name', ({ open }) => {
  let harness: AccountPagesHarness;
  useDeployment(open, { WEBHOOK_PRIVATE_TARGETS: 'true' }, (opened) => {
    harness = opened;
  });

  it('keys and orders are told, with signatures that hold; another secret and another body do not', async () => {
    receiver.received.length = 0;
    receiver.respond = answers(200);
    // Verifiers compare the time of a signature with their own clock.
    harness.clock.ms = Date.now();
    const { accounts, context } = harness;
    const { account_id } = await harness.customer();
    const types = ['key.created', 'key.rotated', 'key.revoked', 'order.paid', 'order.refunded'];
    const { endpoints } = context.webhooks;
    const { endpoint_id, secret } = await endpoints.create(account_id, { url: receiver.url, types, by: '' });
    const { key_id } = await accounts.keys.mint(account_id, { label: 'Zürich ✓' });
    await accounts.keys.rotate(key_id, { grace_ms: 0 });
    await accounts.keys.revoke((await accounts.keys.mint(account_id)).key_id);
    const { order_id } = await accounts.orders.create(account_id, 'starter');
    for (const state of ['paid', 'refunded'] as const) await accounts.orders.move(order_id, state);
    await harness.handlers.sweep({});
    await expect.poll(() => receiver.received.length).toBe(6);
    expect(verifyInPython(secret, receiver.received).sort()).toEqual([...types, 'key.created'].sort());
    const next = await endpoints.rotate(account_id, endpoint_id);
    expect(new Set(verifyInPython(next, receiver.received))).toEqual(new Set(['refused']));
    const [first] = receiver.received;
    const changed = first && { ...first, body: `${first.body} ` };
    expect(changed && verifyInPython(secret, [changed])).toEqual(['refused']);

    receiver.respond = answers(410);
    await accounts.keys.mint(account_id);
    await harness.handlers.sweep({});
    await expect.poll(async () => (await endpoints.get(account_id, endpoint_id)).state).toBe('disabled');
    await accounts.close(account_id);
    for (const key of [redisKeys.webhooks, redisKeys.webhookDeliveries, redisKeys.webhookLog])
      expect(await harness.redis.exists(key(account_id))).toBe(0);
  });
});
