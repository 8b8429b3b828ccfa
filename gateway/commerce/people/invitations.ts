/** What mailed invitations do: the mail, what its link shows, and accepting it as a known or as a new person. */
import { INVITATION_TTL_MS, type MemberStore } from '../accounts/accounts.ts';
import { templates } from '../notifications/notifications.ts';
import { AccountError } from '../store/store.ts';
import type { LinkSender } from './onboarding.ts';

interface Dependencies extends LinkSender {
  members: MemberStore;
}

/** An invitation that can be accepted now. */
export type OpenInvitation = NonNullable<Awaited<ReturnType<Invitations['peek']>>>;

export class Invitations {
  readonly #deps: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies;
  }

  /** Job: mails the link; sends nothing once the invitation is gone. */
  async send(account_id: string, invitation_id: string): Promise<void> {
    const { links, mailer, publicUrl } = this.#deps;
    const open = await this.#find(account_id, invitation_id);
    if (!open) return;
    const token = await links.create('invitation', { account_id, invitation_id }, INVITATION_TTL_MS);
    await mailer.send(templates.invitation(open.email, `${publicUrl()}/account/invitation/${token}`, open));
  }

  /** The invitation behind a link, without using it up; null if it can no longer be accepted. */
  async peek(token: string) {
    const link = await this.#deps.links.peek('invitation', token);
    return link && this.#find(link.account_id, link.invitation_id);
  }

  async #find(account_id: string, invitation_id: string) {
    const { accounts, members, persons } = this.#deps;
    const invitation = await members.invitation(account_id, invitation_id);
    if (invitation === null) return null;
    const account = await accounts.get(account_id);
    if (account.state !== 'active') return null;
    const { email, role } = invitation;
    /** Whether somebody can sign in with the address. */
    const isKnown = (await persons.findLogin(email)) !== null;
    return {
      account_id,
      invitation_id,
      email,
      role,
      isKnown,
      account: account.name || account.email,
      /** Address of the owner. */
      sender: account.email,
    };
  }

  /**
   * Makes the invited person, who reads the mails of the address, and sets the password.
   * @param password already hashed
   * @throws {AccountError} `member_refused` if the person got a password meanwhile
   */
  async welcome(email: string, name: string, password: string): Promise<string> {
    const { persons } = this.#deps;
    const { person_id } = await persons.findOrCreate(email, name);
    if (await persons.setPassword(person_id, password, { only_unset: true })) return person_id;
    throw new AccountError(
      'member_refused',
      'There is an account with this address by now. Sign in to accept.',
    );
  }
}
