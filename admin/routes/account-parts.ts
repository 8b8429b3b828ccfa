/**
 * Takes a part of an account away: revokes a key, ends a connection, or clears the second factor of a member who lost it.
 * Each with a reason, audited, and told by mail.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Member, PersonRecord } from '../../gateway/commerce/accounts/accounts.ts';
import { type AuditFacts, accountSubject } from '../../gateway/commerce/history/history.ts';
import { type Confirmation, confirmedAction, counted, REASON } from '../../gateway/commerce/people/people.ts';
import { PageError } from '../../gateway/web/forms.ts';
import { formatMoment } from '../../gateway/web/templates.ts';
import { type AdminArea, idOf, userPath } from '../context.ts';

/** What is taken, found anew for the question and for the act. */
interface Taking extends Omit<Confirmation, 'back'> {
  action: string;
  before: AuditFacts;
  after: AuditFacts;
  take(reason: string): Promise<unknown>;
  notice: string;
}

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

export function accountPartsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { accounts, connections, customerSecondFactor } = area;

  /**
   * @param path below the account's; its parameter `part` is what is taken
   * @param find throws {@link PageError} 404 where the account has no such part, 409 where there is nothing to take
   */
  function taking(
    path: string,
    told: 'customer' | 'member',
    find: (account: { account_id: string; email: string }, part: string) => Promise<Taking>,
  ): void {
    const found = async (request: FastifyRequest) => {
      const account = await accounts.get(idOf(request));
      const { part } = request.params as { part: string };
      return { ...(await find(account, part)), account_id: account.account_id };
    };
    confirmedAction(scope, area, {
      path: `/users/:id/${path}`,
      fields: z.object({}),
      reason: () => ({
        ...REASON,
        hint: `mailed to the ${told} and stored in the audit log: name no person`,
      }),
      async ask(request) {
        const { account_id, title, effects, figures, button } = await found(request);
        return { title, effects, figures, button, back: userPath(account_id) };
      },
      async act(request, _reply, { reason }) {
        const { account_id, action, before, after, take, notice } = await found(request);
        const change = { action, subject: accountSubject(account_id), before, after, reason };
        await request.audited(change, () => take(reason));
        return { path: userPath(account_id), notice };
      },
    });
  }

  taking('keys/:part/revoke', 'customer', async ({ account_id, email }, key_id) => {
    const key = (await accounts.keys.list(account_id)).find((one) => one.key_id === key_id);
    if (!key) throw new PageError(404, `The account has no key ${key_id}.`);
    const { state, label, last4, created_at_ms, last_used_at_ms } = key;
    if (state !== 'active') throw new PageError(409, `The key ${key_id} is already ${state}.`);
    return {
      title: `Revoke a key of ${email}`,
      effects: [
        'Requests with this key are refused from now on. This cannot be undone.',
        'Other keys, the balance and orders stay. The customer can make a new key.',
      ],
      figures: [
        { label: 'Key', value: key_id },
        { label: 'Label', value: label || '–' },
        { label: 'Ends with', value: last4 },
        { label: 'Created', value: minute(created_at_ms) },
        { label: 'Last used', value: minute(last_used_at_ms) },
      ],
      button: 'Revoke key',
      action: 'key.revoke',
      before: { key_id, state },
      after: { key_id, state: 'revoked' },
      take: (reason) => accounts.keys.revoke(key_id, { by: 'operator', reason }),
      notice: `The key is revoked. ${email} is told by mail.`,
    };
  });

  taking('connections/:part/end', 'customer', async ({ account_id }, connection_id) => {
    const connection = (await connections.list(account_id)).find(
      (one) => one.connection_id === connection_id,
    );
    if (!connection) throw new PageError(404, `The account has no connection ${connection_id}.`);
    const { state, client_name, host, created_at_ms, last_used_at_ms, month_credits } = connection;
    if (state !== 'active') throw new PageError(409, `The connection is ${state}.`);
    return {
      title: `End the connection of ${client_name}`,
      effects: [
        'The host is refused from its next request on. Keys and other connections stay; the customer can connect it anew.',
      ],
      figures: [
        { label: 'Connection', value: connection_id },
        { label: 'Host', value: host },
        { label: 'Made', value: formatMoment(created_at_ms) },
        { label: 'Last used', value: formatMoment(last_used_at_ms) },
        { label: 'This month', value: counted(month_credits, 'credit', 'credits') },
      ],
      button: 'End connection',
      action: 'connection.end',
      before: { connection_id, state },
      after: { connection_id, state: 'ended' },
      take: (reason) =>
        connections.end(account_id, connection_id, { by: 'operator', because: 'operator', reason }),
      notice: 'The connection has ended. The customer is told by mail.',
    };
  });

  taking('members/:part/clear-second-factor', 'member', async ({ account_id }, person_id) => {
    const found = (await accountMembers(area, account_id)).find((one) => one.person_id === person_id);
    if (!found?.person) throw new PageError(404, `The account has no member ${person_id}.`);
    const { email, name } = found.person;
    if (!found.hasSecondFactor) throw new PageError(409, `The second factor of ${email} is off.`);
    return {
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
      action: 'account.second_factor',
      before: { person_id, second_factor: 'on' },
      after: { person_id, second_factor: 'cleared' },
      take: (reason) => customerSecondFactor.clear(person_id, reason),
      notice: `The second factor is cleared. ${email} is told by mail.`,
    };
  });
}

const minute = (at_ms: number | null): string =>
  at_ms === null ? 'never' : new Date(at_ms).toISOString().replace('T', ' ').slice(0, 16);
