/** The page of alerts, and the mails and webhooks that follow from it, with two gateways on one Redis. */
import { describe, expect, it } from 'vitest';
import { DAY_MS, redisKeys } from '../../../../data/schema/redis-keys.ts';
import { Archive } from '../../../../gateway/commerce/history/archive.ts';
import { openQueue } from '../../../../gateway/commerce/notifications/jobs/queue.ts';
import { listAccountData } from '../../../../gateway/commerce/privacy/data-export.ts';
import { wordsOf } from '../../../admin/harness.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { useRedis } from '../../../redis.ts';
import { Served } from '../served-editions.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { NOON, PASSWORD, useAccountPages } from './harness.ts';

const HOUR_MS = 3_600_000;
const USED = 'alpha.life_expectancy';

const redis = await useRedis();
const receiver = await stopAfterTests(startReceiver());
const served = new Served();
served.publish(NOON - DAY_MS, { added: [USED], withdrawn: [], renamed: [], revised: {}, redefined: [] });
const options = { redis, served, settings: { WEBHOOK_PRIVATE_TARGETS: 'true' } };
const first = await useAccountPages(options);
const gateways = [first, await useAccountPages(options)] as const;
const ann = await first.customer('Ann');
const key = (await first.accounts.keys.mint(ann.account_id)).key;
const types = ['spending.above', 'indicators.changed'];
await first.context.webhooks.endpoints.create(ann.account_id, {
  url: `${receiver.url}/ann`,
  types,
  by: 'test',
});

/** Moves the clocks of both gateways. Sessions end meanwhile, so a new one begins. */
async function advance(by_ms: number): Promise<void> {
  for (const { clock } of gateways) clock.ms += by_ms;
  const { persons, sessions, site } = gateways[0].context;
  const login = await persons.findLogin(ann.email);
  if (!login) throw new Error('nobody to sign in');
  ann.visitor.cookies.set(site.cookie, (await sessions.begin(login.subject, login.epoch)).id);
}

/** Both gateways sweep at once, twice. Resolves when no job is left. */
async function sweep(): Promise<void> {
  for (let time = 0; time < 2; time++) {
    await Promise.all(gateways.map(({ handlers }) => handlers.sweep({})));
    const [{ redis: client }] = gateways;
    const isIdle = async (): Promise<boolean> => {
      const lists = ['account:wait', 'account:active'].map((name) =>
        client.llen(`${redisKeys.jobs}:${name}`),
      );
      return (await Promise.all(lists)).every((length) => length === 0);
    };
    await expect.poll(isIdle).toBe(true);
  }
}

const mails = (word: string) =>
  gateways.flatMap(({ mailbox }) => mailbox.to(ann.email)).filter(({ subject }) => subject.includes(word));

describe('spending', () => {
  const hooks = () => receiver.received.filter(({ payload }) => payload.type === 'spending.above');
  const set = (above: string, per = 'hour') =>
    ann.visitor.submit('/account/alerts', '/account/alerts/spending', { above, per });
  const spend = async (calls: number): Promise<void> => {
    for (let call = 0; call < calls; call++) expect((await gateways[0].call(key)).status).toBe(200);
  };

  it('is told once for each hour in which it passed what the holder set', async () => {
    expect(wordsOf(await ann.visitor.get((await set('3')).location))).toContain(
      'when calls cost more than 3 credits in one hour',
    );
    await spend(3);
    await sweep();
    expect(mails('spent more')).toHaveLength(0);
    await spend(2);
    await sweep();
    await spend(2);
    await sweep();
    expect(mails('spent more')).toHaveLength(1);
    const [mail] = mails('spent more');
    expect(mail?.subject).toBe('You spent more than 3 credits in one hour');
    expect(mail?.text).toContain('cost 5 credits since 2026-11-21T12:00:00.000Z');
    await advance(HOUR_MS);
    await spend(4);
    await sweep();
    expect(mails('spent more')).toHaveLength(2);
    await expect.poll(() => hooks().length).toBe(2);
    expect(hooks().map(({ payload }) => payload.data)).toEqual([
      { spent: 5, threshold: 3, per: 'hour', since: '2026-11-21T12:00:00.000Z' },
      { spent: 4, threshold: 3, per: 'hour', since: '2026-11-21T13:00:00.000Z' },
    ]);
    expect(new Set(hooks().map(({ id }) => id)).size).toBe(2);
  });

  it('is mailed again by another gateway when the first could not', async () => {
    await advance(HOUR_MS);
    await spend(4);
    for (const { mailbox } of gateways) mailbox.failure = new Error('451 later');
    await sweep();
    expect(mails('spent more')).toHaveLength(2);
    for (const { mailbox } of gateways) mailbox.failure = null;
    const queue = openQueue(gateways[0].redis, 'account');
    for (const job of await queue.getDelayed()) await job.promote();
    await queue.close();
    await sweep();
    expect(mails('spent more')).toHaveLength(3);
  });

  it.each([
    ['many', 'hour', 'whole number of credits'],
    ['5', 'year', 'Choose an hour or a day'],
  ])('is refused as %s per %s, and what was typed is kept', async (above, per, problem) => {
    const page = await set(above, per);
    expect(page.status).toBe(422);
    expect(wordsOf(page)).toContain(problem);
    expect(page.html).toContain(`name="above" value="${above}"`);
    expect(await gateways[0].context.spendingAlerts.get(ann.account_id)).toEqual({ above: 3, per: 'hour' });
  });

  it('is told no more once it is turned off', async () => {
    await set('');
    await advance(HOUR_MS);
    await spend(5);
    await sweep();
    expect(mails('spent more')).toHaveLength(3);
  });
});

