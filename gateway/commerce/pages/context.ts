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

interface AccountAction {
  action: string;
  before?: AuditFacts;
  after?: AuditFacts;
}

/** Persons appear under their id, so that an erasure leaves no e-mail address in the audit log. */
const auditEntry = (request: FastifyRequest, subject: string, person_id: string, action: AccountAction) => ({
  ...{ by: personSubject(person_id), subject, ...action, request_id: request.id },
});

/** Audits what a person did with an account that is not the one looked at, after it was done. */
export const recordAccountAction = (
  context: AccountContext,
  request: FastifyRequest,
  { account_id, person_id, ...action }: AccountAction & { account_id: string; person_id: string },
): Promise<void> => context.audit.record(auditEntry(request, accountSubject(account_id), person_id, action));

/** Audits what a person did about herself or himself, after it was done. */
export const recordPersonAction = (
  context: AccountContext,
  request: FastifyRequest,
  person_id: string,
  action: AccountAction,
): Promise<void> => context.audit.record(auditEntry(request, personSubject(person_id), person_id, action));

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
