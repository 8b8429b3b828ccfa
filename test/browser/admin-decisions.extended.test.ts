/** What owners and operators decide in the operator area, in a real browser; `admin.extended.test.ts` walks the rest. */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import type { ExcludedIndicator } from '../../data/schema/jobs.ts';
import { runRecord } from '../../data/schema/lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { SecondFactorStore } from '../../gateway/commerce/people/second-factor.ts';
import { type AdminService, NOON, PASSWORD as OWNER_PASSWORD, useAdmin } from '../admin/harness.ts';
import { useDirectory } from '../after-tests.ts';
import { codeAt, STEP_MS } from '../gateway/commerce/authenticator.ts';
import { Mailbox } from '../gateway/commerce/pages/mailbox.ts';
import { openBrowser, useBrowser } from './browser.ts';
import { follow, inspect, signIn, signInHere, unseenPages, walker } from './page-checks.ts';

const LAKE = await useDirectory();
const PASSWORD = 'another horse battery staple';

const mailbox = new Mailbox();

const service = await useAdmin({}, { mailer: mailbox, lakeDir: LAKE });
await service.signedIn('owner');
const withheld: ExcludedIndicator = {
  id: 'world-bank.energy-use',
  name: 'Energy use',
  unit: 'kg per person',
  topic: 'energy',
  provider: 'world-bank',
  why: 'not redistributable',
  detail: 'International Energy Agency: IEA terms and conditions',
};
await service.client.set('left-out', JSON.stringify([withheld]));
const browser = await useBrowser();
const page = await browser.context.newPage();
const { go, press, open, shows, heading, fill } = walker(page, service.url);
await go('/admin/');
await signIn(page, service.url, 'owner@example.org');

it('an owner invites an operator, who chooses a password and signs in', async () => {
  await follow(page, 'Operators', '/admin/operators', 'admin-operators');
  await fill({ 'E-mail address': 'ann@example.org' });
  await page.getByLabel('Role').selectOption('viewer');
  const mail = mailbox.next('ann@example.org');
  await press('Invite');
  await shows('A link was mailed to ann@example.org.', 'admin-operator');
  await using second = await openBrowser();
  const other = await second.context.newPage();
  await other.goto((await mail).link ?? '');
  await inspect(other, 'admin-password');
  await other.getByLabel('New password').fill(PASSWORD);
  await other.getByRole('button', { name: 'Set password' }).click();
  await inspect(other, 'admin-password-set');
  await other.getByRole('link', { name: 'Sign in' }).click();
  await signInHere(other, 'ann@example.org', PASSWORD);
  await other.getByRole('heading', { name: 'Dashboard' }).waitFor();
  await follow(other, 'Operators', '/admin/operators');
  expect(await other.getByRole('button', { name: 'Invite' }).count()).toBe(0);
});

it('an owner changes a role, ends sessions, and removes the operator', async () => {
  await page.reload();
  await page.getByLabel('Role').selectOption('operator');
  await press('Continue', 'admin-operator-role');
  await press('Change role');
  await shows('ann@example.org is operator.');
  await open('End all sessions', 'admin-operator-end-sessions');
  await press('End sessions');
  await shows('All sessions of ann@example.org have ended.');
  await open('Remove operator', 'admin-operator-remove');
  await press('Remove operator');
  await shows('ann@example.org is removed.');
});

it('an operator sets up a second factor and signs in with a code', async () => {
  await press(/^Account/);
  await page.getByRole('link', { name: 'Second factor' }).click();
  await inspect(page, 'admin-second-factor');
  await open('Set it up', 'admin-second-factor-set-up');
  const secret = String(await page.locator('code.take').textContent());
  await page.getByRole('textbox', { name: 'Code' }).fill(codeAt(secret, service.clock.ms));
  await fill({ 'Your password': OWNER_PASSWORD });
  await press('Turn on');
  await shows('Keep these recovery codes.', 'admin-recovery-codes');
  await using second = await openBrowser();
  const other = await second.context.newPage();
  await other.goto(`${service.url}/admin/`);
  await signInHere(other, 'owner@example.org', OWNER_PASSWORD);
  service.clock.ms += STEP_MS;
  await other.getByRole('textbox', { name: 'Code' }).fill(codeAt(secret, service.clock.ms));
  await other.getByRole('button', { name: 'Sign in' }).click();
  await other.getByRole('heading', { name: 'Dashboard' }).waitFor();
});

