/** Background jobs in BullMQ, on every kind of Redis: retries of mails, and the nightly run. */
import type { Job, Queue } from 'bullmq';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { founderOf } from '../../../../gateway/commerce/accounts/person-store.ts';
import { GivenUpJobs } from '../../../../gateway/commerce/notifications/jobs/given-up.ts';
import { JobQueue, openQueue } from '../../../../gateway/commerce/notifications/jobs/queue.ts';
import { wordsOf } from '../../../admin/harness.ts';
import { DEPLOYMENTS, useDeployment } from './deployments.ts';
import type { AccountPagesHarness } from './harness.ts';
import { type SmtpSink, startSmtpSink } from './smtp-sink.ts';

let harness: AccountPagesHarness;

describe.each(DEPLOYMENTS)('jobs on $name', ({ open }) => {
  let queue: Queue;
  useDeployment(open, {}, (opened) => {
    harness = opened;
    queue = openQueue(harness.redis, 'account');
  });
  afterAll(() => queue.close());

  it('schedules the nightly run daily at its time in UTC, and not at all when off', async () => {
    const jobs = new JobQueue(harness.redis);
    const nextOf = async () =>
      (await queue.getJobSchedulers()).find(({ key }) => key === 'erase')?.next ?? null;
    const now = new Date();
    const tonight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), 2, 30);
    await jobs.schedule('30 2 * * *');
    expect(await nextOf()).toBe(tonight > now.getTime() ? tonight : tonight + 86_400_000);
    await jobs.schedule('off');
    expect(await nextOf()).toBeNull();
    await jobs.close();
  });

  it('gives up a job that fails five times, says so to operators and on the page, and never queues it again by itself', async () => {
    const { account_id, visitor } = await harness.customer();
    const archivedThrough = redisKeys.archivedThrough(account_id);
    await harness.redis.hset(archivedThrough, 'through', 'not an id');
    await visitor.submit('/account/data', '/account/data/export', {});
    const [request] = await harness.context.requests.listOf(account_id);
    const request_id = request?.request_id ?? '';
    const id = `prepare-${request_id}`;
    const delays = [];
    for (const attempt of [1, 2, 3, 4]) {
      await expect.poll(async () => (await queue.getJob(id))?.attemptsMade).toBe(attempt);
      await expect.poll(() => queue.getJobState(id)).toBe('delayed');
      const job: Job | undefined = await queue.getJob(id);
      delays.push(job?.delay);
      await job?.promote();
    }
    expect(delays).toEqual([5_000, 60_000, 900_000, 6_300_000]);
    await expect.poll(() => queue.getJobState(id)).toBe('failed');
    for (let sweep = 0; sweep < 3; sweep++) await harness.handlers.sweep({});
    expect(await queue.getJobState(id)).toBe('failed');
    const givenUp = new GivenUpJobs(harness.redis);
    const listed = { id, name: 'prepare', account_id: null, request_id, attempts: 5, canRetry: true };
    expect(await givenUp.list()).toMatchObject([listed]);
    const page = await visitor.get('/account/data?follow=yes');
    expect(wordsOf(page)).toContain('This could not be prepared. Our operators have been told');
    expect(page.headers.refresh).toBeUndefined();
    // Once the cause is gone, a retry succeeds.
    await harness.redis.del(archivedThrough);
    expect([await givenUp.dismiss(id), await givenUp.retry(id), await givenUp.retry('none')]).toEqual([
      ...[false, true, false],
    ]);
    await expect.poll(async () => (await harness.context.requests.get(request_id)).status).toBe('ready');
    expect(await givenUp.list()).toEqual([]);
    await givenUp.close();
  });

  it('carries out the erasures that are ready, by schedule', async () => {
    const { account_id } = await harness.customer();
    const { request_id } = await harness.context.requests.open(account_id, 'erasure');
    await harness.context.privacy.prepare(request_id);
    const jobs = new JobQueue(harness.redis);
    // A nightly run every second.
    await jobs.schedule('* * * * * *');
    await expect.poll(async () => (await harness.context.requests.get(request_id)).status).toBe('done');
    await jobs.schedule('off');
    await jobs.close();
    expect(await harness.accounts.get(account_id)).toMatchObject({ state: 'closed', name: '' });
    const [entry] = await harness.context.audit.list({ subject: `account ${account_id}`, limit: 1 });
    expect(entry).toMatchObject({ action: 'account.erase', by: 'nightly batch' });
  });
});

