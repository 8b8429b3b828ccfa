/**
 * Accepting an invitation. Its link goes to the invited address: whoever has it signs in to accept, a new person chooses a
 * password. An invitation that was withdrawn, or whose sender is no longer the owner, is answered like a used link.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { textField, untrimmedField } from '../../../web/forms.ts';
import { type OpenInvitation, PASSWORD_LENGTH } from '../../people/people.ts';
import { type AccountContext, recordAction } from '../context.ts';
import { choiceProblem, linkPages, tokenOf } from '../forms.ts';

const form = z.object({ name: textField(200), password: untrimmedField(1_000) });

/** `accept`: the invited person is signed in; `other`: somebody else is; `sign_in`; or `choose` a password. */
type Step = 'accept' | 'other' | 'sign_in' | 'choose';

export function invitationRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('invitation.njk');
  const accepted = context.view('invitation-accepted.njk');

  const nextStep = ({ user }: FastifyRequest, { email, isKnown }: OpenInvitation): Step => {
    if (user) return user.email === email ? 'accept' : 'other';
    return isKnown ? 'sign_in' : 'choose';
  };
  const show = (reply: FastifyReply, invitation: OpenInvitation, token: string, problem = '') =>
    view(reply, 'You are invited', {
      token,
      invitation,
      problem,
      step: nextStep(reply.request, invitation),
      least: PASSWORD_LENGTH.least,
    });

  linkPages(scope, context, {
    path: '/invitation',
    fields: form,
    show,
    again: { template: 'invitation-invalid.njk', title: 'This invitation is no longer valid' },
    peek: (token) => context.invitations.peek(token),
    async act(request, reply, invitation, { name, password }) {
      const { account_id, invitation_id, email, account } = invitation;
      const step = nextStep(request, invitation);
      if (step === 'other' || step === 'sign_in') return show(reply.code(403), invitation, tokenOf(request));
      if (step === 'choose') {
        const problem = await choiceProblem(context, reply, { password, email, id: account_id });
        if (problem !== null) return problem;
      }
      const person_id =
        request.user?.subject ??
        (await context.invitations.welcome(email, name, await context.passwords.hash(password)));
      await context.members.accept(account_id, invitation_id, person_id);
      await recordAction(context, request, { account_id, person_id, action: 'member.accept' });
      if (!request.webSession || !request.user) return accepted(reply, 'You are a member now', { account });
      await context.sessions.setAccount(request.webSession, account_id);
      return reply.leadTo('/account/', `You are a member of ${account} now.`);
    },
  });
}
