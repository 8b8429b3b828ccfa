/** Account jobs that failed five times, as operators see them. */
import { Queue } from 'bullmq';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectRedis } from '../../data/runtime/redis.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { type JobHandlers, JobQueue, startJobWorker } from '../../gateway/accounts/jobs/queue.ts';
import { keysMatching, silentLog } from '../redis.ts';
import { type AdminService, startAdmin, wordsOf } from './harness.ts';

let service: AdminService;
let queue: Queue;
let jobs: JobQueue;
let stopWorker: () => Promise<void>;
let isBroken = true;
const done: unknown[] = [];

beforeAll(async () => {
  service = await startAdmin();
  queue = new Queue('account', {
    connection: service.client,
    prefix: redisKeys.jobs,
    skipWaitingForReady: true,
  });
  jobs = new JobQueue(service.client);
  const connection = connectRedis(readSettings({ REDIS_URL: service.redis.url }), silentLog, 'jobs');
  const work = async (data: unknown): Promise<void> => {
    if (isBroken) throw new Error('550 ada@example.org has no mailbox');
    done.push(data);
  };
  const handlers: JobHandlers = {
    ...{ 'sign-up': work, reset: work, 'low-balance': work, prepare: work },
    ...{
      'sign-in-link': work,
      'security-notice': work,
      'webhook-disabled': work,
      notice: work,
      'key-expires': work,
      'expiring-keys': work,
      invitation: work,
      'email-change': work,
      'email-changed': work,
      'ownership-offered': work,
      'operator-alert': work,
      spending: work,
      'indicators-changed': work,
      erasure: work,
      sweep: work,
      erase: work,
    },
  };
  const worker = startJobWorker(connection, handlers, silentLog);
  stopWorker = async () => {
    await worker.stop();
    connection.disconnect();
  };
});
afterAll(async () => {
  await stopWorker();
  await jobs.close();
  await queue.close();
  await service.stop();
});

/** Lets a job fail until it is given up. */
async function giveUp(id: string): Promise<void> {
  for (const attempt of [1, 2, 3, 4]) {
    await expect.poll(async () => (await queue.getJob(id))?.attemptsMade).toBe(attempt);
    await expect.poll(() => queue.getJobState(id)).toBe('delayed');
    await (await queue.getJob(id))?.promote();
  }
  await expect.poll(() => queue.getJobState(id)).toBe('failed');
}

it('are listed with reason and account; Retry queues them again, and both actions are audited', async () => {
  const { account_id } = await service.accounts.create({ email: 'ada@example.org', by: 'test' });
  const { request_id } = await service.requests.open(account_id, 'export');
  const operator = await service.signedIn();
  expect(wordsOf(await operator.get('/admin/runs'))).not.toContain('Jobs given up');
  await jobs.add('prepare', { request_id }, `prepare-${request_id}`);
  await jobs.add('sign-up', { email: 'ada@example.org', name: 'Ada' }, 'mail');
  await Promise.all([giveUp(`prepare-${request_id}`), giveUp('mail')]);
  const page = await operator.get('/admin/runs');
  expect(wordsOf(page)).toContain(
    `Preparation of a privacy request Account ${request_id} 550 (address) has no mailbox`,
  );
  expect(page.html).toContain(`href="/admin/users/${account_id}"`);
  expect(page.html).not.toContain('ada@example.org');
  expect(wordsOf(await operator.get('/admin/'))).toContain(
    'Preparation of a privacy request was given up after 5 attempts: 550 (address) has no mailbox',
  );
  const stored = await Promise.all(
    (await keysMatching(service.client, '{jobs}:account:*')).map((key) =>
      service.client.hgetall(key).catch(() => key),
    ),
  );
  expect(JSON.stringify(stored)).not.toMatch(/ada@|"Ada/);
  isBroken = false;
  const act = (id: string, action: string) =>
    operator.submit('/admin/runs', `/admin/jobs/${id}/${action}`, {});
  expect((await act('mail', 'retry')).status).toBe(404);
  expect((await act('mail', 'dismiss')).status).toBe(303);
  expect((await act(`prepare-${request_id}`, 'dismiss')).status).toBe(404);
  expect((await act(`prepare-${request_id}`, 'retry')).status).toBe(303);
  await expect.poll(() => done).toEqual([{ request_id }]);
  expect(wordsOf(await operator.get('/admin/runs'))).not.toContain('Jobs given up');
  const audit = wordsOf(await operator.get('/admin/audit'));
  expect(audit).toContain('job.retry');
  expect(audit).toContain('job.dismiss');
  const viewer = await service.signedIn('viewer');
  expect((await viewer.submit('/admin/runs', '/admin/jobs/mail/retry', {})).status).toBe(403);
});
