/** The services that the routes of the account pages use, and what several of them share. */
import type { FastifyRequest } from 'fastify';
import { PageError } from '../../web/forms.ts';
import type { PersonStore } from '../accounts/accounts.ts';
import { type AuditFacts, accountSubject, personSubject } from '../history/history.ts';
import type { PaymentMethod } from '../orders/orders.ts';
import type { PageView, ProtectedArea, SessionStore, Throttle } from '../people/people.ts';
import type { AccountService } from '../service.ts';
import type { AccountRecord, PaymentId } from '../store/store.ts';

export const ACCOUNT_ROOT = '/account';

export interface AccountContext extends AccountService {
  site: ProtectedArea;
  sessions: SessionStore;
  throttle: Throttle;
  /** Payment methods that the settings allow, the preferred one first. */
  payments: ReadonlyMap<PaymentId, PaymentMethod>;
  view(template: string): PageView;
}

/** The id of the account that the signed-in person looks at. */
export function accountIdOf(request: FastifyRequest): string {
  if (!request.user?.account) throw new PageError(401, 'Sign in first.');
  return request.user.account.account_id;
}

/** The id of the signed-in person. */
export function personIdOf(request: FastifyRequest): string {
  if (!request.user) throw new PageError(401, 'Sign in first.');
  return request.user.subject;
}

export const accountOf = (context: AccountContext, request: FastifyRequest): Promise<AccountRecord> =>
  context.accounts.get(accountIdOf(request));

/**
 * Audits what a person did, after it was done: with an account that is not the one looked at, else about herself or himself.
 * Persons appear under their id, so that an erasure leaves no e-mail address in the audit log.
 */
export function recordAction(
  { audit }: AccountContext,
  { id: request_id }: FastifyRequest,
  done: { person_id: string; account_id?: string; action: string; after?: AuditFacts },
): Promise<void> {
  const { person_id, account_id, ...action } = done;
  const by = personSubject(person_id);
  return audit.record({ by, subject: account_id ? accountSubject(account_id) : by, ...action, request_id });
}

/** Keys and orders with `by` as pages show it; for a person who is gone, the id stays. */
export async function withMakers<Made extends { by: string }>(
  persons: PersonStore,
  made: readonly Made[],
): Promise<Made[]> {
  const ids = [...new Set(made.map(({ by }) => by))].filter((by) => by.startsWith('per_'));
  const found = await Promise.all(ids.map((id) => persons.get(id)));
  const emails = new Map(
    found.flatMap((person) => (person ? [[person.person_id, person.email] as const] : [])),
  );
  return made.map((one) => ({ ...one, by: emails.get(one.by) ?? one.by }));
}
