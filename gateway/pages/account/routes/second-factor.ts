/** The second factor of an account holder: the shared pages, with audit and mail. */
import type { FastifyInstance } from 'fastify';
import { secondFactorRoutes as sharedSecondFactorRoutes } from '../../shared/second-factor-routes.ts';
import { type AccountContext, accountIdOf, recordAction } from '../context.ts';
import { reauthenticate } from './sign-in.ts';

export function secondFactorRoutes(scope: FastifyInstance, context: AccountContext): void {
  sharedSecondFactorRoutes(scope, context.site, {
    confirmPassword: (request, reply, password) => reauthenticate(context, request, reply, password),
    onChange: async (request, change) => {
      const after = { second_factor: change };
      await recordAction(context, request, accountIdOf(request), { action: 'account.second_factor', after });
      const { email } = await context.accounts.get(accountIdOf(request));
      await context.jobs.add('security-notice', { email, event: `second_factor_${change}` });
    },
  });
}
