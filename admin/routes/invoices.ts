/** Invoices and credit notes of a year, for bookkeeping, and each as PDF. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import {
  createInvoicePrinter,
  dateText,
  type InvoiceDocument,
  rateText,
} from '../../gateway/commerce/orders/orders.ts';

import { formatField, integerField, parseFields, sendPdf, withQuery } from '../../gateway/web/forms.ts';
import { type AdminArea, userPath } from '../context.ts';
import { sendRecords } from '../list.ts';

const PATH = '/admin/invoices';
const FIRST_YEAR = 2000;
const LAST_YEAR = 9999;
/** Shown on the page; the CSV has all. */
const MAX_SHOWN = 200;

const COLUMNS = [
  ...['number', 'kind', 'date', 'due', 'corrects', 'order_id', 'account_id', 'customer', 'country', 'vat_id'],
  ...['vat', 'vat_percent', 'net_minor', 'vat_minor', 'gross_minor', 'currency', 'payment'],
];

export const invoicePdfPath = (number: string): string => `${PATH}/${encodeURIComponent(number)}/pdf`;

export function invoicesRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('invoices.njk');
  const { invoices } = area.accounts.orders;
  const print = createInvoicePrinter();

  scope.get('/invoices', async (request, reply) => {
    const thisYear = new Date(area.now()).getUTCFullYear();
    const query = z.object({ year: integerField(FIRST_YEAR, LAST_YEAR, thisYear), format: formatField });
    const { year, format } = parseFields(query, request.query);
    const documents = await invoices.ofYear(String(year));
    if (format === 'csv') return sendRecords(reply, `invoices-${year}`, COLUMNS, documents.map(record));
    return view(reply, 'Invoices', {
      year,
      total: documents.length,
      documents: documents
        .slice(-MAX_SHOWN)
        .reverse()
        .map((document) => ({
          ...record(document),
          document,
          rate: rateText(document.vat_rate_bp),
          user: userPath(document.account_id),
          pdf: invoicePdfPath(document.number),
        })),
      csv: withQuery(PATH, { year, format: 'csv' }),
    });
  });

  scope.get('/invoices/:number/pdf', async (request, reply) => {
    const document = await invoices.get((request.params as { number: string }).number);
    return sendPdf(reply, document.number, await print(document));
  });
}

const record = (document: InvoiceDocument) => ({
  ...document,
  date: dateText(document.issued_at_ms),
  due: document.due_at_ms === null ? null : dateText(document.due_at_ms),
  customer: document.buyer.lines[0] ?? document.buyer.email,
  country: document.buyer.country,
  vat_id: document.buyer.vat_id,
  vat_percent: document.vat_rate_bp / 100,
});
