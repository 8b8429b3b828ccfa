/**
 * What mailed links do: sign-up with a confirmed e-mail address, reset of a lost password, and sign-in without one.
 *
 * - The password is chosen after the link was opened, by whoever reads the mails of the address. A stranger who signs up
 *   with the address of somebody else never gets access.
 * - Links of a person end when the password changes or the person signs out everywhere, and after the use of any reset link.
 * - The free credits are granted once per account, even if the confirmation is repeated or raced, and within the bounds of
 *   `FreeGrants`.
 * - Pages answer the same whether or not an address has an account; only the mail differs.
 */

import {
  type AccountStore,
  type FreeGrants,
  founderOf,
  type NewAccount,
  ownAccountOf,
  type PersonRecord,
  type PersonStore,
} from '../accounts/accounts.ts';
import {
  type JobProducer,
  type LinkPayload,
  type Mailer,
  type SignedLinks,
  templates,
} from '../notifications/notifications.ts';
import { AccountError, nullIfUnknown } from '../store/store.ts';

const SIGN_UP_TTL_MS = 24 * 3_600_000;
const RESET_TTL_MS = 3_600_000;
export const SIGN_IN_LINK_TTL_MS = 30 * 60_000;
const BY = 'sign-up';

type SignUp = LinkPayload<'sign-up'>;

/** What everything needs that mails links. */
export interface LinkSender {
  accounts: AccountStore;
  persons: PersonStore;
  links: SignedLinks;
  mailer: Mailer;
  jobs: JobProducer;
  /** Public base URL, without a trailing slash. */
  publicUrl: () => string;
}

interface Dependencies extends LinkSender {
  freeGrants: FreeGrants;
  /** Credits granted with a confirmed address. */
  freeGrant: number;
}

export class Onboarding {
  readonly #deps: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies;
  }

  /** Job: mails a confirmation link, or that the account exists already. */
  async sendSignUpMail({ email, name }: SignUp): Promise<void> {
    const { links, mailer, publicUrl } = this.#deps;
    if (await this.#isConfirmed(email)) {
      await mailer.send(templates.accountExists(email, `${publicUrl()}/account/sign-in`));
      return;
    }
    const token = await links.create('sign-up', { email, name }, SIGN_UP_TTL_MS);
    await mailer.send(templates.confirmAddress(email, `${publicUrl()}/account/confirm/${token}`));
  }

  /** Job: mails a reset link; sends nothing to an address that nobody has. */
  async sendResetMail(email: string): Promise<void> {
    const { links, persons, mailer, publicUrl } = this.#deps;
    const person = await persons.findByEmail(email);
    if (!person) return;
    const { person_id, epoch } = person;
    const token = await links.create('reset', { person_id, epoch }, RESET_TTL_MS);
    await mailer.send(templates.resetPassword(email, `${publicUrl()}/account/reset/${token}`));
  }

  /** Job: mails a sign-in link; sends nothing to an address with which nobody can sign in. */
  async sendSignInLink(email: string): Promise<void> {
    const { links, persons, mailer, publicUrl } = this.#deps;
    const login = await persons.findLogin(email);
    if (!login) return;
    const { subject: person_id, epoch } = login;
    const token = await links.create('sign-in', { person_id, epoch }, SIGN_IN_LINK_TTL_MS);
    await mailer.send(templates.signInLink(email, `${publicUrl()}/account/sign-in-link/${token}`));
  }

  /** Opens the account of a person who has none of her or his own, with the free credits. Null if there is one. */
  async openAccount(person_id: string, address: string) {
    const { persons, accounts } = this.#deps;
    const person = await persons.get(person_id);
    if (!person || (await accounts.get(ownAccountOf(person_id)).catch(nullIfUnknown))) return null;
    const { email, name } = person;
    const { account_id } = await accounts.create({ email, name, by: BY });
    return this.#verify({ account_id, email, address });
  }

  /** Whether somebody can sign in with the address, or an operator vouched for it. */
  async #isConfirmed(email: string): Promise<boolean> {
    if (await this.#deps.persons.findLogin(email)) return true;
    const account = await this.#deps.accounts.findByEmail(email).catch(nullIfUnknown);
    return account?.verified === true;
  }

  /** The sign-up behind a link, without using the link up; null if the link is invalid or the address confirmed. */
  async peekSignUp(token: string): Promise<SignUp | null> {
    const signUp = await this.#deps.links.peek('sign-up', token);
    return signUp === null || (await this.#isConfirmed(signUp.email)) ? null : signUp;
  }

  /** The person of a reset link, without using the link up; null if the link is invalid. */
  async peekReset(token: string): Promise<PersonRecord | null> {
    const link = await this.#deps.links.peek('reset', token);
    const person = link && (await this.#deps.persons.get(link.person_id));
    return person?.epoch === link?.epoch ? person : null;
  }

  /** Whether a sign-in link is valid, without using it up. */
  async isSignInLinkValid(token: string): Promise<boolean> {
    return (await this.#personOf(await this.#deps.links.peek('sign-in', token))) !== null;
  }

  /** Uses up a sign-in link. Null if it is invalid. */
  async redeemSignInLink(token: string): Promise<PersonRecord | null> {
    return this.#personOf(await this.#deps.links.redeem('sign-in', token));
  }

  /** Null for somebody who cannot sign in. */
  async #personOf(link: LinkPayload<'sign-in'> | null): Promise<PersonRecord | null> {
    const person = link && (await this.#deps.persons.get(link.person_id));
    return person?.password && person.epoch === link?.epoch ? person : null;
  }

  /**
   * Creates the account, sets the password of its owner and grants the free credits, each once. Null if the link is used or
   * expired, or the address was confirmed before: then its password is kept.
   * @param password already hashed
   * @param address the client's IP address
   */
  async confirmSignUp(token: string, password: string, address: string) {
    const { links, persons } = this.#deps;
    const signUp = await links.redeem('sign-up', token);
    if (signUp === null) return null;
    const account_id = await this.#findOrCreate(signUp);
    const isSet = await persons.setPassword(founderOf(account_id), password, { only_unset: true });
    const confirmed = await this.#verify({ account_id, email: signUp.email, address });
    return isSet ? confirmed : null;
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
   * Sets a new password; the mailed link also verifies the address of the person's own account. Null if the link is used or
   * expired, or the password was changed since it was sent.
   * @param password already hashed
   * @param address the client's IP address
   */
  async resetPassword(token: string, password: string, address: string): Promise<PersonRecord | null> {
    const { links, persons, accounts } = this.#deps;
    const payload = await links.redeem('reset', token);
    if (payload === null) return null;
    const { person_id, epoch } = payload;
    if (!(await persons.setPassword(person_id, password, { epoch }))) return null;
    const person = await persons.get(person_id);
    const own = await accounts.get(ownAccountOf(person_id)).catch(nullIfUnknown);
    // The owner of a closed account can sign in to the privacy page, but gets no credits.
    if (person && own && own.state !== 'closed' && own.email === person.email)
      await this.#verify({ account_id: own.account_id, email: own.email, address });
    return person;
  }

  /**
   * Marks the address of an account as confirmed, with the free credits where the bounds allow.
   * @returns `withheld`: with whom it shares what, so that it got none; null when it got them
   */
  async #verify(account: NewAccount) {
    const { accounts, freeGrants, freeGrant } = this.#deps;
    const known = await accounts.get(account.account_id);
    if (known.verified) return { account: known, withheld: null };
    const withheld = await freeGrants.claim(account);
    const credits = withheld === null ? freeGrant : 0;
    return { account: await accounts.verify(account.account_id, { credits, by: BY }), withheld };
  }
}
