/** Whom invoices are made out to. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseFields, textField } from '../../../web/forms.ts';
import { type BillingForm, billingFrom, type Country } from '../../orders/orders.ts';
import { redirectWithFlash } from '../../people/people.ts';
import { AccountError } from '../../store/store.ts';
import { type AccountContext, accountIdOf, accountOf, auditedChange } from '../context.ts';

const PATH = '/account/billing';
const MAX_LENGTH = 2_000;

const billingForm = z.object({
  name: textField(MAX_LENGTH),
  address: textField(MAX_LENGTH),
  country: textField(2),
  vat_id: textField(100),
});

interface BillingPage {
  form: BillingForm;
  problem: string;
  countries: readonly Country[];
}

export function billingRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<BillingPage>('billing.njk');
  const { billing, countries } = context;
  const show = (reply: FastifyReply, form: BillingForm, problem = ''): Promise<FastifyReply> =>
    view(reply, 'Billing details', { form, problem, countries });

  scope.get('/billing', async (request, reply) => show(reply, await storedForm(context, request)));

  scope.post('/billing', async (request, reply) => {
    const form = parseFields(billingForm, request.body);
    const account_id = accountIdOf(request);
    try {
      const details = billingFrom(form, countries);
      // The audit log outlives an erasure, so it names no name and no address.
      const after = { country: details.country, has_vat_id: details.vat_id !== '' };
      await auditedChange(context, request, { action: 'account.billing', after }, () =>
        billing.set(account_id, details),
      );
    } catch (error) {
      if (!(error instanceof AccountError) || error.code !== 'bad_input') throw error;
      return show(reply.code(422), form, error.message);
    }
    const notice = 'The billing details are saved. Invoices from now on carry them.';
    return redirectWithFlash(context, reply, PATH, notice);
  });
}

async function storedForm(context: AccountContext, request: FastifyRequest): Promise<BillingForm> {
  const stored = await context.billing.get(accountIdOf(request));
  if (stored) return { ...stored, address: stored.address.join('\n') };
  return { name: (await accountOf(context, request)).name, address: '', country: '', vat_id: '' };
}
