/** The walk through the pages of webhooks: added, tested, failing, sent again, rotated, gone, enabled and removed. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { AccountPagesHarness } from '../gateway/commerce/pages/harness.ts';
import { answers, startReceiver } from '../gateway/commerce/webhooks/receiver.ts';
import { inspect, walker } from './page-checks.ts';

/** The signed-in person owns an account without webhooks, which may be at private addresses. */
export async function walkWebhooks(harness: AccountPagesHarness, page: Page): Promise<void> {
  await using receiver = await startReceiver();
  const main = page.getByRole('main');
  const { go, press, open, shows, fill } = walker(page, harness.url);
  const reloadUntil = async (text: string): Promise<void> => {
    await expect
      .poll(async () => {
        await page.reload();
        return main.innerText();
      })
      .toContain(text);
  };
  await go('/account/webhooks');
  await shows('No webhooks yet.');
  await fill({ URL: `${receiver.url}/almanac?a-long-part=${'x'.repeat(200)}` });
  await press('Add webhook');
  await shows('Choose at least one event type.', 'account-webhooks-refused');
  await page.getByLabel('key.created').check();
  await page.getByLabel('credits.low').check();
  await press('Add webhook');
  await shows('shown only once');
  expect(await page.locator('pre').innerText()).toMatch(/^whsec_/);
  await inspect(page, 'account-webhook-secret');

  receiver.respond = answers(500, 'The queue is full. '.repeat(30));
  await open('I have copied it');
  await press('Send a test event');
  await shows('A test event is on its way');
  await reloadUntil('500');
  await open(/^msg_/, 'account-webhook-delivery-failing');
  receiver.respond = answers(200, 'thank you');
  await press('Send now');
  await reloadUntil('thank you');
  await inspect(page, 'account-webhook-delivery');
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);

  await go('/account/webhooks');
  await shows('credits.low, key.created', 'account-webhooks');
  await open(receiver.url);
  await press('Rotate secret');
  await shows('the former secret signs too');
  await open('I have copied it', 'account-webhook');

  receiver.respond = answers(410);
  await press('Send a test event');
  await reloadUntil('answered 410 Gone');
  await inspect(page, 'account-webhook-disabled');
  await press('Save and enable');
  await shows('The webhook is enabled.');
  await open('Remove…', 'account-webhook-remove');
  await press('Remove webhook');
  await shows('The webhook is removed.');
}
