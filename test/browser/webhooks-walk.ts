/** The walk through the pages of webhooks: added, tested, failing, sent again, rotated, gone, enabled and removed. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { AccountPagesHarness } from '../gateway/commerce/pages/harness.ts';
import { answers, startReceiver } from '../gateway/commerce/webhooks/receiver.ts';
import { inspect } from './page-checks.ts';

/** The signed-in person owns an account without webhooks, which may be at private addresses. */
export async function walkWebhooks(harness: AccountPagesHarness, page: Page): Promise<void> {
  const receiver = await startReceiver();
  const main = page.getByRole('main');
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const reloadUntil = async (text: string): Promise<void> => {
    await expect
      .poll(async () => {
        await page.reload();
        return main.innerText();
      })
      .toContain(text);
  };
  try {
    await page.goto(`${harness.url}/account/webhooks`);
    await page.getByText('No webhooks yet.').waitFor();
    await page.getByLabel('URL').fill(`${receiver.url}/almanac?a-long-part=${'x'.repeat(200)}`);
    await press('Add webhook');
    await page.getByText('Choose at least one event type.').waitFor();
    await inspect(page, 'account-webhooks-refused');
    await page.getByLabel('key.created').check();
    await page.getByLabel('credits.low').check();
    await press('Add webhook');
    await page.getByText('shown only once').waitFor();
    expect(await page.locator('pre').innerText()).toMatch(/^whsec_/);
    await inspect(page, 'account-webhook-secret');

    receiver.respond = answers(500, 'The queue is full. '.repeat(30));
    await page.getByRole('link', { name: 'I have copied it' }).click();
    await press('Send a test event');
    await page.getByText('A test event is on its way').waitFor();
    await reloadUntil('500');
    await main.getByRole('link', { name: /^msg_/ }).click();
    await inspect(page, 'account-webhook-delivery-failing');
    receiver.respond = answers(200, 'thank you');
    await press('Send now');
    await reloadUntil('thank you');
    await inspect(page, 'account-webhook-delivery');
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);

    await page.goto(`${harness.url}/account/webhooks`);
    await page.getByText('credits.low, key.created').waitFor();
    await inspect(page, 'account-webhooks');
    await main.getByRole('link', { name: receiver.url }).click();
    await press('Rotate secret');
    await page.getByText('the former secret signs too').waitFor();
    await page.getByRole('link', { name: 'I have copied it' }).click();
    await inspect(page, 'account-webhook');

    receiver.respond = answers(410);
    await press('Send a test event');
    await reloadUntil('answered 410 Gone');
    await inspect(page, 'account-webhook-disabled');
    await press('Save and enable');
    await page.getByText('The webhook is enabled.').waitFor();
    await main.getByRole('link', { name: 'Remove…' }).click();
    await inspect(page, 'account-webhook-remove');
    await press('Remove webhook');
    await page.getByText('The webhook is removed.').waitFor();
  } finally {
    await receiver.stop();
  }
}
