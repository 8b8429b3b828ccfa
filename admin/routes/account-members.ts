/**
 * The members of an account, and clearing the second factor of one who lost it: with a reason, audited, and told to the
 * person by mail.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Member, PersonRecord } from '../../gateway/commerce/accounts/accounts.ts';
import { accountSubject } from '../../gateway/commerce/history/history.ts';
import { type Confirmation, confirmedAction, REASON } from '../../gateway/commerce/people/people.ts';
import { PageError } from '../../gateway/web/forms.ts';
import { type AdminArea, idOf, userPath } from '../context.ts';

interface ShownMember extends Member {
  person: PersonRecord | null;
  hasSecondFactor: boolean;
}

export async function accountMembers(area: AdminArea, account_id: string): Promise<ShownMember[]> {
  const members = await area.members.list(account_id);
  return Promise.all(
    members.map(async (member) => ({
      ...member,
      person: await area.persons.get(member.person_id),
      hasSecondFactor: await area.customerSecondFactor.isOn(member.person_id),
    })),
  );
}

export function accountMembersRoutes(scope: FastifyInstance, area: AdminArea): void {
  /** @throws {PageError} 404 for somebody who is no member, 409 where there is nothing to clear */
  async function find(
    request: FastifyRequest,
  ): Promise<{ path: string; account_id: string; person: PersonRecord }> {
    const { account_id } = await area.accounts.get(idOf(request));
    const { person: wanted } = request.params as { person: string };
    const found = (await accountMembers(area, account_id)).find(({ person_id }) => person_id === wanted);
    if (!found?.person) throw new PageError(404, `The account has no member ${wanted}.`);
    const { person, hasSecondFactor } = found;
    if (!hasSecondFactor) throw new PageError(409, `The second factor of ${person.email} is off.`);
    return { path: userPath(account_id), account_id, person };
  }

  confirmedAction(scope, area, {
    path: '/users/:id/members/:person/clear-second-factor',
    fields: z.object({}),
    reason: () => ({ ...REASON, hint: 'mailed to the member and stored in the audit log: name no person' }),
    async ask(request) {
      const { path, person } = await find(request);
      return clearance(person, path);
    },
    async act(request, _reply, { reason }) {
      const { path, account_id, person } = await find(request);
      const { person_id, email } = person;
      const change = {
        ...{ action: 'account.second_factor', subject: accountSubject(account_id), reason },
        ...{ before: { person_id, second_factor: 'on' }, after: { person_id, second_factor: 'cleared' } },
      };
      await request.audited(change, () => area.customerSecondFactor.clear(person_id, reason));
      return { path, notice: `The second factor is cleared. ${email} is told by mail.` };
    },
  });
}

const clearance = ({ person_id, email, name }: PersonRecord, back: string): Confirmation => ({
  title: `Clear the second factor of ${email}`,
  effects: [
    'The next sign-in needs the password alone. The recovery codes no longer work.',
    'Be sure that the request comes from this person: whoever knows the password gets in.',
  ],
  figures: [
    { label: 'Person', value: person_id },
    { label: 'Name', value: name || '–' },
  ],
  button: 'Clear second factor',
  back,
});
