/** Jobs of the worker that ended with an unexpected error and have not succeeded since. */
import type { FailedJob } from '../../data/runtime/jobs.ts';
import { type AttentionSource, sentence } from './item.ts';

const describe = ({ name, subject }: FailedJob): string =>
  subject === null ? name : `${name} of ${subject}`;

export const failedJobs: AttentionSource = {
  finds: 'failed jobs',
  conditions: 'failed-job',
  async find({ area }) {
    const failed = await area.jobs.listFailed();
    return failed.map((job) => ({
      severity: 'warning',
      what: sentence(`The job ${describe(job)} failed: ${job.reason}`),
      since_ms: job.failed_at_ms,
      path: job.subject === null ? '/admin/runs' : `/admin/runs?subject=${encodeURIComponent(job.subject)}`,
      action: 'Start it again',
      condition: describe(job),
    }));
  },
};
