/** From the order to the credit note in a real browser: billing details, invoice, payment, refund; PDF files read by pdf.js. */
import { readFile } from 'node:fs/promises';
import { extractText } from 'unpdf';
import { expect, it } from 'vitest';
import { deliver, eventText, stripeSettings, useFakeStripe } from '../gateway/commerce/pages/fake-stripe.ts';
import { PASSWORD, useAccountPages } from '../gateway/commerce/pages/harness.ts';
import { useBrowser } from './browser.ts';
import { inspect, signInHere, walker } from './page-checks.ts';

const stripe = await useFakeStripe();
const harness = await useAccountPages({
  settings: {
    ...stripeSettings(stripe),
    INVOICE_FROM: 'Almanac Ltd\n1 Example Street\nExampletown',
    INVOICE_PAY_TO: 'IBAN XX00 0000 0000 0000\nAlmanac Ltd',
    INVOICE_COUNTRY: 'DE',
    INVOICE_VAT_ID: 'DE123456789',
    INVOICE_VAT_RATE: '19',
  },
});
const browser = await useBrowser();
const page = await browser.context.newPage();
const ann = await harness.customer('Ann');
const { link, go, press, open, shows, heading, fill } = walker(page, harness.url);

/** Words in alphabetical order: page and PDF place the same blocks differently. */
const wordsIn = (text: string): string[] => text.split(/\s+/).filter(Boolean).sort();

/** Words of the PDF that the shown document offers. */
async function wordsOfPdf(): Promise<string[]> {
  const download = page.waitForEvent('download');
  await open(/^Download PDF$/);
  const bytes = await readFile(await (await download).path());
  const { text } = await extractText(new Uint8Array(bytes), { mergePages: true });
  return wordsIn(text);
}

/** Words of the shown document, without the caption for screen readers. */
const wordsOfPage = async (): Promise<string[]> =>
  wordsIn((await page.locator('article.invoice').innerText()).replace(/^Items$/m, ''));

async function expectDocument(words: readonly string[]): Promise<void> {
  const shown = await wordsOfPage();
  expect(shown).toEqual(expect.arrayContaining([...words]));
  expect(await wordsOfPdf()).toEqual(shown);
}

it('asks for the billing details, and says what is wrong with them', async () => {
  await go('/account/orders');
  await signInHere(page, ann.email, PASSWORD);
  await shows('VAT of 19 % is included.', 'orders-without-billing');
  await open(/^billing details$/);
  await page.getByRole('textbox', { name: 'Name' }).fill('Ανάλυση <Ltd>');
  await fill({ Address: 'Οδός 1\n10431 Αθήνα' });
  await page.getByLabel('Country').selectOption('Greece');
  await fill({ 'VAT id': 'GR 123456789' });
  await press('Save');
  await shows('which begins with EL', 'billing-refused');
  await fill({ 'VAT id': 'EL 123456789' });
  await press('Save');
  await shows('The billing details are saved', 'billing');
  await go('/account/orders');
  await shows('Without VAT: reverse charge.');
});

it('invoices an order, and takes the invoice back when the payment is refunded', async () => {
  await page.getByLabel('Invoice and bank transfer').check();
  await press('Place order');
  await heading('Invoice', 'invoice');
  const words = ['2026-000001', '9.00', 'Ανάλυση', '<Ltd>', 'EL123456789', 'Αθήνα', 'Reverse', 'IBAN'];
  await expectDocument(words);
  const [order] = await harness.accounts.orders.list(ann.account_id);
  for (const state of ['paid', 'refunded'] as const)
    await harness.accounts.orders.move(String(order?.order_id), state);
  await open(/^Back to the order$/);
  await link('Credit note 2026-000002').waitFor();
  await inspect(page, 'order-refunded');
  await open(/^Credit note 2026-000002$/);
  await heading('Credit note', 'credit-note');
  await expectDocument(['2026-000002', '2026-000001', '−9.00', 'Ανάλυση', 'Reverse']);
});

it('invoices an order by card when it is paid', async () => {
  await go('/account/orders');
  await page.getByLabel('Research').check();
  await page.getByLabel('Card, through Stripe').check();
  await press('Place order');
  await heading(/^Pay /);
  await shows('Without VAT: reverse charge.');
  const [session] = [...stripe.sessions.values()];
  const order_id = String(session?.metadata.order_id);
  await go(`/account/orders/${order_id}`);
  await shows('The invoice is issued when the payment has arrived.', 'order-without-invoice');
  const payload = eventText('checkout.session.completed', { ...session, payment_status: 'paid' });
  expect(await deliver(harness.url, payload, { at_ms: harness.clock.ms })).toBe(200);
  await go(`/account/orders/${order_id}/invoice`);
  await heading('Invoice');
  await expectDocument(['2026-000003', '59.00', 'card', 'Research:', '100,000']);
  expect(await wordsOfPage()).not.toContain('transfer');
  await go('/account/orders', 'orders-with-invoices');
});
