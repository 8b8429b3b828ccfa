/** What people see who sign up beyond the bounds of the free credits, or whose account is suspended, and whom they write to. */
import { expect, test } from 'vitest';
import { wordsOf } from '../../../admin/harness.ts';
import { useAccountPages } from './harness.ts';

const harness = await useAccountPages({
  settings: { FREE_GRANT: '70', FREE_GRANTS_PER_RANGE: '2', CONTACT_EMAIL: 'help@almanac.example' },
});

async function signUp(email: string, address: string) {
  const visitor = harness.visitor();
  visitor.headers['x-forwarded-for'] = address;
  const page = await harness.confirm(visitor, await harness.signUp(visitor, email));
  return { html: page.html, account: await harness.accounts.findByEmail(email) };
}

test('a sign-up beyond the bound of its address range opens an account without credits and says why', async () => {
  for (const name of ['one', 'two']) {
    const { html, account } = await signUp(`${name}@gmail.com`, '203.0.113.9');
    expect(html).toContain('70 credits');
    expect(account.credits.balance).toBe(70);
  }
  const { html, account } = await signUp('three@gmail.com', '203.0.113.77');
  expect(html).toContain('The free credits for your network are used up for now');
  expect(html).toContain('mailto:help@almanac.example');
  expect([account.verified, account.credits]).toEqual([
    true,
    { balance: 0, lifetime_granted: 0, lifetime_spent: 0 },
  ]);
  expect((await signUp('four@gmail.com', '203.0.114.77')).account.credits.balance).toBe(70);
});

test('another spelling of a mailbox gets no second grant', async () => {
  expect((await signUp('ada.l@gmail.com', '198.51.100.1')).account.credits.balance).toBe(70);
  const { html, account } = await signUp('a.d.a.l+again@googlemail.com', '198.51.101.1');
  expect(html).toContain('Another spelling of your address');
  expect(account.credits.balance).toBe(0);
});

test('an address that lasts for minutes is refused before any mail is sent', async () => {
  const visitor = harness.visitor();
  const page = await visitor.submit('/account/sign-up', '/account/sign-up', {
    email: 'x@mailinator.com',
    name: '',
  });
  expect(page.status).toBe(422);
  expect(page.html).toContain('mailinator.com gives out addresses that last for minutes');
});

const PATHS = ['', 'keys', 'usage', 'wallet', 'orders', 'members', 'profile', 'data'];
const TOLD = 'This account is suspended: its keys are refused';

test('a suspended account says so on every page, while the suspension lasts, and not to visitors', async () => {
  const ann = await harness.customer();
  await harness.accounts.suspend(ann.account_id);
  for (const path of PATHS) {
    const page = await ann.visitor.get(`/account/${path}`);
    expect([path, page.status]).toEqual([path, 200]);
    expect(wordsOf(page).split(TOLD)).toHaveLength(2);
    expect(page.html).toContain('<a href="mailto:help@almanac.example">help@almanac.example</a>');
  }
  const visitor = harness.visitor();
  expect(wordsOf(await visitor.get('/account/sign-in'))).not.toContain(TOLD);
  expect((await harness.signIn(visitor, ann.email)).status).toBe(303);
  expect(wordsOf(await visitor.get('/account/'))).toContain(TOLD);
  await harness.accounts.restore(ann.account_id);
  for (const path of PATHS) expect(wordsOf(await ann.visitor.get(`/account/${path}`))).not.toContain(TOLD);
});
