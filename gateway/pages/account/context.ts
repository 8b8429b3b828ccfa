/** What the routes of the account pages are given. */
import type { FastifyReply, FastifyRequest } from 'fastify';
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
import { PageProblem } from '../shared/page-problem.ts';
import type { PageView, Site } from '../shared/site.ts';

export const ACCOUNT_ROOT = '/account';

export interface AccountArea {
  redis: RedisClient;
  settings: Settings;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  site: Site;
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
  /** Ways to pay that the settings allow, the preferred one first. */
  payments: ReadonlyMap<PaymentId, PaymentMethod>;
  publicUrl: () => string;
  view<Context extends object>(template: string): PageView<Context>;
}

/** The id of the account that is signed in. */
export function accountIdOf(request: FastifyRequest): string {
  if (!request.person) throw new PageProblem(401, 'Sign in first.');
  return request.person.subject;
}

export const accountOf = (area: AccountArea, request: FastifyRequest): Promise<AccountRecord> =>
  area.accounts.get(accountIdOf(request));

export interface Note {
  action: string;
  before?: Facts;
  after?: Facts;
}

/** The person appears as the account: an erasure leaves no address. */
function entryOf(request: FastifyRequest, account_id: string, { action, before = {}, after = {} }: Note) {
  const subject = subjectOf(account_id);
  return { by: subject, action, subject, before, after, reason: '', request_id: request.id };
}

/** Notes what a person did to their account, where only the doing told which account that is. */
export const note = (
  area: AccountArea,
  request: FastifyRequest,
  account_id: string,
  said: Note,
): Promise<void> => area.audit.record(entryOf(request, account_id, said));

/** Carries out what a person does to their own account, with its entry in the audit log; see `AuditLog.attempt`. */
export const change = <Outcome>(
  area: AccountArea,
  request: FastifyRequest,
  asked: Note,
  work: () => Promise<Outcome>,
  told: (outcome: Outcome) => Told | null = () => ({}),
): Promise<Outcome> => area.audit.attempt(entryOf(request, accountIdOf(request), asked), work, told);

/** After a form was taken: to a page that says what was done, so that reloading it does nothing twice. */
export async function goOn(
  area: AccountArea,
  reply: FastifyReply,
  path: string,
  notice: string | null = null,
): Promise<FastifyReply> {
  const { webSession } = reply.request;
  if (webSession && notice !== null) await area.sessions.leaveNotice(webSession, notice);
  return reply.redirect(path, 303);
}
