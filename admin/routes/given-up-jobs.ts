/** Account jobs that failed five times: shown on the page of runs, retried or dismissed here. */
import type { FastifyInstance } from 'fastify';
import { accountSubject } from '../../gateway/commerce/history/history.ts';
import {
  eventRow,
  type GivenUpJob,
  type JobName,
} from '../../gateway/commerce/notifications/notifications.ts';
import { PageError } from '../../gateway/web/forms.ts';
import { type AdminArea, userPath } from '../context.ts';

const PAGE = '/admin/runs';

/** What is scheduled is not given up: the next one comes anyway. The catalogue of events names what `told` was to tell. */
type Given = Exclude<JobName, 'sweep' | 'expiring-keys' | 'erase' | 'told'>;

const WHAT: Readonly<Record<string, string>> = {
  'sign-up': 'Mail after a sign-up',
  reset: 'Mail to reset a password',
  'sign-in-link': 'Mail with a sign-in link',
  'email-change': 'Mail to a new address',
  'address-changed': 'Mail about a changed address',
  invitation: 'Mail with an invitation',
  prepare: 'Preparation of a privacy request',
  erasure: 'Erasure of an account',
} satisfies Record<Given, string>;

export const describeGivenUp = ({ name }: GivenUpJob): string =>
  eventRow({ type: name })?.mail?.what ?? WHAT[name] ?? name;

/** Each with the page of its account, empty without one. */
export async function listGivenUpJobs({ givenUpJobs, requests }: AdminArea) {
  const jobs = await givenUpJobs.list();
  return Promise.all(
    jobs.map(async (job) => {
      const { id, account_id, request_id } = job;
      const request = request_id === null ? null : await requests.get(request_id).catch(() => null);
      const account = account_id ?? request?.account_id;
      const user = account === undefined ? '' : userPath(account);
      return { ...job, what: describeGivenUp(job), user, path: `/admin/jobs/${encodeURIComponent(id)}` };
    }),
  );
}

export function givenUpJobsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const notices = { retry: 'The job is queued again.', dismiss: 'The job is dismissed.' };
  for (const action of ['retry', 'dismiss'] as const)
    scope.post<{ Params: { id: string } }>(`/jobs/:id/${action}`, async (request, reply) => {
      const { id } = request.params;
      const job = (await area.givenUpJobs.list()).find((one) => one.id === id);
      const subject = job?.account_id ? accountSubject(job.account_id) : `job ${id}`;
      const isChanged = await request.audited({ action: `job.${action}`, subject, after: { job: id } }, () =>
        area.givenUpJobs[action](id),
      );
      if (!isChanged) throw new PageError(404, `There is no such job to ${action}: ${id}.`);
      return reply.leadTo(PAGE, notices[action]);
    });
}
