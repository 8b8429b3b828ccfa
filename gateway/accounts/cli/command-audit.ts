/** What the command line changes stands in the audit log as what is changed on pages does. */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { AuditLog, type Facts, type Told } from '../audit/audit-log.ts';
import { subjectOf } from '../privacy/data-export.ts';

export const BY = 'command line';

/** Carries out a change of an account, with its entry in the audit log. */
export function change<Outcome>(
  redis: RedisClient,
  asked: { action: string; account_id: string; after?: Facts },
  work: () => Promise<Outcome>,
  told: (outcome: Outcome) => Told | null = () => ({}),
): Promise<Outcome> {
  const { action, account_id, after = {} } = asked;
  const entry = { by: BY, action, subject: subjectOf(account_id), before: {}, after };
  return new AuditLog(redis, Date.now).attempt({ ...entry, reason: '', request_id: '' }, work, told);
}
