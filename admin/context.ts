/** What the operator area's routes share: dependencies, shown changes and account paths. */
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { JobService } from '../data/runtime/jobs.ts';
import type { RedisClient } from '../data/runtime/redis.ts';
import type { RunStore } from '../data/runtime/run-store.ts';
import type { Settings } from '../data/runtime/settings.ts';
import type { ProviderDefinition } from '../data/schema/curated.ts';
import type { AccountStore, MemberStore, PersonStore } from '../gateway/commerce/accounts/accounts.ts';
import type { ConnectionStore } from '../gateway/commerce/connections/connections.ts';
import type { Archive, AuditFacts, AuditLog } from '../gateway/commerce/history/history.ts';
import type {
  GivenUpJobs,
  JobProducer,
  Mailer,
  OperatorAlerts,
} from '../gateway/commerce/notifications/notifications.ts';
import type {
  PageView,
  PasswordHasher,
  SecondFactorStore,
  SessionStore,
  Throttle,
} from '../gateway/commerce/people/people.ts';
import type { Erasures, PrivacyRequestStore } from '../gateway/commerce/privacy/privacy.ts';
import type { AccountIndex } from './account-index.ts';
import type { DecisionStore } from './decision-store.ts';
import type { IndicatorAdmin } from './indicator-admin.ts';
import type { OperatorLinks, OperatorStore } from './operators.ts';
import type { Reconciler } from './reconcile/reconciler.ts';
import type { ServedSnapshot } from './snapshots.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers owners only. */
    ownersOnly?: boolean;
  }
}

export interface AdminDependencies {
  /** Not shared with the gateway: long reads must not delay paid requests. */
  redis: RedisClient;
  accounts: AccountStore;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  snapshots: { current(): ServedSnapshot | null };
  /** The lake is read if it is on this machine; the reconciler's summaries of the archive are kept in `VAR_DIR`. */
  settings: Settings;
  archive: Archive;
  erasures: Erasures;
  mailer: Mailer;
  operatorAlerts: OperatorAlerts;
  /** How often to look for conditions that cause alerts; default every minute. */
  watchEvery_ms?: number;
  /** Public URL of the area, without a trailing slash. */
  areaUrl: () => string;
}

export interface AdminArea extends AdminDependencies {
  sessions: SessionStore;
  passwords: PasswordHasher;
  /** Of operators. */
  secondFactor: SecondFactorStore;
  members: MemberStore;
  persons: PersonStore;
  connections: ConnectionStore;
  /** Of the persons of accounts. */
  customerSecondFactor: SecondFactorStore;
  operators: OperatorStore;
  operatorLinks: OperatorLinks;
  throttle: Throttle;
  audit: AuditLog;
  index: AccountIndex;
  requests: PrivacyRequestStore;
  reconciler: Reconciler;
  indicators: IndicatorAdmin;
  decisions: DecisionStore;
  jobs: JobService;
  /** Mails that are sent, and tried again, by the gateways. */
  mailJobs: JobProducer;
  givenUpJobs: GivenUpJobs;
  runs: RunStore;
  /** Curated providers by id, enabled or not as operators decided. */
  providers(): Promise<ReadonlyMap<string, ProviderDefinition>>;
  view(template: string): PageView;
}

const SHOWN_CHANGES = 20;

/** The newest changes of a subject as its page shows them, and why older ones cannot be shown: null when they can. */
export async function shownChanges({ audit }: AdminArea, subject: string) {
  const { entries, gap } = await audit.page({ subject, limit: SHOWN_CHANGES });
  return { audit: entries, auditGap: gap?.message ?? null };
}

/** The id in the path of a request. */
export const idOf = ({ params }: FastifyRequest): string => (params as { id: string }).id;

export const actorOf = (request: FastifyRequest): string => request.user?.email ?? '';

export const userPath = (account_id: string): string => `/admin/users/${encodeURIComponent(account_id)}`;

interface StepChange {
  action: string;
  subject: string;
  before?: AuditFacts;
  after?: AuditFacts;
  reason: string;
}

/** Makes one change of many things: one entry of the audit log for the step, and one for each, which its own page shows. */
export const auditedStep = (
  { audit }: AdminArea,
  request: FastifyRequest,
  step: StepChange,
  { work, each }: { work: () => Promise<void>; each: readonly StepChange[] },
): Promise<void> =>
  request.audited(step, async () => {
    await work();
    for (const change of each)
      await audit.record({ ...change, by: actorOf(request), request_id: request.id });
  });
