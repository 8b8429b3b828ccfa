/**
 * Single-use links by which an operator chooses a password: an invitation, or a reset. A link ends when it is used or too
 * old, with the operator's sessions, and an invitation also when another is made.
 */
import type { Mailer } from '../gateway/commerce/notifications/mail/mailer.ts';
import type { SignedLinks } from '../gateway/commerce/notifications/mail/signed-links.ts';
import * as templates from '../gateway/commerce/notifications/mail/templates.ts';
import { AccountError } from '../gateway/commerce/store/store.ts';
import type { OperatorRecord, OperatorStore } from './operators.ts';

const DAY_MS = 86_400_000;
const INVITATION_MS = 7 * DAY_MS;
const RESET_MS = DAY_MS;

interface Dependencies {
  operators: OperatorStore;
  links: SignedLinks;
  mailer: Mailer;
  areaUrl: () => string;
}

export class OperatorLinks {
  readonly #deps: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies;
  }

  /**
   * Mails a link: an invitation as long as the operator has no password, else a reset.
   * @param by who asks for it, named in the mail
   * @returns null when it is mailed; the link when no mail server is set, for the owner to hand over
   * @throws {AccountError} `unavailable` when the mail server did not accept the mail
   */
  async send({ email, hasPassword }: OperatorRecord, by: string): Promise<string | null> {
    const { operators, links, mailer, areaUrl } = this.#deps;
    if (!hasPassword) await operators.endSessions(email);
    const epoch = await operators.epochOf(email);
    if (epoch === null) throw new AccountError('account_unknown', `There is no operator ${email}.`);
    const ttl_ms = hasPassword ? RESET_MS : INVITATION_MS;
    const token = await links.create('operator-password', { email, epoch }, ttl_ms);
    const link = `${areaUrl()}/password/${encodeURIComponent(token)}`;
    if (!mailer.delivers) return link;
    const template = hasPassword ? templates.operatorPassword : templates.operatorInvitation;
    try {
      await mailer.send(template(email, link, by));
    } catch (cause) {
      const message = `The mail server did not accept the mail to ${email}. Send another link in a moment.`;
      throw new AccountError('unavailable', message, { cause });
    }
    return null;
  }

  /** The address of the operator who may choose a password with a link; null for an invalid one. */
  async peek(token: string): Promise<string | null> {
    const { operators, links } = this.#deps;
    const found = await links.peek('operator-password', token);
    return found && (await operators.epochOf(found.email)) === found.epoch ? found.email : null;
  }

  /** @returns the address of the operator whose password is set; null for an invalid link */
  async choosePassword(token: string, password: string): Promise<string | null> {
    const { operators, links } = this.#deps;
    const found = await links.redeem('operator-password', token);
    if (found === null) return null;
    return (await operators.choosePassword(found.email, found.epoch, password)) ? found.email : null;
  }
}
