/** The accounts of a person: choosing the one to look at, and opening one of one's own. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { PageError, parseFields, textField } from '../../../web/forms.ts';
import { ownAccountOf, withheldText } from '../../accounts/accounts.ts';
import { nullIfUnknown } from '../../store/store.ts';
import { type AccountContext, personIdOf } from '../context.ts';
import { RESTRICTED } from '../forms.ts';
import { expectMembership, membershipsOf } from '../signed-in.ts';

const switchForm = z.object({ account_id: textField(100) });

export function accountsRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('accounts.njk');

  scope.get('/accounts', RESTRICTED, async (request, reply) => {
    const person_id = personIdOf(request);
    const [accounts, own] = await Promise.all([
      membershipsOf(context, person_id),
      context.accounts.get(ownAccountOf(person_id)).catch(nullIfUnknown),
    ]);
    const current = request.user?.account?.account_id;
    return view(reply, 'Your accounts', {
      accounts: accounts.map((one) => ({ ...one, isCurrent: one.account_id === current })),
      mayOpen: own === null,
    });
  });

  scope.post('/accounts/switch', RESTRICTED, async (request, reply) => {
    const { account_id } = parseFields(switchForm, request.body);
    await expectMembership(context, personIdOf(request), account_id);
    if (request.webSession) await context.sessions.setAccount(request.webSession, account_id);
    return reply.redirect('/account/', 303);
  });

  scope.post('/accounts/open', RESTRICTED, async (request, reply) => {
    const opened = await context.onboarding.openAccount(personIdOf(request), request.ip);
    if (opened === null) throw new PageError(409, 'You have opened an account already.');
    if (request.webSession) await context.sessions.setAccount(request.webSession, opened.account.account_id);
    const notice = ['Your account is open.', withheldText(opened.withheld)].filter(Boolean).join(' ');
    return reply.leadTo('/account/', notice);
  });
}