describe('a mail server that fails', () => {
  const refused: string[] = [];
  let smtp: SmtpSink;
  let queue: Queue;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    smtp = await startSmtpSink({ refused });
    const opened = await DEPLOYMENTS[0]?.open({ SMTP_URL: smtp.url });
    if (!opened) throw new Error('no deployment');
    harness = opened.harness;
    queue = openQueue(harness.redis, 'account');
    stop = opened.stop;
  });
  afterAll(async () => {
    await queue.close();
    await stop();
    await smtp.stop();
  });
  beforeEach(() => {
    smtp.mails.length = 0;
  });

  /** The job that has failed so often, and waits. */
  async function waiting(tries: number): Promise<Job> {
    const found = async (): Promise<Job | null> => {
      const [job] = await queue.getDelayed();
      return job?.attemptsMade === tries ? job : null;
    };
    await expect.poll(found).not.toBeNull();
    const job = await found();
    if (!job) throw new Error('no job waits');
    return job;
  }

  it('loses no mail: the job is retried with growing delays and then removed', async () => {
    const email = 'patient@example.org';
    smtp.state.down = true;
    await harness.visitor().submit('/account/sign-up', '/account/sign-up', { email, name: 'Pat' });
    const first = await waiting(1);
    expect(first.delay).toBe(5_000);
    await first.promote();
    const second = await waiting(2);
    expect([second.delay, smtp.mails.length]).toEqual([60_000, 0]);
    smtp.state.down = false;
    await second.promote();
    await expect.poll(() => smtp.mails.length).toBe(1);
    const link = harness.pathOf(smtp.mails[0]?.link ?? null);
    expect((await harness.confirm(harness.visitor(), link)).status).toBe(200);
    expect((await harness.signIn(harness.visitor(), email)).status).toBe(303);
    await expect.poll(() => queue.count()).toBe(0);
    expect(await queue.getFailed()).toEqual([]);
  });

  it('loses no mail about an export, which is not prepared again for it, and mails it once', async () => {
    const { account_id } = await harness.accounts.create({ email: 'copy@example.org', by: 'test' });
    const { request_id } = await harness.context.requests.open(account_id, 'export');
    smtp.state.down = true;
    await harness.context.jobs.add('prepare', { request_id }, `prepare-${request_id}`);
    const job = await waiting(1);
    smtp.state.down = false;
    await job.promote();
    await expect.poll(() => smtp.mails.map(({ subject }) => subject)).toEqual(['Your data is ready']);
    // A worker may be lost after its work, whose job is then done again.
    await harness.handlers.prepare({ request_id });
    await expect.poll(() => queue.count()).toBe(0);
    expect(smtp.mails).toHaveLength(1);
  });

  it('tells a new address once of the change, though the former one takes no mail any more', async () => {
    const [from, to] = ['former@example.org', 'latest@example.org'];
    const { account_id } = await harness.accounts.create({ email: from, verified: true, by: 'test' });
    const { emailChanges } = harness.context;
    await emailChanges.request(founderOf(account_id), to);
    await expect.poll(() => smtp.mails.length).toBe(1);
    const token = smtp.mails[0]?.link?.split('/').at(-1) ?? '';
    refused.push(from);
    await emailChanges.carryOut('email-change', token);
    await (await waiting(1)).promote();
    await (await waiting(2)).promote();
    await waiting(3);
    expect(smtp.mails.map((mail) => [mail.to, mail.subject])).toEqual([
      [to, 'Confirm your new e-mail address'],
      [to, 'Your e-mail address was changed'],
    ]);
    expect((await harness.accounts.get(account_id)).email).toBe(to);
  });

  it('loses and repeats no mail about a changed address when the process ends right after the change', async () => {
    const [from, to] = ['before@example.org', 'after@example.org'];
    const { account_id } = await harness.accounts.create({ email: from, verified: true, by: 'test' });
    const person_id = founderOf(account_id);
    const outbox = redisKeys.personOutbox(person_id);
    expect(await harness.context.persons.get(person_id)).toMatchObject({ email: from });
    // All that a process does that is killed after the script of the change.
    expect(await harness.context.persons.changeEmail(person_id, { from, to, canUndo: true })).toBe(true);
    const written = await harness.redis.hgetall(outbox);
    expect(Object.values(written).map((json) => JSON.parse(json).data)).toEqual([
      { from, to, canUndo: true },
    ]);
    await harness.handlers.sweep({});
    await expect.poll(() => smtp.mails.map((mail) => mail.to).sort()).toEqual([to, from]);
    await expect.poll(() => harness.redis.exists(outbox)).toBe(0);
    expect((await harness.accounts.get(account_id)).email).toBe(to);
    const undo =
      smtp.mails
        .find((mail) => mail.to === from)
        ?.link?.split('/')
        .at(-1) ?? '';
    expect(await harness.context.emailChanges.peek('email-undo', undo)).toMatchObject({ from: to, to: from });
    // One that is killed after it queued the mails leaves the event, which is handed over again.
    await harness.redis.hset(outbox, written);
    await harness.handlers.sweep({});
    await expect.poll(() => harness.redis.exists(outbox)).toBe(0);
    await expect.poll(() => queue.getJobCounts('active', 'waiting')).toEqual({ active: 0, waiting: 0 });
    expect(smtp.mails).toHaveLength(2);
  });

  it('keeps the address of an account that was changed back, though the event of the first change is repeated', async () => {
    const [from, to] = ['there@example.org', 'back@example.org'];
    const { account_id } = await harness.accounts.create({ email: from, verified: true, by: 'test' });
    const person_id = founderOf(account_id);
    const { persons, teller } = harness.context;
    expect(await persons.get(person_id)).toMatchObject({ email: from });
    await persons.changeEmail(person_id, { from, to, canUndo: true });
    const first = await harness.redis.hgetall(redisKeys.personOutbox(person_id));
    await teller.tell(person_id);
    await persons.changeEmail(person_id, { from: to, to: from, canUndo: false });
    await teller.tell(person_id);
    await harness.redis.hset(redisKeys.personOutbox(person_id), first);
    await teller.tell(person_id);
    expect((await harness.accounts.get(account_id)).email).toBe(from);
  });
});
