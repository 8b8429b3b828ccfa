/** The walk through the pages of members: invited by mail, given roles, made the owner, and removed. */
import type { Page } from 'playwright-core';
import { type AccountPagesHarness, PASSWORD } from '../gateway/commerce/pages/harness.ts';
import { signInHere, walker } from './page-checks.ts';

export async function walkTeam(harness: AccountPagesHarness, page: Page): Promise<void> {
  const { go, press, open, shows, heading, fill } = walker(page, harness.url);
  const owner = await harness.customer('Gus and friends');
  const guest = 'guest@example.org';
  const signIn = async (email: string): Promise<void> => {
    await page.context().clearCookies();
    await go('/account/sign-in');
    await signInHere(page, email, PASSWORD);
    await heading('Gus and friends');
  };
  await signIn(owner.email);
  await go('/account/members');
  await fill({ 'E-mail address': guest });
  await page.locator('form[action$="/invite"] select').selectOption('viewer');
  const mail = harness.mailbox.next(guest);
  await press('Invite');
  await shows('guest@example.org is invited.', 'account-members-invited');
  const invitation = String((await mail).link);
  await page.context().clearCookies();
  await go(invitation, 'account-invitation');
  await fill({ 'Your name': 'Ida', Password: PASSWORD });
  await press('Accept');
  await heading('You are a member now', 'account-invitation-accepted');
  await go(invitation);
  await heading('This invitation is no longer valid', 'account-invitation-invalid');

  await signIn(guest);
  await go('/account/members', 'account-members-viewer');
  await open('Leave', 'account-members-leave');
  await go('/account/accounts', 'account-accounts');

  await signIn(owner.email);
  await go('/account/members');
  await page.getByLabel('Role of guest@example.org').selectOption('developer');
  await press(/^Change role/);
  await shows('guest@example.org is developer now.');
  await open(/^Remove/, 'account-member-remove');
  await open('Cancel');
  await open(/^Move ownership/, 'account-ownership-move');
  await fill({ 'Your password': PASSWORD });
  await press('Move ownership');
  await shows(`${guest} is the owner of the account now.`);

  await signIn(guest);
  await go('/account/members');
  await open(/^Remove/);
  await press('Remove');
  await shows(`${owner.email} is removed.`);

  await page.context().clearCookies();
  await go('/account/sign-in');
  await signInHere(page, owner.email, PASSWORD);
  await shows('You are a member of no account.', 'account-accounts-none');
  await go('/account/profile');
  await open('Erase your profile', 'account-profile-erase');
}
