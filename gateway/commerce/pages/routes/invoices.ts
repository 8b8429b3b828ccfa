/** Invoices and credit notes of the account, to print and as PDF. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sendPdf } from '../../../web/forms.ts';
import {
  createInvoicePrinter,
  documentPath,
  type InvoiceDocument,
  type InvoiceText,
  invoiceText,
  orderPath,
} from '../../orders/orders.ts';
import { redirectWithFlash } from '../../people/people.ts';
import { AccountError, type OrderRecord } from '../../store/store.ts';
import { type AccountContext, accountIdOf } from '../context.ts';
import { findOwnOrder } from './orders.ts';

interface InvoicePage {
  text: InvoiceText;
  order: OrderRecord;
  path: string;
  pdf: string;
}

/** The document of the path, if it belongs to the signed-in account. */
async function findOwnDocument(
  { accounts }: AccountContext,
  request: FastifyRequest,
): Promise<InvoiceDocument> {
  const { number } = request.params as { number: string };
  const document = await accounts.orders.invoices.get(number);
  if (document.account_id !== accountIdOf(request))
    throw new AccountError('invoice_unknown', `There is no invoice ${number}.`);
  return document;
}

export function invoiceRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<InvoicePage>('invoice.njk');
  const { orders } = context.accounts;
  const print = createInvoicePrinter();

  /** Leads to the latest invoice of an order, which is issued with a card payment only when that has arrived. */
  scope.get('/orders/:order_id/invoice', async (request, reply) => {
    const order = await findOwnOrder(context, request);
    const documents = await orders.invoices.issuedOf(order.order_id);
    const invoice = documents.findLast(({ kind }) => kind === 'invoice');
    if (invoice) return redirectWithFlash(context, reply, documentPath(invoice.number));
    const notice = 'There is no invoice of this order: it is issued when the payment has arrived.';
    return redirectWithFlash(context, reply, orderPath(order.order_id), notice);
  });

  scope.get('/invoices/:number', async (request, reply) => {
    const document = await findOwnDocument(context, request);
    const text = invoiceText(document);
    const { order_id, number } = document;
    return view(reply, `${text.title} ${number}`, {
      text,
      order: await orders.get(order_id),
      path: orderPath(order_id),
      pdf: `${documentPath(number)}/pdf`,
    });
  });

  scope.get('/invoices/:number/pdf', async (request, reply) => {
    const document = await findOwnDocument(context, request);
    return sendPdf(reply, document.number, await print(document));
  });
}
