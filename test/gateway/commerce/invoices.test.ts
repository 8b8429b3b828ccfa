/** What invoices and credit notes say: VAT, parties, amounts, and the PDF. */
import fc from 'fast-check';
import { extractText, getDocumentProxy, getMeta } from 'unpdf';
import { beforeEach, describe, expect, it } from 'vitest';
import { readSettings, SettingsError } from '../../../data/runtime/settings.ts';
import { DAY_MS } from '../../../data/schema/redis-keys.ts';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import {
  BillingStore,
  billingFrom,
  readCountries,
} from '../../../gateway/commerce/orders/billing-details.ts';
import type { InvoiceDocument } from '../../../gateway/commerce/orders/document.ts';
import { invoicePdf } from '../../../gateway/commerce/orders/invoice-pdf.ts';
import { invoiceText } from '../../../gateway/commerce/orders/invoice-text.ts';
import { createInvoicePrinter } from '../../../gateway/commerce/orders/print-invoice.ts';
import { salesTermsOf } from '../../../gateway/commerce/orders/sales-terms.ts';
import { EU_COUNTRIES, isVatId, vatAmounts, vatTreatment } from '../../../gateway/commerce/orders/vat.ts';
import { AccountError } from '../../../gateway/commerce/store/records.ts';
import { flushRedis, useRedis } from '../../redis.ts';
import { createWorld, PACKS, seededRandom, type World } from '../api/metering/harness.ts';

const SELLER = {
  INVOICE_FROM: 'Almanac Ltd\n1 Example Street\n12345 Exampletown',
  INVOICE_PAY_TO: 'IBAN XX00 0000 0000 0000',
  INVOICE_COUNTRY: 'DE',
  INVOICE_VAT_ID: 'DE123456789',
  INVOICE_VAT_RATE: '19',
  INVOICE_DUE_DAYS: '14',
};
const ANN = {
  name: 'Ελληνική Εταιρεία Ανάλυσης',
  address: ['Вулиця Хрещатик 1', 'Łódź–Győr'],
  country: 'GR',
  country_name: 'Greece',
  vat_id: 'EL123456789',
};

let world: World;
let store: AccountStore;
let billing: BillingStore;
let account_id: string;

const server = await useRedis();
const countries = await readCountries('data');
beforeEach(async () => {
  world = createWorld(await server.connect());
  await flushRedis(world.redis);
  const base = { redis: world.redis, now: () => world.clock.ms, random: seededRandom('invoices') };
  store = new AccountStore({ ...base, packs: PACKS, terms: salesTermsOf(readSettings(SELLER)) });
  billing = new BillingStore(base);
  ({ account_id } = await store.create({ email: 'ann@example.org', name: 'Ann', by: 'test' }));
});

const documentsOf = (order_id: string): Promise<InvoiceDocument[]> =>
  store.orders.invoices.issuedOf(order_id);

describe('VAT', () => {
  const german = { country: 'DE', vat_rate_bp: 1900 };
  const swiss = { country: 'CH', vat_rate_bp: 810 };
  it.each([
    ['the own country', german, { country: 'DE', vat_id: '' }, 'charged'],
    ['a business in the own country', german, { country: 'DE', vat_id: 'DE123456789' }, 'charged'],
    ['nothing known', german, null, 'charged'],
    ['a business elsewhere in the EU', german, { country: 'FR', vat_id: 'FR12345678901' }, 'reverse_charge'],
    ['a consumer elsewhere in the EU', german, { country: 'FR', vat_id: '' }, 'charged'],
    ['outside the EU', german, { country: 'US', vat_id: '' }, 'outside'],
    ['the United Kingdom', german, { country: 'GB', vat_id: 'GB123456789' }, 'outside'],
    ['a seller outside the EU, in its country', swiss, { country: 'CH', vat_id: '' }, 'charged'],
    ['a seller outside the EU, abroad', swiss, { country: 'DE', vat_id: 'DE123456789' }, 'outside'],
    ['a seller who charges none', { country: 'DE', vat_rate_bp: 0 }, { country: 'DE', vat_id: '' }, 'none'],
  ])('for %s', (_name, terms, customer, expected) => {
    expect(vatTreatment(terms, customer)).toBe(expected);
  });

  it('splits every price into whole amounts that add up, at most half a minor unit off', () => {
    const prices = fc.integer({ min: 1, max: 100_000_000 });
    fc.assert(
      fc.property(prices, fc.integer({ min: 1, max: 5000 }), (price, vat_rate_bp) => {
        const { net_minor, vat_minor, gross_minor } = vatAmounts({ country: 'DE', vat_rate_bp }, null, price);
        expect([net_minor + vat_minor, gross_minor]).toEqual([price, price]);
        const exact = (BigInt(price) * 10_000n * 1_000n) / BigInt(10_000 + vat_rate_bp);
        expect(Math.abs(net_minor * 1_000 - Number(exact))).toBeLessThanOrEqual(501);
      }),
    );
  });

  it('knows the member states, and how their VAT ids look', () => {
    const members = countries.filter(({ code }) => EU_COUNTRIES.includes(code));
    expect([EU_COUNTRIES.length, members.length]).toEqual([27, 27]);
    for (const id of ['ATU12345678', 'DE123456789', 'FRXX123456789', 'IE1234567WA', 'NL123456789B01'])
      expect([id, isVatId(id, id.slice(0, 2))]).toEqual([id, true]);
    expect(isVatId('EL123456789', 'GR')).toBe(true);
    const wrong = [
      ['GR123456789', 'GR'],
      ['DE12345678', 'DE'],
      ['FR12345678901', 'DE'],
      ['DE123456789', 'FR'],
    ] as const;
    for (const [id, country] of wrong) expect([id, isVatId(id, country)]).toEqual([id, false]);
  });

  it('needs a rate with country and VAT id of the seller', () => {
    expect(() => readSettings({ INVOICE_VAT_RATE: '19' })).toThrow(SettingsError);
    expect(() => readSettings({ INVOICE_COUNTRY: 'Germany' })).toThrow('INVOICE_COUNTRY');
    expect(salesTermsOf(readSettings(SELLER)).vat_rate_bp).toBe(1900);
  });
});

