/** Erasing a person who owns no account: the owner of one has the account erased, or moves the ownership first. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PageError } from '../../../web/forms.ts';
import { type Confirmation, clearSessionCookie, confirmedAction } from '../../people/people.ts';
import { type AccountContext, personIdOf, recordPersonAction } from '../context.ts';
import { membershipsOf } from '../signed-in.ts';
import { reauthenticate } from './sign-in.ts';

export function profileErasureRoutes(scope: FastifyInstance, context: AccountContext): void {
  /** Accounts that the person leaves. @throws {PageError} 409 for the owner of one */
  const leftBy = async (request: FastifyRequest): Promise<string[]> => {
    const memberships = await membershipsOf(context, personIdOf(request));
    if (memberships.some(({ role }) => role === 'owner'))
      throw new PageError(
        409,
        'You own an account. Have it erased under “Your data”, or move its ownership first.',
      );
    return memberships.map(({ account_id }) => account_id);
  };

  confirmedAction(scope, context, {
    path: '/profile/erase',
    fields: z.object({}),
    reason: () => null,
    asksPassword: true,
    options: { config: { allowsRestricted: true } },
    ask: async (request) => erasing(request.user?.email ?? '', (await leftBy(request)).length),
    async act(request, reply, { password }) {
      const refused = await reauthenticate(context, request, reply, password);
      if (refused !== null) return { status: reply.statusCode, problem: refused };
      const person_id = personIdOf(request);
      for (const account_id of await leftBy(request))
        await context.members.remove(account_id, { person_id, by: person_id });
      await context.site.secondFactor.turnOff(person_id);
      await context.persons.erase(person_id);
      await context.mailer.deleteFor(request.user?.email ?? '');
      await recordPersonAction(context, request, person_id, { action: 'person.erase' });
      clearSessionCookie(reply, context.site);
      return { path: '/account/sign-in', notice: null };
    },
  });
}

const erasing = (email: string, accounts: number): Confirmation => ({
  title: 'Erase your profile',
  effects: [
    'Removes your e-mail address, name, password, second factor and memberships at once. This cannot be undone.',
    'Keys that you made stay with their accounts, under an id that leads to nobody.',
  ],
  figures: [
    { label: 'Person', value: email },
    { label: 'Accounts that you leave', value: String(accounts) },
  ],
  button: 'Erase my profile permanently',
  isDestructive: true,
  back: '/account/profile',
});
