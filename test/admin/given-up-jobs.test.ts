/** Account jobs that failed five times, as operators see them. */
import { Queue } from 'bullmq';
import { afterAll, expect, it } from 'vitest';
import { connectRedis } from '../../data/runtime/redis.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { JobData, JobName } from '../../gateway/commerce/notifications/jobs/job-data.ts';
import {
  type JobHandlers,
  JobQueue,
  startJobWorker,
} from '../../gateway/commerce/notifications/jobs/queue.ts';
import { keysMatching, silentLog } from '../redis.ts';
import { useAdmin, wordsOf } from './harness.ts';

let isBroken = true;
const done: unknown[] = [];
/** What `Object.hasOwn` looks for. */
const OWN = { configurable: true, enumerable: true };

const service = await useAdmin();
const queue = new Queue('account', {
  connection: service.client,
  prefix: redisKeys.jobs,
  skipWaitingForReady: true,
});
afterAll(() => queue.close());
const jobs = new JobQueue(service.client);
afterAll(() => jobs.close());
const connection = connectRedis(readSettings({ REDIS_URL: service.redis.url }), silentLog, 'jobs');
const work = async (data: unknown): Promise<void> => {
  if (isBroken) throw new Error('550 ada@example.org has no mailbox');
  done.push(data);
};
const handlers = new Proxy({} as JobHandlers, { get: () => work, getOwnPropertyDescriptor: () => OWN });
const worker = startJobWorker(connection, handlers, silentLog);
afterAll(async () => {
  await worker.stop();
  connection.disconnect();
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

const told = (type: string, account_id: string): JobData['told'] => ({
  account_id,
  recipient: 'per_1',
  event: { id: `${type}:1`, type, at_ms: 0, by: '', reason: '', data: {} },
});
const ALERT: JobData['told'] = { ...told('operator.alert', ''), account_id: null, recipient: 'mail' };

type Jobs = Partial<{ [Name in JobName]: JobData[Name] }>;

/** Kinds that are queued once, and so can be retried and dismissed. Those that are scheduled are not given up. */
const ONCE: Jobs = {
  invitation: { account_id: 'acc_1', invitation_id: 'inv_1' },
  told: told('credits.low', 'acc_1'),
};
/** Kinds that come back by themselves, and so can only be retried. */
const RETURNING: Jobs = {
  prepare: { request_id: 'req_1' },
  erasure: { request_id: 'req_1' },
};
/** Kinds that name one, and so can only be dismissed. */
const NAMING: Jobs = {
  'sign-up': { email: 'bo@example.org', name: 'Bo Byström' },
  reset: { email: 'bo@example.org' },
  'sign-in-link': { email: 'bo@example.org' },
  'email-change': { person_id: 'per_1', email: 'bo@example.org' },
  'address-changed': {
    email: 'bo@example.net',
    person_id: 'per_1',
    canUndo: true,
    from: 'bo@example.org',
    to: 'bo@example.net',
  },
};

const KINDS: Jobs = { ...ONCE, ...RETURNING };

it('of every kind know what they were about when they are retried', async () => {
  const operator = await service.signedIn();
  isBroken = true;
  done.length = 0;
  const all = Object.entries({ ...KINDS, ...NAMING }) as [JobName, JobData[JobName]][];
  for (const [name, data] of all) await jobs.add(name, data, name);
  await Promise.all(all.map(([name]) => giveUp(name)));
  for (const [name, data] of all) {
    const stored = JSON.stringify((await queue.getJob(name))?.data);
    if (name in KINDS) expect(stored).toBe(JSON.stringify(data));
    else expect(stored).not.toMatch(/example|Bo/);
  }
  isBroken = false;
  const act = async (name: string, action: string): Promise<number> =>
    (await operator.submit('/admin/runs', `/admin/jobs/${name}/${action}`, {})).status;
  for (const name of Object.keys(NAMING)) {
    expect([name, await act(name, 'retry')]).toEqual([name, 404]);
    expect([name, await act(name, 'dismiss')]).toEqual([name, 303]);
  }
  for (const name of Object.keys(KINDS)) expect([name, await act(name, 'retry')]).toEqual([name, 303]);
  const sorted = (data: unknown[]): string[] => data.map((one) => JSON.stringify(one)).sort();
  await expect.poll(() => sorted(done)).toEqual(sorted(Object.values(KINDS)));
});

it('that nobody can deliver are dismissed, unless they come back by themselves', async () => {
  const operator = await service.signedIn();
  isBroken = true;
  const all = Object.entries(KINDS) as [JobName, JobData[JobName]][];
  for (const [name, data] of all) await jobs.add(name, data, name);
  await Promise.all(all.map(([name]) => giveUp(name)));
  const page = await operator.get('/admin/runs');
  for (const [name] of all) {
    const path = `/admin/jobs/${name}`;
    const [status, shown] = name in ONCE ? [303, true] : [404, false];
    expect([name, page.html.includes(`${path}/retry"`), page.html.includes(`${path}/dismiss"`)]).toEqual([
      ...[name, true, shown],
    ]);
    expect([name, (await operator.submit('/admin/runs', `${path}/dismiss`, {})).status]).toEqual([
      name,
      status,
    ]);
  }
  const left = await queue.getFailed();
  expect(left.map(({ id }) => id).sort()).toEqual(Object.keys(RETURNING).sort());
});

it('are told of from the oldest on, which further ones do not push out', async () => {
  const operator = await service.signedIn();
  isBroken = true;
  for (const { id } of await queue.getFailed()) if (id) await (await queue.getJob(id))?.remove();
  const failMany = async (first: number, count: number): Promise<void> => {
    const numbers = Array.from({ length: count }, (_, index) => first + index);
    const options = { attempts: 1, removeOnFail: false };
    for (const number of numbers)
      await queue.add('told', told('credits.low', `acc_${number}`), { ...options, jobId: `low-${number}` });
    await expect.poll(() => queue.getFailedCount()).toBe(first - 1_000 + count);
  };
  const shown = async (): Promise<Set<string>> => {
    const words = wordsOf(await operator.get('/admin/'));
    return new Set([...words.matchAll(/for (acc_\d+) was given up/g)].map(([, id = '']) => id));
  };
  await failMany(1_000, 8);
  const before = await shown();
  expect(before.size).toBe(8);
  await failMany(1_008, 112);
  const after = await shown();
  expect([...before].filter((id) => !after.has(id))).toEqual([]);
  expect(wordsOf(await operator.get('/admin/'))).toContain('110 more jobs were given up');
});

it('of one kind hide none of another, and all are on the page of runs', async () => {
  const operator = await service.signedIn();
  isBroken = true;
  for (const { id } of await queue.getFailed()) if (id) await (await queue.getJob(id))?.remove();
  const once = { attempts: 1, removeOnFail: false };
  for (let number = 0; number < 101; number++) {
    await queue.add('told', ALERT, { ...once, jobId: `operator-alert-${number}` });
  }
  await expect.poll(() => queue.getFailedCount()).toBe(101);
  await queue.add('told', told('credits.low', 'acc_late'), { ...once, jobId: 'low-late' });
  await expect.poll(() => queue.getFailedCount()).toBe(102);
  const words = wordsOf(await operator.get('/admin/'));
  expect(words).toContain('Mail about a low balance for acc_late was given up');
  expect(words).toContain('91 more jobs were given up');
  const { html } = await operator.get('/admin/runs');
  expect(new Set(html.match(/\/admin\/jobs\/[^"/]+\/retry"/g)).size).toBe(102);
});
