/** What the routes of the operator area are given. */
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { JobService } from '../data/runtime/jobs.ts';
import type { RedisClient } from '../data/runtime/redis.ts';
import type { RunStore } from '../data/runtime/run-store.ts';
import type { ProviderDefinition } from '../data/schema/curated.ts';
import type { AccountStore } from '../gateway/accounts/account-store.ts';
import type { AuditLog, Change, Told } from '../gateway/accounts/audit/audit-log.ts';
import type { RequestStore } from '../gateway/accounts/privacy/requests.ts';
import type { SessionStore } from '../gateway/accounts/sign-in/sessions.ts';
import type { Throttle } from '../gateway/accounts/sign-in/throttle.ts';
import type { Archive } from '../gateway/archive/archive.ts';
import type { PageView, ProtectedArea } from '../gateway/pages/shared/protected-area.ts';
import type { AccountIndex } from './account-index.ts';
import type { IndicatorAdmin } from './indicator-admin.ts';
import type { OperatorStore } from './operators.ts';
import type { Reconciler } from './reconcile/reconciler.ts';
import type { ServedSnapshot } from './snapshots.ts';

/** What the operator area needs from outside. */
export interface AdminDependencies {
  /** A connection of its own, so that long readings never stand before a paid request. */
  redis: RedisClient;
  accounts: AccountStore;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  snapshots: { current(): ServedSnapshot | null };
  /** Where published snapshots lie. */
  snapshotDir: string;
  /** Where the curated data lies. */
  curatedDir: string;
  archive: Archive;
  /** Where reconciliation keeps what it has read of the archive. */
  reconcileDir: string;
}

export interface AdminArea extends AdminDependencies {
  site: ProtectedArea;
  sessions: SessionStore;
  operators: OperatorStore;
  throttle: Throttle;
  audit: AuditLog;
  index: AccountIndex;
  requests: RequestStore;
  reconciler: Reconciler;
  indicators: IndicatorAdmin;
  jobs: JobService;
  runs: RunStore;
  /** Curated providers by id. */
  providers(): Promise<ReadonlyMap<string, ProviderDefinition>>;
  view<Context extends object>(template: string): PageView<Context>;
}

/** Carries out a change by whoever sent the request, with its entry in the audit log; see `AuditLog.attempt`. */
export function auditedChange<Outcome>(
  area: AdminArea,
  request: FastifyRequest,
  asked: Pick<Change, 'action' | 'subject'> & Partial<Change>,
  work: () => Promise<Outcome>,
  told: (outcome: Outcome) => Told | null = () => ({}),
  name: string | null = null,
): Promise<Outcome> {
  const whole = { before: {}, after: {}, reason: '', ...asked, by: actorOf(request), request_id: request.id };
  return area.audit.attempt(whole, work, told, name);
}

export const actorOf = (request: FastifyRequest): string => request.user?.email ?? '';

/** Name under which an account's changes stand in the audit log. */
export const accountSubject = (account_id: string): string => `account ${account_id}`;
export const userPath = (account_id: string): string => `/admin/users/${encodeURIComponent(account_id)}`;
