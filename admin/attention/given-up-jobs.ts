/** Account jobs that failed five times: mails, exports and erasures. */
import type { GivenUpJob } from '../../gateway/commerce/notifications/notifications.ts';
import { whatOf } from '../routes/given-up-jobs.ts';
import { type AttentionItem, type AttentionSource, capped, counted, sentence } from './item.ts';

/** For each kind of job, so that none hides another. */
const MAX_SHOWN = 10;

export const givenUpJobs: AttentionSource = {
  finds: 'account jobs given up',
  conditions: 'given-up-job',
  async find({ area }) {
    // The oldest: while further ones are given up, a condition among the newest would seem to end.
    const jobs = (await area.givenUpJobs.list()).reverse();
    const byKind = [...Map.groupBy(jobs, ({ name }) => name).values()];
    const shown = byKind.flatMap((some) => some.slice(0, MAX_SHOWN));
    const rest = byKind
      .flatMap((some) => some.slice(MAX_SHOWN))
      // What stands for the rest has the condition of the first, and undelivered alerts have none.
      .sort((a, b) => Number(isAlert(a)) - Number(isAlert(b)));
    const more = `${counted(rest.length, 'more job was', 'more jobs were')} given up.`;
    return capped([...shown, ...rest].map(describeJob), shown.length, () => more);
  },
};

const isAlert = ({ name }: GivenUpJob): boolean => name === 'operator-alert';

function describeJob(job: GivenUpJob): AttentionItem {
  const { id, account_id, attempts, reason, failed_at_ms } = job;
  const whose = account_id === null ? '' : ` for ${account_id}`;
  return {
    severity: 'warning',
    what: sentence(
      `${whatOf(job)}${whose} was given up after ${counted(attempts, 'attempt', 'attempts')}: ${reason}`,
    ),
    since_ms: failed_at_ms,
    path: '/admin/runs#given-up',
    action: actionOf(job),
    // An alert about an alert that could not be delivered would not be delivered either, and so on.
    ...(!isAlert(job) && { condition: id }),
  };
}

function actionOf({ canRetry, canDismiss }: GivenUpJob): string {
  if (!canRetry) return 'Dismiss it';
  return canDismiss ? 'Retry or dismiss it' : 'Retry it';
}