describe('billing details', () => {
  const form = {
    name: ' Ann Ltd ',
    address: '1 Street\r\n\r\n Town ',
    country: 'DE',
    vat_id: 'de 123.456-789',
  };
  it('are stored in order, with the name of the country', async () => {
    const details = billingFrom(form, countries);
    await billing.set(account_id, details);
    expect(await billing.get(account_id)).toEqual({
      name: 'Ann Ltd',
      address: ['1 Street', 'Town'],
      country: 'DE',
      country_name: 'Germany',
      vat_id: 'DE123456789',
    });
  });
  it.each([
    ['Name', { name: ' ' }],
    ['Address', { address: '\n' }],
    ['Address', { address: 'a\nb\nc\nd\ne\nf\ng' }],
    ['Country', { country: 'XX' }],
    ['VAT id', { vat_id: 'FR12345678901' }],
  ])('name the field that is wrong: %s', (field, change) => {
    expect(() => billingFrom({ ...form, ...change }, countries)).toThrow(AccountError);
    expect(() => billingFrom({ ...form, ...change }, countries)).toThrow(new RegExp(`^${field}:`));
  });
  it('of a closed account stay', async () => {
    await store.close(account_id);
    await expect(billing.set(account_id, ANN)).rejects.toMatchObject({ code: 'account_state' });
    expect(await billing.get(account_id)).toBeNull();
  });
});

describe('documents', () => {
  it('state seller, customer and amounts as they were when issued, and are taken back by a credit note', async () => {
    const { order_id } = await store.orders.create(account_id, 'small');
    const [first] = await documentsOf(order_id);
    expect(first).toMatchObject({
      number: '2026-000001',
      kind: 'invoice',
      due_at_ms: world.clock.ms + 14 * DAY_MS,
      buyer: { lines: ['Ann'], email: 'ann@example.org', country: '', vat_id: '' },
      vat: 'charged',
      vat_rate_bp: 1900,
      gross_minor: 500,
      net_minor: 420,
      vat_minor: 80,
    });
    await billing.set(account_id, ANN);
    await store.rename(account_id, 'Somebody else');
    await store.orders.move(order_id, 'paid');
    world.clock.ms += DAY_MS;
    await store.orders.move(order_id, 'refunded');
    const [invoice, note, ...more] = await documentsOf(order_id);
    expect([invoice, more]).toEqual([first, []]);
    expect(note).toEqual({
      ...first,
      number: '2026-000002',
      kind: 'credit_note',
      corrects: '2026-000001',
      issued_at_ms: world.clock.ms,
      due_at_ms: null,
      gross_minor: -500,
      net_minor: -420,
      vat_minor: -80,
    });
  });

  it('of card orders are issued when paid, with no due date; unpaid ones have none', async () => {
    await billing.set(account_id, ANN);
    const { order_id } = await store.orders.create(account_id, 'small', 'stripe');
    expect(await documentsOf(order_id)).toEqual([]);
    const payment = { session_id: 'cs_1', payment_id: 'pi_1' };
    await store.orders.settle(order_id, { kind: 'paid', ...payment });
    await store.orders.settle(order_id, { kind: 'paid', ...payment });
    expect(await documentsOf(order_id)).toMatchObject([
      { due_at_ms: null, vat: 'reverse_charge', gross_minor: 500, net_minor: 500, vat_minor: 0 },
    ]);
    const unpaid = await store.orders.create(account_id, 'small', 'stripe');
    await store.orders.settle(unpaid.order_id, { kind: 'expired', session_id: 'cs_2', payment_id: '' });
    expect(await documentsOf(unpaid.order_id)).toEqual([]);
  });

  it('of a card payment whose refund is reported first are both', async () => {
    const { order_id } = await store.orders.create(account_id, 'small', 'stripe');
    await store.orders.settle(order_id, { kind: 'refunded', session_id: '', payment_id: 'pi_1' });
    await store.orders.settle(order_id, { kind: 'paid', session_id: 'cs_1', payment_id: 'pi_1' });
    const found = await documentsOf(order_id);
    expect(found.map(({ kind, gross_minor }) => [kind, gross_minor])).toEqual([
      ['invoice', 500],
      ['credit_note', -500],
    ]);
  });
});

