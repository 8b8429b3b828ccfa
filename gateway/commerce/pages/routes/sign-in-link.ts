/** Sign-in by a mailed link, for an owner whom the throttle of guesses keeps out, or who has no password at hand. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseFields, textField } from '../../../web/forms.ts';
import { completeFirstStep, tooManyAttempts } from '../../people/people.ts';
import type { AccountContext } from '../context.ts';
import { throttleSignInLink } from '../throttles.ts';

const emailForm = z.object({ email: textField(254) });
const emailAddress = z.email().max(254);
const ANONYMOUS = { config: { allowsAnonymous: true } };

export function signInLinkRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<{ form: { email: string; problem: string } }>('sign-in-link.njk');
  const mailSent = context.view<{ email: string }>('mail-sent.njk');
  const opened = context.view<{ token: string }>('sign-in-link-opened.njk');
  const invalidLink = context.view<{ again: string }>('invalid-link.njk');
  const title = 'Get a sign-in link';
  const path = '/sign-in-link';
  const invalid = 'This link is no longer valid';
  const again = `${context.site.root}${path}`;

  scope.get(path, ANONYMOUS, async (_request, reply) =>
    view(reply, title, { form: { email: '', problem: '' } }),
  );

  scope.post(path, ANONYMOUS, async (request, reply) => {
    const { email } = parseFields(emailForm, request.body);
    if (!emailAddress.safeParse(email).success) {
      const problem = `"${email}" is not an e-mail address.`;
      return view(reply.code(422), title, { form: { email, problem } });
    }
    const wait_s = await throttleSignInLink(context.throttle, { address: request.ip, email });
    if (wait_s > 0) {
      const problem = `${tooManyAttempts(reply, wait_s)} A link that you were sent in the last half hour still works.`;
      return view(reply, title, { form: { email, problem } });
    }
    await context.onboarding.requestSignInLink(email);
    return mailSent(reply, 'Check your e-mail', { email });
  });

  // GET does not use the link up: mail scanners open links too.
  scope.get(`${path}/:token`, ANONYMOUS, async (request, reply) => {
    const token = tokenOf(request);
    if (!(await context.onboarding.isSignInLinkValid(token)))
      return invalidLink(reply.code(410), invalid, { again });
    return opened(reply, 'Sign in', { token });
  });

  scope.post(`${path}/:token`, ANONYMOUS, async (request, reply) => {
    const redeemed = await context.onboarding.redeemSignInLink(tokenOf(request));
    if (redeemed === null) return invalidLink(reply.code(410), invalid, { again });
    const { login, email } = redeemed;
    const { subject, epoch } = login;
    const next = `${context.site.root}/`;
    const step = { subject, epoch, email, next, browser: null };
    const { path: to } = await completeFirstStep(reply, context.site, step);
    return reply.redirect(to, 303);
  });
}

const tokenOf = (request: FastifyRequest): string => (request.params as { token: string }).token;
