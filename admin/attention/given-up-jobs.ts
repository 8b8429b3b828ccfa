/** Account jobs that failed five times: mails, exports and erasures. */
import { listGivenUpJobs } from '../routes/given-up-jobs.ts';
import { type AttentionItem, type AttentionSource, capped, counted, sentence } from './item.ts';

const MAX_SHOWN = 10;

function actionOf(canRetry: boolean, canDismiss: boolean): string {
  if (!canRetry) return 'Dismiss it';
  return canDismiss ? 'Retry or dismiss it' : 'Retry it';
}

export const givenUpJobs: AttentionSource = {
  finds: 'account jobs given up',
  conditions: 'given-up-job',
  async find({ area }) {
    const jobs = (await listGivenUpJobs(area)).sort((a, b) => a.failed_at_ms - b.failed_at_ms);
    const items = jobs.map(
      ({
        id,
        what,
        account_id,
        delivery,
        attempts,
        reason,
        failed_at_ms,
        canRetry,
        canDismiss,
      }): AttentionItem => ({
        severity: 'warning',
        what: sentence(
          `${what}${account_id === null ? '' : ` for ${account_id}`} was given up after ${counted(attempts, 'attempt', 'attempts')}: ${reason}`,
        ),
        since_ms: failed_at_ms,
        path: '/admin/runs#given-up',
        action: actionOf(canRetry, canDismiss),
        // An alert about an alert that could not be delivered would not be delivered either, and so on.
        ...(delivery === null && { condition: id }),
      }),
    );
    return capped(items, MAX_SHOWN, (rest) => `${counted(rest, 'more job was', 'more jobs were')} given up.`);
  },
};
