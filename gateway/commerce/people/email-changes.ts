/**
 * Changing the address of a person: confirmed by a link to the new address, told to both, and undone by a link to the
 * former one within seven days.
 */
import type { AccountStore } from '../accounts/account-store.ts';
import type { JobData } from '../notifications/jobs/job-data.ts';
import type { JobProducer } from '../notifications/jobs/queue.ts';
import type { Mailer } from '../notifications/mail/mailer.ts';
import type { LinkPayload, SignedLinks } from '../notifications/mail/signed-links.ts';
import * as templates from '../notifications/mail/templates.ts';
import { validateEmail } from '../validation.ts';
import type { MemberStore } from './member-store.ts';
import type { PersonStore } from './person-store.ts';

const CONFIRM_TTL_MS = 24 * 3_600_000;
const UNDO_TTL_MS = 7 * 24 * 3_600_000;

export interface EmailChangeDependencies {
  accounts: AccountStore;
  persons: PersonStore;
  members: MemberStore;
  links: SignedLinks;
  mailer: Mailer;
  jobs: JobProducer;
  /** Public base URL, without a trailing slash. */
  publicUrl: () => string;
}

export type EmailChange = LinkPayload<'email-change'>;
type Purpose = 'email-change' | 'email-undo';

export class EmailChanges {
  readonly #deps: EmailChangeDependencies;

  constructor(dependencies: EmailChangeDependencies) {
    this.#deps = dependencies;
  }

  /** Queues the mail to the new address. @throws {AccountError} `bad_input` */
  async request(person_id: string, email: string): Promise<void> {
    await this.#deps.jobs.add('email-change', { person_id, email: validateEmail(email) });
  }

  /** Job: mails the link to the new address, or that somebody has it already. */
  async sendLink(person_id: string, to: string): Promise<void> {
    const { persons, links, mailer, publicUrl } = this.#deps;
    const person = await persons.get(person_id);
    if (!person || person.email === to) return;
    if (await persons.findByEmail(to)) {
      await mailer.send(templates.accountExists(to, `${publicUrl()}/account/sign-in`));
      return;
    }
    const change = { person_id, from: person.email, to };
    const token = await links.create('email-change', change, CONFIRM_TTL_MS);
    await mailer.send(templates.confirmNewAddress(to, `${publicUrl()}/account/email/${token}`));
  }

  /** What a link would do, without using it up; null if it is no longer valid. */
  async peek(purpose: Purpose, token: string): Promise<EmailChange | null> {
    return this.#ifPossible(await this.#deps.links.peek(purpose, token));
  }

  /** Uses a link up. Null if it is no longer valid. */
  async carryOut(purpose: Purpose, token: string): Promise<EmailChange | null> {
    const { links, persons, jobs } = this.#deps;
    const change = await this.#ifPossible(await links.redeem(purpose, token));
    if (change === null || !(await persons.changeEmail(change.person_id, change))) return null;
    await jobs.add('email-changed', { ...change, canUndo: purpose === 'email-change' });
    return change;
  }

  async #ifPossible(change: EmailChange | null): Promise<EmailChange | null> {
    if (change === null) return null;
    const { persons } = this.#deps;
    const [person, other] = await Promise.all([
      persons.get(change.person_id),
      persons.findByEmail(change.to),
    ]);
    return person?.email === change.from && other === null ? change : null;
  }

  /** Job: lets the accounts of the person follow, and queues a mail to each address: one of them may take none any more. */
  async follow({ person_id, from, to, canUndo }: EmailChange & { canUndo: boolean }): Promise<void> {
    const { accounts, persons, members, jobs } = this.#deps;
    for (const account_id of await persons.accountsOf(person_id))
      if ((await members.roleOf(account_id, person_id)) === 'owner')
        await accounts.changeEmail(account_id, { from, to });
    const change = { person_id, from, to };
    await jobs.add('address-changed', { ...change, email: to, canUndo: false });
    await jobs.add('address-changed', { ...change, email: from, canUndo });
  }

  /** Job: tells one address of the change. */
  async tell({ email, person_id, from, to, canUndo }: JobData['address-changed']): Promise<void> {
    const { links, mailer, publicUrl } = this.#deps;
    const back = { person_id, from: to, to: from };
    const undo = canUndo
      ? `${publicUrl()}/account/undo-email/${await links.create('email-undo', back, UNDO_TTL_MS)}`
      : null;
    await mailer.send(templates.addressChanged(email, from, to, undo));
  }
}
