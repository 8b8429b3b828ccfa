/** Open privacy requests, more urgent with age: the law gives a month. */
import { DAY_MS } from '../../data/schema/redis-keys.ts';
import { type AttentionItem, type AttentionSource, capped, counted, type Severity } from './item.ts';

const PATH = '/admin/gdpr';
const MAX_SHOWN = 10;
const CRITICAL_DAYS = 25;
const WARNING_DAYS = 7;

function severityOf(age_days: number): Severity {
  if (age_days >= CRITICAL_DAYS) return 'critical';
  return age_days >= WARNING_DAYS ? 'warning' : 'notice';
}

export const privacyRequests: AttentionSource = {
  finds: 'open privacy requests',
  async find({ area, now_ms }) {
    const open = await area.requests.listOpen();
    const items = open.map(({ kind, account_id, created_at_ms }): AttentionItem => {
      const age_days = Math.floor((now_ms - created_at_ms) / DAY_MS);
      return {
        severity: severityOf(age_days),
        what: `The ${kind} request of ${account_id} has been open for ${counted(age_days, 'day', 'days')}.`,
        since_ms: created_at_ms,
        path: PATH,
        action: 'Carry it out',
      };
    });
    return capped(
      items,
      MAX_SHOWN,
      (rest) => `${counted(rest, 'more request is', 'more requests are')} open.`,
    );
  },
};
