/** The mailed links that change an address, and that undo the change. */
import type { FastifyInstance } from 'fastify';
import { type AccountContext, recordPersonAction } from '../context.ts';
import { tokenOf } from './sign-in.ts';

const ANONYMOUS = { config: { allowsAnonymous: true } };
const KINDS = [
  { path: '/email', purpose: 'email-change', title: 'Confirm your new address', action: 'person.email' },
  {
    path: '/undo-email',
    purpose: 'email-undo',
    title: 'Keep your former address',
    action: 'person.undo_email',
  },
] as const;

interface ChangePage {
  /** Where the form is sent. */
  action: string;
  to: string;
}

export function emailChangeRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<ChangePage>('email-change.njk');
  const done = context.view<{ to: string; wasUndone: boolean }>('email-changed.njk');
  const invalidLink = context.view<{ again: string }>('invalid-link.njk');
  const invalid = 'This link is no longer valid';
  const again = '/account/profile';

  for (const { path, purpose, title, action } of KINDS) {
    // GET does not use the link up: mail scanners open links too.
    scope.get(`${path}/:token`, ANONYMOUS, async (request, reply) => {
      const token = tokenOf(request);
      const change = await context.emailChanges.peek(purpose, token);
      if (change === null) return invalidLink(reply.code(410), invalid, { again });
      return view(reply, title, { action: `/account${path}/${encodeURIComponent(token)}`, to: change.to });
    });

    scope.post(`${path}/:token`, ANONYMOUS, async (request, reply) => {
      const change = await context.emailChanges.carryOut(purpose, tokenOf(request));
      if (change === null) return invalidLink(reply.code(410), invalid, { again });
      await recordPersonAction(context, request, change.person_id, { action });
      return done(reply, 'Your address is changed', { to: change.to, wasUndone: purpose === 'email-undo' });
    });
  }
}
