/** The sign-in that `npm run account -- reviewer` makes for whoever reviews the service for a directory. */
import { beforeAll, expect, it } from 'vitest';
import { COMMANDS } from '../../../../admin/cli.ts';
import { founderOf } from '../../../../gateway/commerce/accounts/accounts.ts';
import { SecondFactorStore } from '../../../../gateway/commerce/people/people.ts';
import { codeAt } from '../authenticator.ts';
import { useAccountPages } from './harness.ts';

const harness = await useAccountPages();
const DAY_MS = 86_400_000;
const EMAIL = 'reviewer@directory.example';

interface Made {
  account_id: string;
  sign_in: string;
  password: string;
  until: string;
  balance: number;
}

const run = async (values: Record<string, string>): Promise<Made> => {
  const { accounts: store, redis, settings } = harness;
  const context = { store, redis, settings, archive: {} as never };
  return (await COMMANDS.reviewer?.run(context, { email: EMAIL, ...values })) as unknown as Made;
};
/** Where a sign-in leads to, or its status where it fails. */
const trySignIn = async (password: string) => {
  const visitor = harness.visitor();
  const { status, location } = await harness.signIn(visitor, EMAIL, password);
  return { visitor, led: location || status };
};

// The command line has the clock of the machine.
beforeAll(() => {
  harness.clock.ms = Date.now();
});

it('opens the account until it ends, and then neither the password nor a session does', async () => {
  const made = await run({ days: '2', credits: '40' });
  expect(made).toMatchObject({ balance: 40, sign_in: expect.stringMatching(/\/account\/sign-in$/) });
  const now_ms = harness.clock.ms;
  harness.clock.ms = Date.parse(made.until) - 1;
  const { visitor, led } = await trySignIn(made.password);
  expect(led).toBe('/account/');
  expect((await visitor.get('/account/')).status).toBe(200);
  harness.clock.ms += 1;
  expect((await trySignIn(made.password)).led).toBe(401);
  expect((await visitor.get('/account/')).status).toBe(401);
  harness.clock.ms = now_ms;
});

it('is renewed by the same command: a new password without second factor, and credits up to the number', async () => {
  const first = await run({ credits: '40' });
  const stores = { redis: harness.redis, now: () => harness.clock.ms, random: () => Buffer.alloc(20, 1) };
  const factor = new SecondFactorStore(stores, 'account');
  const person_id = founderOf(first.account_id);
  const { secret } = factor.propose({ issuer: 'a', label: 'b' });
  await factor.turnOn(person_id, { secret, code: codeAt(secret, harness.clock.ms) });
  expect(await factor.isOn(person_id)).toBe(true);
  await harness.accounts.adjust(first.account_id, { delta: -30, by: 'test' });
  const renewed = await run({ credits: '40', days: '90' });
  expect(renewed).toMatchObject({ account_id: first.account_id, balance: 40 });
  expect(Date.parse(renewed.until) - Date.parse(first.until)).toBeGreaterThan(59 * DAY_MS);
  expect((await trySignIn(first.password)).led).toBe(401);
  expect((await trySignIn(renewed.password)).led).toBe('/account/');
  expect((await run({ credits: '5' })).balance).toBe(40);
});

it('takes over nobody: neither a customer nor a reviewer who chose a password by mail', async () => {
  const ann = await harness.customer();
  await expect(run({ email: ann.email })).rejects.toThrow('belongs to somebody');
  const { account_id } = await run({});
  await harness.context.persons.setPassword(founderOf(account_id), 'scrypt$1$1$1$a$b');
  await expect(run({})).rejects.toThrow('belongs to somebody');
});

it('is asked for a number of days that ends', async () => {
  for (const days of ['0', '91', 'x'])
    await expect(run({ days })).rejects.toThrow('--days takes a whole number');
});
