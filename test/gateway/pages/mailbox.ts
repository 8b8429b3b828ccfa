/** A mailer that keeps what it is given, and tells those who wait for a mail. */
import type { Mail, Mailer } from '../../../gateway/accounts/mail/mailer.ts';

const PATIENCE_MS = 60_000;

export class Mailbox implements Mailer {
  readonly description = 'Mail goes to the test';
  readonly all: Mail[] = [];
  readonly forgotten: string[] = [];
  readonly #waiting: { to: string; take: (mail: Mail) => void }[] = [];
  /** While set, no mail is taken. */
  failure: Error | null = null;

  /** The next mail to an address. Ask before the mail is caused. */
  next(to: string): Promise<Mail> {
    return new Promise((take, fail) => {
      // A test whose mail never comes still ends, and stops what it started.
      const late = setTimeout(() => fail(new Error(`no mail came for ${to}`)), PATIENCE_MS);
      const taken = (mail: Mail): void => {
        clearTimeout(late);
        take(mail);
      };
      this.#waiting.push({ to, take: taken });
    });
  }

  async send(mail: Mail): Promise<void> {
    if (this.failure) throw this.failure;
    this.all.push(mail);
    const index = this.#waiting.findIndex(({ to }) => to === mail.to);
    if (index >= 0) this.#waiting.splice(index, 1)[0]?.take(mail);
  }

  async deleteFor(address: string): Promise<void> {
    this.forgotten.push(address);
  }

  to(address: string): Mail[] {
    return this.all.filter((mail) => mail.to === address);
  }
}