it('an owner clears the second factor of another', async () => {
  const store = { redis: service.client, now: () => service.clock.ms, random: randomBytes };
  const factor = new SecondFactorStore(store, 'operator');
  await service.operators.put('ben@example.org', 'operator', OWNER_PASSWORD);
  const { secret } = factor.propose({ issuer: 'Almanac', label: 'ben@example.org' });
  await factor.turnOn('ben@example.org', { secret, code: codeAt(secret, service.clock.ms) });
  await follow(page, 'Operators', '/admin/operators');
  await open('ben@example.org');
  await open('Clear second factor', 'admin-operator-clear');
  await press('Clear second factor');
  await shows('The second factor of ben@example.org is cleared.');
});

it('an operator switches a provider off', async () => {
  await follow(page, 'Providers', '/admin/providers', 'admin-providers');
  await open(/^Gapminder$/, 'admin-provider');
  await open('Switch off', 'admin-provider-switch');
  await fill({ Reason: 'they asked' });
  await press('Switch off and rebuild');
  await shows('Gapminder is switched off. The catalogue is being rebuilt', 'admin-provider-off');
  await open('Switch on');
  await fill({ Reason: 'they changed their mind' });
  await press('Switch on and rebuild');
  await shows('Gapminder is switched on.');
});

it('an operator decides about a series that is withheld for its licence', async () => {
  await follow(page, 'Licences', '/admin/licences', 'admin-licences');
  await open('Energy use', 'admin-licence');
  await page.getByLabel('Decision').selectOption('open');
  await fill({ Reason: 'permission of 1 May, kept with the contracts' });
  await press('Decide and rebuild');
  await shows('Licence: name the licence under which it is published.', 'admin-licence-refused');
  await page.getByRole('textbox', { name: /^Licence/ }).fill('Permission of the IEA');
  await press('Decide and rebuild');
  await shows('Energy use is published as open. The catalogue is being rebuilt', 'admin-licence-decided');
  await follow(page, 'Licences', '/admin/licences');
  await shows('No series.');
});

it('an operator compares two runs', async () => {
  await seedRuns(service);
  await go('/admin/providers/gapminder', 'admin-provider-runs');
  await press('Compare');
  await heading('Runs of gapminder compared');
  for (const summary of await page.locator('details summary').all()) await summary.click();
  await inspect(page, 'admin-run-comparison');
  await open('20261121T020000Z');
  await open('Compare with the run before');
  await heading('Runs of gapminder compared');
});

it('was inspected page by page', () => {
  const roots = ['runs/compare', 'licences', 'providers', 'second-factor', 'operators', 'password'];
  // `reader-operator.extended.test.ts` walks the licences by collector.
  const routes = service.routes.filter(({ url }) => !url.includes('/collectors'));
  expect(roots.flatMap((root) => unseenPages(routes, `/admin/${root}`))).toEqual([]);
});

/** Two nights of a provider, with their series in the lake. */
async function seedRuns({ client }: AdminService): Promise<void> {
  const reporter = new RunReporter(client, () => NOON);
  const night = (day: number, more: Record<string, unknown>, series: Record<string, unknown>) => ({
    record: runRecord.parse({
      run_id: `202611${day}T020000Z`,
      provider_id: 'gapminder',
      status: 'succeeded',
      reason: null,
      started_at: formatTimestamp(Date.UTC(2026, 10, day, 2)),
      finished_at: formatTimestamp(Date.UTC(2026, 10, day, 2, 3, day)),
      rows_written: 41_230,
      indicators: 3,
      countries: 197,
      bytes: 3_141_592,
      vintage: '1.0.0',
      rejects: {},
      failed_indicators: [],
      newest_year: 2025,
      ...more,
    }),
    series,
  });
  const runs = [
    night(20, {}, { gdp: { rows: 11_000, digest: 'a' }, tfr: { rows: 9_000, digest: 'a' } }),
    night(
      21,
      {
        rows_written: 41_900,
        vintage: '1.1.0',
        failed_indicators: [{ slug: 'co2', reason: 'no column', rows: 0 }],
        rejects: { unknown_place: { rows: 12, distinct: 1, samples: ['Republic of Somewhere Else'] } },
      },
      { gdp: { rows: 11_300, digest: 'b' }, population_density_per_square_km: { rows: 40, digest: 'a' } },
    ),
  ];
  for (const { record, series } of runs) {
    const directory = join(LAKE, 'gapminder', record.run_id);
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'series.json'), JSON.stringify(series));
    reporter.onRun(record);
    const line = { level: 30, run: record.run_id, provider: 'gapminder', time: record.started_at };
    reporter.write(
      JSON.stringify({ ...line, msg: `read ${record.rows_written} rows of https://example.org/gapminder` }),
    );
  }
  await reporter.close();
}
