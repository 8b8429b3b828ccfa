/** What the dashboard shows first: money, recomputed another way, and what is not set up yet. */
import { randomBytes } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { run as runBackup } from '../../build/backup/cli.ts';
import { DAY_MS, redisKeys } from '../../data/schema/redis-keys.ts';
import { SecondFactorStore } from '../../gateway/commerce/people/second-factor.ts';
import { directoryOfTest } from '../after-tests.ts';
import { codeAt } from '../gateway/commerce/authenticator.ts';
import { NOON, startAdmin, type Visitor, wordsOf } from './harness.ts';

const complete = {
  INVOICE_FROM: 'Example Ltd',
  INVOICE_PAY_TO: 'IBAN XX00',
  SMTP_URL: 'smtp://localhost:2',
  PUBLIC_URL: 'https://almanac.example',
  CONTACT_EMAIL: 'help@example.org',
  NODE_ENV: 'production',
};
const bare = await startAdmin({ ADMIN_PASSWORD: 'a long password of somebody' });
const service = await startAdmin(complete);
afterAll(() => Promise.all([bare.stop(), service.stop()]));

const section = async (operator: Visitor, id: string): Promise<string> =>
  wordsOf({
    ...(await operator.get('/admin/')),
    html:
      new RegExp(`<section class="card" id="${id}">.*?</section>`, 's').exec(
        (await operator.get('/admin/')).html,
      )?.[0] ?? '',
  });

it('says what is not set up: ordering first, each with its settings', async () => {
  const words = await section(await bare.signedIn(), 'set-up');
  expect(words).toContain(
    'Ordering by invoice is off until the seller and the bank details are set. Customers cannot order. INVOICE_FROM INVOICE_PAY_TO',
  );
  for (const setting of ['SMTP_URL', 'PUBLIC_URL', 'CONTACT_EMAIL', 'NODE_ENV', 'ADMIN_PASSWORD'])
    expect(words).toContain(setting);
  expect(words).toContain('There is no backup. Run npm run backup.');
  expect(words).toContain('Without a second factor: operator@example.org.');
});

it('is silent about what is set up: settings, a backup, the second factor of everybody', async () => {
  const operator = await service.signedIn();
  expect(await section(operator, 'set-up')).toMatch(
    /^Not set up yet 2 warnings There is no backup\. .* Without a second factor/,
  );
  await service.client.set(redisKeys.backedUp, NOON - 8 * DAY_MS);
  expect(await section(operator, 'set-up')).toContain('The last backup is of 2026-11-13.');
  await service.client.set(redisKeys.backedUp, NOON - 6 * DAY_MS);
  const now = () => service.clock.ms;
  const factor = new SecondFactorStore({ redis: service.client, now, random: randomBytes }, 'operator');
  const { secret } = factor.propose({ issuer: 'Almanac', label: 'operator@example.org' });
  expect(await section(operator, 'set-up')).toContain('1 warning Without a second factor');
  await factor.turnOn('operator@example.org', { secret, code: codeAt(secret, service.clock.ms) });
  const page = await operator.get('/admin/');
  expect([page.status, wordsOf(page).includes('Not set up yet')]).toEqual([200, false]);
});

it('a backup is noted where the dashboard looks', async () => {
  const to = await directoryOfTest();
  const env = { REDIS_URL: service.redis.url, VAR_DIR: `${to}/var`, LOG_LEVEL: 'silent' };
  const said: string[] = [];
  const out = { write: (text: string) => said.push(text) };
  await service.client.del(redisKeys.backedUp);
  expect([
    await runBackup(['backup', '--to', `${to}/backup`], { env, stdout: out, stderr: out }),
    said,
  ]).toEqual([0, [expect.stringContaining('backed up to')]]);
  expect(Number(await service.client.get(redisKeys.backedUp))).toBeGreaterThan(0);
});

it('sums what is owed, overdue, paid and paid back as the orders say', async () => {
  const { accounts, clock } = bare;
  const { account_id } = await accounts.create({ email: 'ann@example.org', name: 'Ann', by: 'test' });
  const begin = clock.ms;
  const place = async (
    days: number,
    to?: 'paid' | 'refunded' | 'cancelled',
    movedDays = days,
  ): Promise<void> => {
    clock.ms = begin + days * DAY_MS;
    const { order_id } = await accounts.orders.create(account_id, 'starter');
    clock.ms = begin + movedDays * DAY_MS;
    if (to === 'refunded') await accounts.orders.move(order_id, 'paid');
    if (to) await accounts.orders.move(order_id, to);
  };
  // 21 November; the last day is 30 December.
  for (const days of [0, 1, 5, 20]) await place(days);
  for (const [days, moved] of [
    [0, 2],
    [3, 12],
    [9, 10],
    [11, 39],
  ])
    await place(days ?? 0, 'paid', moved);
  for (const days of [1, 12]) await place(days, 'refunded');
  await place(3, 'cancelled');
  clock.ms = begin + 39 * DAY_MS;
  const later = await bare.signedIn();
  const words = await section(later, 'money');
  const price = (count: number): string => `${(count * 9).toFixed(2)} EUR · ${count} order`;
  expect(words).toContain(`Owed by invoice ${price(4)}s`);
  expect(words).toContain(`Overdue ${price(3)}s`);
  expect(words).toContain(`Paid in 2026-12 ${price(3)}s`);
  expect(words).toContain(`Paid in 2026-11 ${price(1)}`);
  expect(words).toContain(`Paid back in 2026-12 ${price(1)}`);
  const { html } = await later.get('/admin/');
  expect(html.indexOf('id="money"')).toBeLessThan(html.indexOf('id="attention"'));
});
