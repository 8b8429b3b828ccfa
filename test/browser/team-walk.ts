/** The walk through the pages of members: invited by mail, given roles, made the owner, and removed. */
import type { Page } from 'playwright-core';
import { type AccountPagesHarness, PASSWORD } from '../gateway/commerce/pages/harness.ts';
import { inspect, signInHere, walker } from './page-checks.ts';

export async function walkTeam(harness: AccountPagesHarness, page: Page): Promise<void> {
  const { button, link, heading, go } = walker(page, harness.url);
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
  await page.getByLabel('E-mail address').fill(guest);
  await page.locator('form[action$="/invite"] select').selectOption('viewer');
  const mail = harness.mailbox.next(guest);
  await button('Invite').click();
  await page.getByText('guest@example.org is invited.').waitFor();
  await inspect(page, 'account-members-invited');
  const invitation = String((await mail).link);
  await page.context().clearCookies();
  await page.goto(invitation);
  await inspect(page, 'account-invitation');
  await page.getByLabel('Your name').fill('Ida');
  await page.getByLabel('Password').fill(PASSWORD);
  await button('Accept').click();
  await heading('You are a member now');
  await inspect(page, 'account-invitation-accepted');
  await page.goto(invitation);
  await heading('This invitation is no longer valid');
  await inspect(page, 'account-invitation-invalid');

  await signIn(guest);
  await go('/account/members');
  await inspect(page, 'account-members-viewer');
  await link('Leave').click();
  await inspect(page, 'account-members-leave');
  await go('/account/accounts');
  await inspect(page, 'account-accounts');

  await signIn(owner.email);
  await go('/account/members');
  await page.getByLabel('Role of guest@example.org').selectOption('developer');
  await button(/^Change role/).click();
  await page.getByText('guest@example.org is developer now.').waitFor();
  await link(/^Remove/).click();
  await inspect(page, 'account-member-remove');
  await link('Cancel').click();
  await link(/^Move ownership/).click();
  await inspect(page, 'account-ownership-move');
  await page.getByLabel('Your password').fill(PASSWORD);
  await button('Move ownership').click();
  await page.getByText(`${guest} is the owner of the account now.`).waitFor();

  await signIn(guest);
  await go('/account/members');
  await link(/^Remove/).click();
  await button('Remove').click();
  await page.getByText(`${owner.email} is removed.`).waitFor();

  await page.context().clearCookies();
  await go('/account/sign-in');
  await signInHere(page, owner.email, PASSWORD);
  await page.getByText('You are a member of no account.').waitFor();
  await inspect(page, 'account-accounts-none');
  await go('/account/profile');
  await link('Erase your profile').click();
  await inspect(page, 'account-profile-erase');
}
