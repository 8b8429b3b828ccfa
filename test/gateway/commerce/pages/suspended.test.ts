/** A suspended account is told so on every page after sign-in, with an address to write to. */
import { expect, it } from 'vitest';
import { wordsOf } from '../../../admin/harness.ts';
import { type AccountPagesHarness, PASSWORD, startAccountPages } from './harness.ts';

const PATHS = ['', 'keys', 'usage', 'wallet', 'orders', 'members', 'profile', 'data'];
const TOLD = 'This account is suspended: its keys are refused';

async function withPages(
  settings: Record<string, string>,
  work: (harness: AccountPagesHarness) => Promise<void>,
): Promise<void> {
  const harness = await startAccountPages({ settings });
  try {
    await work(harness);
  } finally {
    await harness.stop();
  }
}

it('on every page, while the suspension lasts, and not to visitors', async () => {
  await withPages({ CONTACT_EMAIL: 'help@almanac.example' }, async (harness) => {
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
    expect((await harness.signIn(visitor, ann.email, PASSWORD)).status).toBe(303);
    expect(wordsOf(await visitor.get('/account/'))).toContain(TOLD);
    await harness.accounts.restore(ann.account_id);
    for (const path of PATHS) expect(wordsOf(await ann.visitor.get(`/account/${path}`))).not.toContain(TOLD);
  });
});

it('with the page of contact where no address is set', async () => {
  await withPages({ PUBLIC_URL: 'https://almanac.example' }, async (harness) => {
    const ann = await harness.customer();
    await harness.accounts.suspend(ann.account_id);
    const { html } = await ann.visitor.get('/account/');
    expect(html).toContain(`<a href="${harness.url}/contact">${harness.url}/contact</a>`);
  });
});
