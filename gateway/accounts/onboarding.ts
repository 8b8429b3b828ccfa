/**
 * Sign-up with a confirmed e-mail address, and reset of a lost password.
 *
 * - Confirming an address creates the account, with the password of the confirmed sign-up. Nobody can prepare an
 *   account for an address of somebody else.
 * - The free credits are granted once per account, even if the confirmation is repeated or raced.
 * - Pages answer the same whether or not an address has an account; only the mail differs.
 */
import type { AccountStore } from './account-store.ts';
import type { IdentityStore } from './identities.ts';
import type { JobProducer } from './jobs/queue.ts';
import type { Mailer } from './mail/mailer.ts';
import type { LinkPayload, SignedLinks } from './mail/signed-links.ts';
import * as templates from './mail/templates.ts';
import { AccountError, type AccountRecord } from './records.ts';
import { nullIfUnknown, validateEmail } from './validation.ts';

const SIGN_UP_TTL_MS = 24 * 3_600_000;
const RESET_TTL_MS = 3_600_000;
const BY = 'sign-up';

type SignUp = LinkPayload<'sign-up'>;

export interface OnboardingDependencies {
  accounts: AccountStore;
  identities: IdentityStore;
  links: SignedLinks;
  mailer: Mailer;
  jobs: JobProducer;
  /** Credits granted with a confirmed address. */
  freeGrant: number;
  /** Public base URL, without a trailing slash. */
  publicUrl: () => string;
}

export class Onboarding {
  readonly #deps: OnboardingDependencies;

  constructor(dependencies: OnboardingDependencies) {
    this.#deps = dependencies;
  }

  /** Queues the sign-up mail. @param signUp with the hashed password @throws {AccountError} `bad_input` */
  async signUp(signUp: SignUp): Promise<void> {
    await this.#deps.jobs.add('sign-up', { ...signUp, email: validateEmail(signUp.email) });
  }

  /** Queues the password mail. @throws {AccountError} `bad_input` */
  async requestPasswordReset(email: string): Promise<void> {
    await this.#deps.jobs.add('reset', { email: validateEmail(email) });
  }

  /** Job: mails a confirmation link, or that the account exists already. */
  async sendSignUpMail(signUp: SignUp): Promise<void> {
    const { links, mailer, publicUrl } = this.#deps;
    const account = await this.#find(signUp.email);
    if (account?.verified) {
      await mailer.send(templates.accountExists(account.email, `${publicUrl()}/account/sign-in`));
      return;
    }
    const token = await links.create('sign-up', signUp, SIGN_UP_TTL_MS);
    await mailer.send(templates.confirmAddress(signUp.email, `${publicUrl()}/account/confirm/${token}`));
  }

  /** Job: mails a reset link; sends nothing to an address without an account. */
  async sendResetMail(email: string): Promise<void> {
    const { links, mailer, publicUrl } = this.#deps;
    const account = await this.#find(email);
    if (!account) return;
    const token = await links.create('reset', { account_id: account.account_id }, RESET_TTL_MS);
    await mailer.send(templates.resetPassword(account.email, `${publicUrl()}/account/reset/${token}`));
  }

  #find(email: string): Promise<AccountRecord | null> {
    return this.#deps.accounts.findByEmail(email).catch(nullIfUnknown);
  }

  /** The sign-up behind a link, without using the link up; null if the link is invalid. */
  peekSignUp(token: string): Promise<SignUp | null> {
    return this.#deps.links.peek('sign-up', token);
  }

  async isResetLinkValid(token: string): Promise<boolean> {
    return (await this.#deps.links.peek('reset', token)) !== null;
  }

  /**
   * Creates the account, sets its password and grants the free credits, each once. Null if the link is used or
   * expired. An existing password is kept.
   */
  async confirmSignUp(token: string): Promise<AccountRecord | null> {
    const { links, identities, accounts, freeGrant } = this.#deps;
    const signUp = await links.redeem('sign-up', token);
    if (signUp === null) return null;
    const account_id = await this.#findOrCreate(signUp);
    await identities.setPassword(account_id, signUp.password, { only_first: true });
    return accounts.verify(account_id, { credits: freeGrant, by: BY });
  }

  async #findOrCreate({ email, name }: SignUp): Promise<string> {
    const { accounts } = this.#deps;
    try {
      return (await accounts.create({ email, name, by: BY })).account_id;
    } catch (error) {
      if (!(error instanceof AccountError && error.code === 'account_exists')) throw error;
      return (await accounts.findByEmail(email)).account_id;
    }
  }

  /**
   * Sets a new password; the mailed link also verifies the address. Null if the link is used or expired.
   * @param password already hashed
   */
  async resetPassword(token: string, password: string): Promise<AccountRecord | null> {
    const { links, identities, accounts, freeGrant } = this.#deps;
    const payload = await links.redeem('reset', token);
    if (payload === null) return null;
    await identities.setPassword(payload.account_id, password);
    const account = await accounts.get(payload.account_id);
    // The holder of a closed account can sign in to the privacy page, but gets no credits.
    if (account.state === 'closed') return account;
    return accounts.verify(payload.account_id, { credits: freeGrant, by: BY });
  }
}
