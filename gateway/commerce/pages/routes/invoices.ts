/** Invoices and credit notes of the account, to print and as PDF, and whom they are made out to. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseFields, sendPdf, textField } from '../../../web/forms.ts';
import {
  type BillingForm,
  billingFrom,
  createInvoicePrinter,
  documentPath,
  type InvoiceDocument,
  invoiceText,
  orderPath,
} from '../../orders/orders.ts';
import { AccountError } from '../../store/store.ts';
import { type AccountContext, accountIdOf, accountOf } from '../context.ts';
import { orShowAgain } from '../forms.ts';
import { findOwnOrder } from './orders.ts';

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
  const view = context.view('invoice.njk');
  const { orders } = context.accounts;
  const print = createInvoicePrinter();

  /** Leads to the latest invoice of an order, which is issued with a card payment only when that has arrived. */
  scope.get('/orders/:order_id/invoice', async (request, reply) => {
    const order = await findOwnOrder(context, request);
    const documents = await orders.invoices.issuedOf(order.order_id);
    const invoice = documents.findLast(({ kind }) => kind === 'invoice');
    if (invoice) return reply.leadTo(documentPath(invoice.number));
    const notice = 'There is no invoice of this order: it is issued when the payment has arrived.';
    return reply.leadTo(orderPath(order.order_id), notice);
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

const MAX_LENGTH = 2_000;

const billingForm = z.object({
  name: textField(MAX_LENGTH),
  address: textField(MAX_LENGTH),
  country: textField(2),
  vat_id: textField(100),
});

export function billingRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('billing.njk');
  const { billing, countries } = context;
  const show = (reply: FastifyReply, form: BillingForm, problem = ''): Promise<FastifyReply> =>
    view(reply, 'Billing details', { form, problem, countries });

  scope.get('/billing', async (request, reply) => show(reply, await storedForm(context, request)));

  scope.post('/billing', async (request, reply) => {
    const form = parseFields(billingForm, request.body);
    const account_id = accountIdOf(request);
    const work = async (): Promise<FastifyReply> => {
      const details = billingFrom(form, countries);
      // The audit log outlives an erasure, so it names no name and no address.
      const after = { country: details.country, has_vat_id: details.vat_id !== '' };
      await request.audited({ action: 'account.billing', after }, () => billing.set(account_id, details));
      const notice = 'The billing details are saved. Invoices from now on carry them.';
      return reply.leadTo('/account/billing', notice);
    };
    return orShowAgain(reply, (problem) => show(reply, form, problem), work, 'input');
  });
}

async function storedForm(context: AccountContext, request: FastifyRequest): Promise<BillingForm> {
  const stored = await context.billing.get(accountIdOf(request));
  if (stored) return { ...stored, address: stored.address.join('\n') };
  return { name: (await accountOf(context, request)).name, address: '', country: '', vat_id: '' };
}
