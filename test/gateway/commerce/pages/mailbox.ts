/** A mailbox that keeps its mails in memory, and lets tests wait for one. It can stand in for a mailer. */
import type { Mail, Mailer } from '../../../../gateway/commerce/notifications/mail/mailer.ts';

const MAIL_TIMEOUT_MS = 60_000;

export class Mailbox implements Mailer {
  readonly description = 'Mail goes to the test';
  readonly delivers = true;
  readonly all: Mail[] = [];
  readonly forgotten: string[] = [];
  readonly #waiting: { to: string; subject: RegExp; take: (mail: Mail) => void }[] = [];
  /** While set, sending fails. */
  failure: Error | null = null;

  /** The next mail to an address with such a subject. Call it before the action that sends the mail. */
  next(to: string, subject = /^/): Promise<Mail> {
    return new Promise((take, fail) => {
      const late = setTimeout(() => fail(new Error(`no mail came for ${to}`)), MAIL_TIMEOUT_MS);
      const taken = (mail: Mail): void => {
        clearTimeout(late);
        take(mail);
      };
      this.#waiting.push({ to, subject, take: taken });
    });
  }

  async send(mail: Mail): Promise<void> {
    if (this.failure) throw this.failure;
    this.all.push(mail);
    const index = this.#waiting.findIndex(({ to, subject }) => to === mail.to && subject.test(mail.subject));
    if (index >= 0) this.#waiting.splice(index, 1)[0]?.take(mail);
  }

  async deleteFor(address: string): Promise<void> {
    this.forgotten.push(address);
  }

  to(address: string): Mail[] {
    return this.all.filter((mail) => mail.to === address);
  }
}