describe('changed indicators', () => {
  const REF = { sha256: '0'.repeat(64), bytes: 1 };
  const revised = { [USED]: { added: 4, changed: 2, withdrawn: 1, restored: 0, file: REF } };
  const publish = async (more: object): Promise<void> => {
    await advance(DAY_MS);
    served.publish(gateways[0].clock.ms, {
      added: [],
      withdrawn: [],
      renamed: [],
      revised: {},
      redefined: [],
      ...more,
    });
  };

  it('are told once for each edition, to who used them, and not for the first one seen', async () => {
    await gateways[0].call(key, `/v1/data?indicator=${USED}&countries=KEN`);
    await gateways[0].metering.flush();
    await sweep();
    expect(mails('you use changed')).toHaveLength(0);
    await publish({ revised, withdrawn: ['alpha.unused'] });
    await sweep();
    await sweep();
    expect(mails('you use changed')).toHaveLength(1);
    const [mail] = mails('you use changed');
    expect(mail?.subject).toBe('An indicator that you use changed');
    expect(mail?.text).toContain(`- ${USED} (3 figures)`);
    expect(mail?.text).not.toContain('alpha.unused');
    const hooks = () => receiver.received.filter(({ payload }) => payload.type === 'indicators.changed');
    await expect.poll(() => hooks().length).toBe(1);
    expect(hooks()[0]?.payload.data.changed).toEqual([{ indicator: USED, change: 'revised', figures: 3 }]);
  });

  it('are not told of what the holder turned off', async () => {
    const form = { renamed: '1', withdrawn: '1' };
    const { location } = await ann.visitor.submit('/account/alerts', '/account/alerts/changes', form);
    expect(wordsOf(await ann.visitor.get(location))).toContain('are renamed or withdrawn');
    await publish({ revised });
    await sweep();
    expect(mails('you use changed')).toHaveLength(1);
    await publish({ revised, renamed: [{ from: USED, to: 'alpha.life' }] });
    await sweep();
    expect(mails('you use changed')).toHaveLength(2);
    const renamed = mails('you use changed').filter(({ text }) =>
      text.includes(`- ${USED} is now alpha.life`),
    );
    expect(renamed).toHaveLength(1);
    expect(renamed[0]?.text).not.toContain('figures)');
  });

  it('are in the copy of the data, with the alerts', async () => {
    const { context, accounts, clock, settings } = gateways[0];
    const archive = new Archive(settings.ARCHIVE_DIR);
    const dependencies = { ...context, accounts, now: () => clock.ms, archive };
    const rowsOf = async (name: string): Promise<object[]> => {
      const found: object[] = [];
      const list = listAccountData(dependencies, ann.account_id).find((one) => one.name === name);
      if (list) for await (const row of list.rows()) found.push(row);
      return found;
    };
    expect(await rowsOf('used-indicators')).toEqual([{ indicator: USED, last_used: '2026-11-21' }]);
    expect(await rowsOf('account')).toMatchObject([
      { low_balance_alert: null, spending_alert: null, change_alerts: ['renamed', 'withdrawn'] },
    ]);
    await archive.close();
  });
});

it('shows the alerts to a viewer, who may not change them', async () => {
  const [first] = gateways;
  await first.context.alerts.set(ann.account_id, 700);
  const email = 'viewer@example.org';
  const form = { email, role: 'viewer' };
  await ann.visitor.submit('/account/members', '/account/members/invite', form);
  const sent = () => gateways.flatMap(({ mailbox }) => mailbox.to(email));
  await expect.poll(() => sent().length).toBe(1);
  const link = first.pathOf(sent()[0]?.link ?? null);
  const viewer = first.visitor();
  await viewer.submit(link, link, { name: 'Vera', password: PASSWORD });
  await first.signIn(viewer, email);
  const page = await viewer.get('/account/alerts');
  expect(wordsOf(page)).toContain('When the balance falls below 700 credits.');
  expect(wordsOf(page)).toContain('revised: off');
  expect(page.html).not.toContain('action="/account/alerts');
  expect((await viewer.submit('/account/alerts', '/account/alerts/balance', { low_at: '1' })).status).toBe(
    403,
  );
});
