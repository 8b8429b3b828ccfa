/**
 * Accepting an invitation. Its link goes to the invited address: whoever has it signs in to accept, a new person chooses a
 * password. An invitation that was withdrawn, or whose sender is no longer the owner, is answered like a used link.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseFields, textField, untrimmedField } from '../../../web/forms.ts';
import { type OpenInvitation, PASSWORD_LENGTH } from '../../people/people.ts';
import { type AccountContext, recordAction } from '../context.ts';
import { ANONYMOUS, choiceProblem, tokenOf } from '../forms.ts';

const form = z.object({ name: textField(200), password: untrimmedField(1_000) });
const PATH = '/invitation/:token';

/** `accept`: the invited person is signed in; `other`: somebody else is; `sign_in`; or `choose` a password. */
type Step = 'accept' | 'other' | 'sign_in' | 'choose';

export function invitationRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('invitation.njk');
  const invalid = context.view('invitation-invalid.njk');
  const accepted = context.view('invitation-accepted.njk');
  const title = 'You are invited';

  const nextStep = ({ user }: FastifyRequest, { email, isKnown }: OpenInvitation): Step => {
    if (user) return user.email === email ? 'accept' : 'other';
    return isKnown ? 'sign_in' : 'choose';
  };
  const show = (request: FastifyRequest, reply: FastifyReply, invitation: OpenInvitation, problem = '') =>
    view(reply, title, {
      ...{ token: tokenOf(request), invitation, problem },
      step: nextStep(request, invitation),
      least: PASSWORD_LENGTH.least,
    });
  const refuse = (reply: FastifyReply) => invalid(reply.code(410), 'This invitation is no longer valid', {});

  scope.get(PATH, ANONYMOUS, async (request, reply) => {
    const invitation = await context.invitations.peek(tokenOf(request));
    return invitation === null ? refuse(reply) : show(request, reply, invitation);
  });

  scope.post(PATH, ANONYMOUS, async (request, reply) => {
    const { name, password } = parseFields(form, request.body);
    const token = tokenOf(request);
    const invitation = await context.invitations.peek(token);
    if (invitation === null) return refuse(reply);
    const { account_id, invitation_id, email, account } = invitation;
    const step = nextStep(request, invitation);
    if (step === 'other' || step === 'sign_in') return show(request, reply.code(403), invitation);
    if (step === 'choose') {
      const problem = await choiceProblem(context, reply, { password, email, id: account_id });
      if (problem !== null) return show(request, reply, invitation, problem);
    }
    const person_id =
      request.user?.subject ??
      (await context.invitations.welcome(email, name, await context.passwords.hash(password)));
    await context.members.accept(account_id, invitation_id, person_id);
    await recordAction(context, request, { account_id, person_id, action: 'member.accept' });
    if (!request.webSession || !request.user) return accepted(reply, 'You are a member now', { account });
    await context.sessions.setAccount(request.webSession, account_id);
    return reply.leadTo('/account/', `You are a member of ${account} now.`);
  });
}
