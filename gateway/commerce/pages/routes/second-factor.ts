/** The second factor of an account holder: the shared pages, with audit and mail. */
import type { FastifyInstance } from 'fastify';
import { secondFactorRoutes as sharedSecondFactorRoutes } from '../../people/people.ts';
import { type AccountContext, personIdOf, recordPersonAction } from '../context.ts';
import { reauthenticate } from './sign-in.ts';

export function secondFactorRoutes(scope: FastifyInstance, context: AccountContext): void {
  sharedSecondFactorRoutes(scope, context.site, {
    confirmPassword: (request, reply, password) => reauthenticate(context, request, reply, password),
    onChange: async (request, change) => {
      const after = { second_factor: change };
      await recordPersonAction(context, request, personIdOf(request), {
        action: 'account.second_factor',
        after,
      });
      const email = request.user?.email;
      if (email) await context.jobs.add('security-notice', { email, event: `second_factor_${change}` });
    },
  });
}
