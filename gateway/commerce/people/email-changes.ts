/**
 * Changing the address of a person: confirmed by a link to the new address, told to both, and undone by a link to the
 * former one within seven days.
 */
import type { AddressChange, MemberStore } from '../accounts/accounts.ts';
import {
  type JobData,
  type LinkPayload,
  type StoredEvent,
  templates,
} from '../notifications/notifications.ts';
import { validateEmail } from '../store/store.ts';
import type { LinkSender } from './onboarding.ts';

const CONFIRM_TTL_MS = 24 * 3_600_000;
const UNDO_TTL_MS = 7 * 24 * 3_600_000;

interface Dependencies extends LinkSender {
  members: MemberStore;
  /** Hands over the events of a person; see `Teller`. */
  tellNow: (person_id: string) => Promise<void>;
}

type EmailChange = LinkPayload<'email-change'>;
type Purpose = 'email-change' | 'email-undo';

export class EmailChanges {
  readonly #deps: Dependencies;

  constructor(dependencies: Dependencies) {
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
    const { links, persons, tellNow } = this.#deps;
    const change = await this.#ifPossible(await links.redeem(purpose, token));
    if (change === null) return null;
    const { person_id, from, to } = change;
    const canUndo = purpose === 'email-change';
    if (!(await persons.changeEmail(person_id, { from, to, canUndo }))) return null;
    await tellNow(person_id);
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

  /**
   * Lets the accounts of the person follow a change, and queues a mail to each address, once: one of them may take none any
   * more.
   */
  async follow(person_id: string, { id: event_id, data }: StoredEvent): Promise<void> {
    const { accounts, persons, members, jobs } = this.#deps;
    const { from, to, canUndo } = data as AddressChange;
    // To the address of now: a repeated event sets none that was changed again since.
    const person = await persons.get(person_id);
    for (const account_id of person ? await persons.accountsOf(person_id) : [])
      if (person && (await members.roleOf(account_id, person_id)) === 'owner')
        await accounts.changeEmail(account_id, { from, to: person.email });
    const change = { person_id, from, to };
    const id = `${event_id}-${person_id}`;
    await jobs.addOnce('address-changed', { ...change, email: to, canUndo: false }, `${id}-to`);
    await jobs.addOnce('address-changed', { ...change, email: from, canUndo }, `${id}-from`);
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