describe('the PDF', () => {
  const textOf = async (pdf: Buffer): Promise<string> => {
    const { text } = await extractText(new Uint8Array(pdf), { mergePages: true });
    return text.replaceAll(/\s+/g, ' ');
  };

  it('says to a reader what the order and the billing details say, in three scripts', async () => {
    await billing.set(account_id, ANN);
    const { order_id } = await store.orders.create(account_id, 'large');
    await store.orders.move(order_id, 'paid');
    await store.orders.move(order_id, 'refunded');
    for (const document of await documentsOf(order_id)) {
      const text = await textOf(await invoicePdf(document));
      const sign = document.kind === 'invoice' ? '' : '−';
      for (const part of [
        ...[document.kind === 'invoice' ? 'Invoice' : 'Credit note', document.number, order_id],
        ...['Almanac Ltd', '12345 Exampletown', 'VAT id DE123456789', '2026-11-20'],
        ...[ANN.name, ...ANN.address, 'Greece', 'ann@example.org', 'VAT id EL123456789'],
        ...['Large: 5,000 credits', `Total ${sign}199.00 EUR`, 'Reverse charge'],
      ])
        expect(text).toContain(part);
      const { title, amounts, notes } = invoiceText(document);
      for (const part of [title, ...amounts.flat(), ...notes]) expect(text).toContain(part);
    }
  });

  it('tells nobody to transfer money where no bank details are set', async () => {
    const { order_id } = await store.orders.create(account_id, 'small');
    const [document = expect.fail('an order by invoice has an invoice')] = await documentsOf(order_id);
    const asked = invoiceText(document).notes.join(' ');
    expect(asked).toContain(`Please transfer 5.00 EUR by 2026-12-04 with the reference ${document.number}.`);
    const unset = { ...document, seller: { ...document.seller, pay_to: [] } };
    const { notes } = invoiceText(unset);
    expect(notes.join(' ')).not.toContain('transfer');
    expect(notes.join(' ')).toContain('Ask the seller for bank details before you pay');
    for (const note of notes) expect(await textOf(await invoicePdf(unset))).toContain(note);
  });

  it('is made in a thread, one after the other; too many at once are refused', async () => {
    const { order_id } = await store.orders.create(account_id, 'small');
    const [document] = await documentsOf(order_id);
    if (!document) throw new Error('an order by invoice has an invoice');
    const print = createInvoicePrinter(1);
    const [first, second, third] = await Promise.allSettled([1, 2, 3].map(() => print(document)));
    const bytes = await invoicePdf(document);
    for (const made of [first, second]) expect(made).toEqual({ status: 'fulfilled', value: bytes });
    expect(third).toMatchObject({ status: 'rejected', reason: { code: 'busy' } });
    expect(await print(document)).toEqual(bytes);
  });

  it('has one page with the longest details that are accepted', async () => {
    const longest = {
      name: 'W'.repeat(100),
      address: Array(6).fill('W'.repeat(80)).join('\n'),
      country: 'GB',
      vat_id: 'W'.repeat(20),
    };
    await billing.set(account_id, billingFrom(longest, countries));
    const { order_id } = await store.orders.create(account_id, 'large');
    const [document] = await documentsOf(order_id);
    if (!document) throw new Error('an order by invoice has an invoice');
    expect((await getDocumentProxy(new Uint8Array(await invoicePdf(document)))).numPages).toBe(1);
    expect(() => billingFrom({ ...longest, name: 'W'.repeat(101) }, countries)).toThrow('Name');
    expect(() => billingFrom({ ...longest, address: 'W'.repeat(81) }, countries)).toThrow('Address');
  });

  it('is the same for the same document, and dated by it', async () => {
    const { order_id } = await store.orders.create(account_id, 'small');
    const [document] = await documentsOf(order_id);
    if (!document) throw new Error('an order by invoice has an invoice');
    const bytes = await invoicePdf(document);
    expect((await invoicePdf(structuredClone(document))).equals(bytes)).toBe(true);
    expect((await invoicePdf({ ...document, number: '2026-000002' })).equals(bytes)).toBe(false);
    const { info } = await getMeta(await getDocumentProxy(new Uint8Array(bytes)));
    expect(info).toMatchObject({ Title: 'Invoice 2026-000001', CreationDate: 'D:20261120120000Z' });
    expect(await textOf(bytes)).toContain('Net 4.20 EUR VAT 19 % 0.80 EUR Total 5.00 EUR');
  });
});
