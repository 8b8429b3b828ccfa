/** The services that the routes of the account pages use, and what several of them share. */
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import type { Settings } from '../../../data/runtime/settings.ts';
import type { CreditPack } from '../../../data/schema/curated.ts';
import type { AccountStore } from '../../accounts/account-store.ts';
import type { AuditLog, Facts, Told } from '../../accounts/audit/audit-log.ts';
import type { Alerts } from '../../accounts/balance-alerts.ts';
import type { People } from '../../accounts/identities.ts';
import type { Jobs } from '../../accounts/jobs/queue.ts';
import type { Onboarding } from '../../accounts/onboarding.ts';
import type { PaymentMethod } from '../../accounts/orders/payment.ts';
import { subjectOf } from '../../accounts/privacy/data-export.ts';
import type { SubjectRights } from '../../accounts/privacy/fulfilment.ts';
import type { RequestStore } from '../../accounts/privacy/requests.ts';
import type { AccountRecord, PaymentId } from '../../accounts/records.ts';
import type { SessionStore } from '../../accounts/sign-in/sessions.ts';
import type { Throttle } from '../../accounts/sign-in/throttle.ts';
import { PageError } from '../shared/forms.ts';
import type { PageView, ProtectedArea } from '../shared/protected-area.ts';

export const ACCOUNT_ROOT = '/account';

export interface AccountContext {
  redis: RedisClient;
  settings: Settings;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  site: ProtectedArea;
  sessions: SessionStore;
  throttle: Throttle;
  audit: AuditLog;
  accounts: AccountStore;
  packs: readonly CreditPack[];
  people: People;
  onboarding: Onboarding;
  alerts: Alerts;
  requests: RequestStore;
  rights: SubjectRights;
  jobs: Jobs;
  /** Payment methods that the settings allow, the preferred one first. */
  payments: ReadonlyMap<PaymentId, PaymentMethod>;
  publicUrl: () => string;
  view<Data extends object>(template: string): PageView<Data>;
}

/** The id of the signed-in account. */
export function accountIdOf(request: FastifyRequest): string {
  if (!request.user) throw new PageError(401, 'Sign in first.');
  return request.user.subject;
}

export const accountOf = (context: AccountContext, request: FastifyRequest): Promise<AccountRecord> =>
  context.accounts.get(accountIdOf(request));

interface AccountAction {
  action: string;
  before?: Facts;
  after?: Facts;
}

/** Users appear under their account id, so that an erasure leaves no e-mail address in the audit log. */
function auditEntry(
  request: FastifyRequest,
  account_id: string,
  { action, before = {}, after = {} }: AccountAction,
) {
  const subject = subjectOf(account_id);
  return { by: subject, action, subject, before, after, reason: '', request_id: request.id };
}

/** Audits an action after it was done, where the action itself tells which account it concerns. */
export const recordAction = (
  context: AccountContext,
  request: FastifyRequest,
  account_id: string,
  action: AccountAction,
): Promise<void> => context.audit.record(auditEntry(request, account_id, action));

/** Changes the signed-in account and audits the change; see `AuditLog.attempt`. */
export const auditedChange = <Outcome>(
  context: AccountContext,
  request: FastifyRequest,
  action: AccountAction,
  work: () => Promise<Outcome>,
  told: (outcome: Outcome) => Told | null = () => ({}),
): Promise<Outcome> => context.audit.attempt(auditEntry(request, accountIdOf(request), action), work, told);
