/** Moving the ownership of the account: its owner offers it to a member, who accepts or declines. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PageError } from '../../../web/forms.ts';
import { FORMER_OWNER } from '../../people/roles.ts';
import { type Confirmation, confirmedAction } from '../../sign-in/confirmation.ts';
import { redirectWithFlash } from '../../sign-in/protected-area.ts';
import { type AccountContext, accountIdOf, auditedChange, personIdOf } from '../context.ts';
import { findMember, MEMBERS_PATH } from './members.ts';
import { reauthenticate } from './sign-in.ts';

const NO_FIELDS = z.object({});

export function ownershipRoutes(scope: FastifyInstance, context: AccountContext): void {
  confirmedAction(scope, context, {
    path: '/members/:person_id/offer',
    fields: NO_FIELDS,
    reason: () => null,
    asksPassword: true,
    ask: async (request) => offering((await findMember(context, request)).email),
    async act(request, reply, { password }) {
      const refused = await reauthenticate(context, request, reply, password);
      if (refused !== null) return { status: reply.statusCode, problem: refused };
      const { person_id, email } = await findMember(context, request);
      const account_id = accountIdOf(request);
      await auditedChange(context, request, { action: 'ownership.offer', after: { person_id } }, () =>
        context.members.offerOwnership(account_id, { to: person_id, by: personIdOf(request) }),
      );
      await context.jobs.add('ownership-offered', { account_id });
      return { path: MEMBERS_PATH, notice: `The ownership is offered to ${email}, for seven days.` };
    },
  });

  scope.post('/members/offer/end', async (request, reply) => {
    await auditedChange(context, request, { action: 'ownership.end_offer' }, () =>
      context.members.endOffer(accountIdOf(request), personIdOf(request)),
    );
    return redirectWithFlash(context, reply, MEMBERS_PATH, 'The offer has ended.');
  });

  confirmedAction(scope, context, {
    path: '/members/offer/accept',
    fields: NO_FIELDS,
    reason: () => null,
    asksPassword: true,
    async ask(request) {
      await expectNoErasure(context, request);
      return accepting((await context.accounts.get(accountIdOf(request))).email);
    },
    async act(request, reply, { password }) {
      await expectNoErasure(context, request);
      const refused = await reauthenticate(context, request, reply, password);
      if (refused !== null) return { status: reply.statusCode, problem: refused };
      const person_id = personIdOf(request);
      const email = request.user?.email ?? '';
      await auditedChange(context, request, { action: 'ownership.accept', after: { person_id } }, () =>
        context.members.acceptOwnership(accountIdOf(request), { person_id, email }),
      );
      return { path: MEMBERS_PATH, notice: 'You are the owner of the account now.' };
    },
  });
}

/** An erasure also erases the owner, and only the one who asked for it may be. @throws {PageError} 409 */
async function expectNoErasure({ requests }: AccountContext, request: FastifyRequest): Promise<void> {
  if (await requests.hasOpen(accountIdOf(request), 'erasure'))
    throw new PageError(
      409,
      'The owner has asked for the erasure of this account. It can change hands no more.',
    );
}

const offering = (email: string): Confirmation => ({
  title: 'Offer the ownership',
  effects: [
    `Nothing changes until ${email} accepts, within seven days. You can withdraw the offer before.`,
    `After that, ${email} alone can manage members, close the account and have it erased. You become ${FORMER_OWNER}.`,
  ],
  figures: [{ label: 'To', value: email }],
  button: 'Offer ownership',
  isDestructive: false,
  back: MEMBERS_PATH,
});

const accepting = (owner: string): Confirmation => ({
  title: 'Become the owner',
  effects: [
    'You alone can then manage members, close the account and have it erased. Mails about the account go to you.',
    `${owner} becomes ${FORMER_OWNER}. Open invitations end.`,
  ],
  figures: [{ label: 'Owner today', value: owner }],
  button: 'Become the owner',
  isDestructive: false,
  back: MEMBERS_PATH,
});
