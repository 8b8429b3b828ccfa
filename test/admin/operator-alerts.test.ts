/** Alerts to operators: by mail and webhook, once when something begins and once when it ends. */
import { randomBytes } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import { emptyRecord } from '../../build/lake/provider-lake.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { DAY_MS, redisKeys } from '../../data/schema/redis-keys.ts';
import type { Condition } from '../../gateway/commerce/notifications/alerts/operator-alert.ts';
import { type AccountService, openAccountService } from '../../gateway/commerce/service.ts';
import { type SmtpSink, startSmtpSink } from '../gateway/commerce/pages/smtp-sink.ts';
import {
  answers,
  isSignedWith,
  type Receiver,
  startReceiver,
} from '../gateway/commerce/webhooks/receiver.ts';
import { silentLog, startRedis, type TestRedis } from '../redis.ts';
import { type AnyAdminService, NOON, startAdminOn, wordsOf } from './harness.ts';

const SECRET = `whsec_${randomBytes(32).toString('base64')}`;
const HOOK = '/alerts?token=secret-part';
const EMAIL = 'night@example.org';
const LOOK_MS = 20;
const HOUR_MS = 3_600_000;
const NO_PAGE = { status: 0, headers: {}, html: '', location: '' };

describe('two gateways', () => {
  let redis: TestRedis;
  let smtp: SmtpSink;
  let receiver: Receiver;
  let services: AccountService[];
  let areas: AnyAdminService[];
  let reporter: RunReporter;
  let queue: Queue;
  let runs = 0;

  beforeAll(async () => {
    redis = await startRedis();
    smtp = await startSmtpSink();
    receiver = await startReceiver();
    const settings = {
      REDIS_URL: redis.url,
      SMTP_URL: smtp.url,
      LOG_LEVEL: 'silent',
      OPERATOR_ALERT_EMAIL: EMAIL,
      OPERATOR_WEBHOOK_URL: receiver.url + HOOK,
      OPERATOR_WEBHOOK_SECRET: SECRET,
    };
    const client = await redis.connect();
    const open = () =>
      openAccountService({
        settings: readSettings(settings),
        redis: client,
        now: Date.now,
        log: silentLog,
        publicUrl: () => 'http://127.0.0.1',
      });
    services = [await open(), await open()];
    const unowned = { ...redis, stop: async () => {} };
    const area = () => startAdminOn(unowned, settings, { watchEvery_ms: LOOK_MS });
    areas = [await area(), await area()];
    reporter = new RunReporter(client, () => areas[0]?.clock.ms ?? NOON);
    queue = new Queue('account', { connection: client, prefix: redisKeys.jobs, skipWaitingForReady: true });
  });
  afterAll(async () => {
    await reporter.close();
    await queue.close();
    for (const area of areas) await area.stop();
    for (const service of services) await service.stop();
    await smtp.stop();
    receiver.stop();
    await redis.stop();
  });

  async function report(provider: string, more: Partial<RunRecord>): Promise<void> {
    runs += 1;
    for (const { clock } of areas) clock.ms += 1_000;
    const now_ms = areas[0]?.clock.ms ?? NOON;
    const finished_at = formatTimestamp(now_ms);
    const record = emptyRecord(`r${String(runs).padStart(3, '0')}`, provider, now_ms);
    reporter.onRun({ ...record, status: 'succeeded', finished_at, newest_year: 2025, ...more });
    await reporter.flush();
  }

  /** Waits until so many further looks were noted. */
  async function untilLooked(times: number): Promise<void> {
    const client = areas[0]?.client;
    const before = Number(await client?.get(redisKeys.alertNoted));
    await expect
      .poll(async () => Number(await client?.get(redisKeys.alertNoted)))
      .toBeGreaterThanOrEqual(before + times);
  }

  const eventsOf = (name: string): string[] =>
    receiver.received.flatMap(({ payload }) =>
      (['begun', 'ended'] as const).filter((event) =>
        (payload.data[event] as Condition[]).some(({ condition }) => condition === name),
      ),
    );
  /** Mails have lines of at most 76 characters. */
  const mailText = (): string => smtp.mails.map(({ subject, text }) => `${subject}\n\n${text}`).join('\n\n');
  const mentions = (text: string): number => mailText().split(text).length - 1;

  it('tell a held run once when it begins and once when it ends, also after the watcher is gone', async () => {
    for (const service of services) service.startWorker();
    await report('who-gho', { status: 'suspicious', reason: 'Half of the series are gone.' });
    await expect.poll(() => eventsOf('held-run:who-gho')).toEqual(['begun']);
    await expect.poll(() => mentions('Half of the series are gone.')).toBeGreaterThan(0);
    await untilLooked(5);
    const [mail] = smtp.mails;
    expect(mail?.to).toBe(EMAIL);
    expect(mailText()).toContain('/admin/runs/');
    const [watching] = areas;
    // Whichever gateway watched, it stops; the other takes over and tells nothing anew.
    await watching?.client.set(redisKeys.alertWatcher, 'a process that ended', 'PX', LOOK_MS * 2);
    await expect.poll(() => watching?.client.get(redisKeys.alertWatcher)).not.toBe('a process that ended');
    await untilLooked(5);
    await report('who-gho', { status: 'succeeded' });
    await expect.poll(() => eventsOf('held-run:who-gho')).toEqual(['begun', 'ended']);
    await expect.poll(() => mentions('No longer the case')).toBeGreaterThan(0);
    await untilLooked(5);
    expect(eventsOf('held-run:who-gho')).toEqual(['begun', 'ended']);
    expect(
      receiver.received.every((one) => isSignedWith(SECRET, one) && one.payload.type === 'operator.alert'),
    ).toBe(true);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(receiver.received.length);
    expect(smtp.mails.length).toBe(receiver.received.length);
    // Repeated deliveries have the same ids.
    const idsOf = (pattern: RegExp): (string | undefined)[] =>
      smtp.mails.map(({ raw }) => pattern.exec(raw)?.[1]);
    const ids = receiver.received.map(({ id }) => id.slice('msg_'.length));
    expect(idsOf(/^Message-ID: <alert-(.+)@localhost>/im).sort()).toEqual(ids.sort());
  });

  it('deliver an alert whose job was taken by a process that ended', async () => {
    for (const service of services) await service.stop();
    const connection = await redis.connect();
    const lost = new Worker('account', null, {
      connection,
      prefix: redisKeys.jobs,
      autorun: false,
      stalledInterval: 50,
    });
    await report('who-gho', { status: 'failed', reason: 'The server answered 500' });
    const taken: string[] = [];
    while (taken.length < 2) {
      const job = await lost.getNextJob(`dead-${taken.length}`, { block: false });
      if (job?.id === undefined) continue;
      taken.push(job.id);
      await connection.del(`${redisKeys.jobs}:account:${job.id}:lock`);
    }
    // Written by the workers before, for longer than a test waits.
    await connection.del(`${redisKeys.jobs}:account:stalled-check`);
    await lost.startStalledCheckTimer();
    await expect.poll(() => queue.getWaitingCount()).toBeGreaterThanOrEqual(2);
    await lost.close();
    const client = await redis.connect();
    const settings = services[0]?.settings;
    if (!settings) throw new Error('no settings');
    const later = { settings, redis: client, now: Date.now, log: silentLog, publicUrl: () => '' };
    services = [await openAccountService(later), await openAccountService(later)];
    for (const service of services) service.startWorker();
    await expect.poll(() => eventsOf('failed-run:who-gho')).toEqual(['begun']);
    await expect.poll(() => mentions('The server answered 500.')).toBeGreaterThan(0);
    await untilLooked(5);
    expect(eventsOf('failed-run:who-gho')).toEqual(['begun']);
  });

  it('repeat what the receiver refused, under the same id, and tell of no alert that was given up', async () => {
    receiver.received.length = 0;
    receiver.respond = answers(500);
    await report('who-gho', { status: 'succeeded' });
    const waiting = async () => (await queue.getDelayed()).find(({ name }) => name === 'told');
    for (let attempt = 1; attempt <= 4; attempt++) {
      await expect.poll(async () => (await waiting())?.attemptsMade).toBe(attempt);
      await (await waiting())?.promote();
    }
    await expect.poll(() => queue.getFailedCount()).toBe(1);
    const client = areas[0]?.client;
    await untilLooked(3);
    const open = (await client?.hkeys(redisKeys.alertConditions)) ?? [];
    expect(open.filter((name) => name.startsWith('given-up-job'))).toEqual([]);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
    expect(receiver.received).toHaveLength(5);
    receiver.respond = answers(204);
    const operator = await areas[0]?.signedIn();
    const [failed] = await queue.getFailed();
    expect(wordsOf((await operator?.get('/admin/runs')) ?? NO_PAGE)).toContain('Alert to operators');
    const answer = await operator?.submit('/admin/runs', `/admin/jobs/${failed?.id}/retry`, {});
    expect(answer?.status).toBe(303);
    await expect.poll(() => receiver.received.length).toBe(6);
    expect(eventsOf('failed-run:who-gho')).toEqual(Array(6).fill('ended'));
    expect(`msg_${failed?.data.event.data.id}`).toBe(receiver.received.at(-1)?.id);
    await expect.poll(() => client?.hlen(redisKeys.operatorOutbox)).toBe(0);
  });

  it('tell of a stale provider, a job given up and books that disagree, and of no address', async () => {
    const area = areas[0];
    const client = area?.client;
    if (!area || !client) throw new Error('no area');
    receiver.received.length = 0;
    const later = async (ms: number): Promise<void> => {
      for (const { clock } of areas) clock.ms += ms;
      await untilLooked(3);
    };
    const email = 'ada@example.org';
    const { account_id } = await area.accounts.create({ email, credits: 10, by: 'test' });
    await client.hincrby(redisKeys.account(account_id), 'balance', 5);
    await later(HOUR_MS + 1_000);
    await expect.poll(() => eventsOf('books:accounts')).toEqual(['begun']);
    expect(JSON.stringify(receiver.received) + mailText()).not.toContain(email);
    await client.hincrby(redisKeys.account(account_id), 'balance', -5);
    await later(HOUR_MS + 1_000);
    await expect.poll(() => eventsOf('books:accounts')).toEqual(['begun', 'ended']);
    await client.hset(redisKeys.invoicesLast, '2026', '1');
    await later(HOUR_MS + 1_000);
    await expect.poll(() => eventsOf('books:invoices')).toEqual(['begun']);
    await client.del(redisKeys.invoicesLast);
    await later(HOUR_MS + 1_000);
    await expect.poll(() => eventsOf('books:invoices')).toEqual(['begun', 'ended']);
    await later(500 * DAY_MS);
    await expect.poll(() => eventsOf('stale-provider:who-gho')).toEqual(['begun']);
    await report('who-gho', { newest_year: 2027 });
    await expect.poll(() => eventsOf('stale-provider:who-gho')).toEqual(['begun', 'ended']);
    const lost = { removeOnFail: false, jobId: 'lost-mail' };
    await queue.add('prepare', { request_id: 'req_unknown' }, lost);
    await expect.poll(() => eventsOf('given-up-job:lost-mail')).toEqual(['begun']);
    await (await queue.getJob('lost-mail'))?.remove();
    await expect.poll(() => eventsOf('given-up-job:lost-mail')).toEqual(['begun', 'ended']);
  });

  it('say where alerts go, and send a test on request', async () => {
    const operator = await areas[1]?.signedIn();
    const page = await operator?.get('/admin/');
    expect(wordsOf(page ?? NO_PAGE)).toContain(
      `sent to ${EMAIL} and the webhook at ${new URL(receiver.url).host}`,
    );
    expect(page?.html).not.toContain('secret-part');
    const answer = await operator?.submit('/admin/', '/admin/alerts/test', {});
    expect(answer?.status).toBe(303);
    await expect.poll(() => receiver.received.at(-1)?.payload.type).toBe('test');
    await expect.poll(() => mentions('An operator asked for this test alert')).toBe(1);
    const viewer = await areas[1]?.signedIn('viewer');
    expect((await viewer?.get('/admin/'))?.html).not.toContain('/admin/alerts/test');
  });
});

it('are off without a setting, and refuse a test', async () => {
  const redis = await startRedis();
  await using area = await startAdminOn(redis, {}, { watchEvery_ms: LOOK_MS });
  const operator = await area.signedIn();
  expect(wordsOf(await operator.get('/admin/'))).toContain('Alerts off;');
  expect((await operator.submit('/admin/', '/admin/alerts/test', {})).status).toBe(409);
  expect(await area.client.exists(redisKeys.alertTurns)).toBe(0);
});

it('say that mails are written to files where no mail server is set', async () => {
  const redis = await startRedis();
  await using area = await startAdminOn(redis, { OPERATOR_ALERT_EMAIL: EMAIL });
  const operator = await area.signedIn();
  const page = wordsOf(await operator.get('/admin/'));
  expect(page).toContain(`sent to ${EMAIL} (as files: SMTP_URL is not set)`);
});
