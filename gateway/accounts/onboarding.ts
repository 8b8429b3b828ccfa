/**
 * From an e-mail address to an account, and back to one whose password is lost.
 *
 * - An account comes into being when its address is confirmed, with the password of the very sign-up that was
 *   confirmed: nobody can prepare an account for another's address and wait.
 * - The free credits are granted with the confirmation, once, whatever is repeated or raced.
 * - What a page answers never depends on whether the address has an account: the difference is only in the mail.
 */

import type { AccountStore } from './account-store.ts';
import type { People } from './identities.ts';
import type { Jobs } from './jobs/queue.ts';
import type { Mailer } from './mail/mailer.ts';
import type { LinkFacts, Links } from './mail/signed-links.ts';
import * as letters from './mail/templates.ts';
import { AccountError, type AccountRecord } from './records.ts';
import { checkedEmail, nullIfUnknown } from './validation.ts';

const SIGN_UP_LIFE_MS = 24 * 3_600_000;
const RESET_LIFE_MS = 3_600_000;
const BY = 'sign-up';

export interface OnboardingDependencies {
  accounts: AccountStore;
  people: People;
  links: Links;
  mailer: Mailer;
  jobs: Jobs;
  /** Credits that come with a confirmed address. */
  freeGrant: number;
  /** Where people reach the service, without a slash at the end. */
  publicUrl: () => string;
}

export class Onboarding {
  readonly #to: OnboardingDependencies;

  constructor(dependencies: OnboardingDependencies) {
    this.#to = dependencies;
  }

  /** Somebody wants an account. @param password hashed already. @throws {AccountError} `bad_input` */
  async signUp(sign_up: { email: string; name: string; password: string }): Promise<void> {
    const email = checkedEmail(sign_up.email);
    await this.#to.jobs.add('sign-up', { ...sign_up, email });
  }

  /** Somebody wants a new password. @throws {AccountError} `bad_input` */
  async forgot(email: string): Promise<void> {
    await this.#to.jobs.add('reset', { email: checkedEmail(email) });
  }

  /** Job: mails a link that makes the account, or says that there is one. */
  async mailSignUp(sign_up: { email: string; name: string; password: string }): Promise<void> {
    const { links, mailer, publicUrl } = this.#to;
    const account = await this.#find(sign_up.email);
    if (account?.verified) {
      await mailer.send(letters.alreadyThere(account.email, `${publicUrl()}/account/sign-in`));
      return;
    }
    const token = await links.make('sign-up', sign_up, SIGN_UP_LIFE_MS);
    await mailer.send(letters.confirmAddress(sign_up.email, `${publicUrl()}/account/confirm/${token}`));
  }

  /** Job: mails a link that changes the password; nothing to an address without an account. */
  async mailReset(email: string): Promise<void> {
    const { links, mailer, publicUrl } = this.#to;
    const account = await this.#find(email);
    if (!account) return;
    const token = await links.make('reset', { account_id: account.account_id }, RESET_LIFE_MS);
    await mailer.send(letters.newPassword(account.email, `${publicUrl()}/account/reset/${token}`));
  }

  async #find(email: string): Promise<AccountRecord | null> {
    return this.#to.accounts.findByEmail(email).catch(nullIfUnknown);
  }

  /** What a link of a mail is good for, without using it up. */
  look(token: string): Promise<LinkFacts<'sign-up'> | null> {
    return this.#to.links.look('sign-up', token);
  }

  async looksGoodForReset(token: string): Promise<boolean> {
    return (await this.#to.links.look('reset', token)) !== null;
  }

  /**
   * Confirms an address: makes the account, sets its password, grants the free credits, each once. Null when the link
   * is used up or expired. An account that has a password already keeps it.
   */
  async confirm(token: string): Promise<AccountRecord | null> {
    const { links, people, accounts, freeGrant } = this.#to;
    const sign_up = await links.use('sign-up', token);
    if (sign_up === null) return null;
    const account_id = await this.#accountFor(sign_up);
    await people.setPassword(account_id, sign_up.password, { only_first: true });
    return accounts.verify(account_id, { credits: freeGrant, by: BY });
  }

  async #accountFor({ email, name }: { email: string; name: string }): Promise<string> {
    const { accounts } = this.#to;
    try {
      return (await accounts.create({ email, name, by: BY })).account_id;
    } catch (error) {
      if (!(error instanceof AccountError && error.code === 'account_exists')) throw error;
      return (await accounts.findByEmail(email)).account_id;
    }
  }

  /**
   * Changes the password of whoever holds the link, which proves the address too. Null when the link is used up or
   * expired. @param password hashed already.
   */
  async reset(token: string, password: string): Promise<AccountRecord | null> {
    const { links, people, accounts, freeGrant } = this.#to;
    const facts = await links.use('reset', token);
    if (facts === null) return null;
    await people.setPassword(facts.account_id, password);
    const account = await accounts.get(facts.account_id);
    // Its person may still sign in, to their own data; there is nothing to grant any more.
    if (account.state === 'closed') return account;
    return accounts.verify(facts.account_id, { credits: freeGrant, by: BY });
  }
}
