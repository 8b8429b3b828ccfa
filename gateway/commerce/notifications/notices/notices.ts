/**
 * Mails about changes. They are derived from the audit log, so that a change by the pages, the operator area, a payment or
 * the command line is told alike, and none is lost when a process ends after it.
 *
 * A periodic job queues one job for each recipient of each new entry, once. When it runs, it reads everything again:
 * whoever is no longer a member is not told, and no job holds an address or a secret.
 */
import type { AccountStore, MemberStore, PersonRecord, PersonStore } from '../../accounts/accounts.ts';
import { type AuditEntry, AuditFollower } from '../../history/history.ts';
import {
  AccountError,
  type AccountRecord,
  type KeyRecord,
  nullIfUnknown,
  type OrderRecord,
  type StoreDependencies,
} from '../../store/store.ts';
import type { JobProducer } from '../jobs/queue.ts';
import type { Mail, Mailer } from '../mail/mailer.ts';
import { type Circumstances, momentOf } from '../mail/notice-mail.ts';
import * as mails from '../mail/notice-mails.ts';
import { accountLine, authorOf } from './authors.ts';
import { accountIdOf, eventOf, isConfirmed, type Notice, noticeOf, TOLD_ROLES } from './notice.ts';

const ENTRIES_AT_ONCE = 200;

export interface NoticeDependencies {
  redis: StoreDependencies['redis'];
  accounts: AccountStore;
  persons: PersonStore;
  members: MemberStore;
  jobs: JobProducer;
  mailer: Mailer;
  /** Public base URL, without a trailing slash. */
  publicUrl: () => string;
  /** Address for questions, or the page that has it. */
  contact: () => string;
}

/** A notice with what its mail is about. */
interface Told {
  notice: Notice;
  account_id: string | null;
  /** Person ids. */
  recipients: string[];
}

/** Of the job and of the mail. */
const idOf = (entry: AuditEntry, notice: Notice, person_id: string): string =>
  `notice-${eventOf(entry, notice)}-${person_id}`;

export class Notices {
  readonly #deps: NoticeDependencies;
  readonly #follower: AuditFollower;

  constructor(dependencies: NoticeDependencies) {
    this.#deps = dependencies;
    this.#follower = new AuditFollower(dependencies.redis);
  }

  /** Queues the mails about all changes since the last time. Running twice at a time queues nothing twice. */
  async queueNew(): Promise<void> {
    for (;;) {
      const entries = await this.#follower.next(ENTRIES_AT_ONCE);
      for (const entry of entries) await this.#queue(entry);
      const last = entries.at(-1);
      if (last) await this.#follower.advance(last.id);
      if (entries.length < ENTRIES_AT_ONCE) return;
    }
  }

  async #queue(entry: AuditEntry): Promise<void> {
    const told = await this.#toldOf(entry);
    if (!told) return;
    for (const person_id of told.recipients) {
      const data = { event_id: entry.id, person_id, account_id: told.account_id };
      await this.#deps.jobs.addOnce('notice', data, idOf(entry, told.notice, person_id));
    }
  }

  /** Job: tells one person of one change. */
  async send(event_id: string, person_id: string): Promise<void> {
    const entry = await this.#follower.find(event_id);
    if (!entry) return;
    const told = await this.#toldOf(entry);
    if (!told?.recipients.includes(person_id)) return;
    const person = await this.#deps.persons.get(person_id);
    if (!person) return;
    const mail = await this.#mailOf(entry, told, person);
    if (mail) await this.#deps.mailer.send({ ...mail, id: idOf(entry, told.notice, person_id) });
  }

  /** Null if nobody is told. */
  async #toldOf(entry: AuditEntry): Promise<Told | null> {
    const notice = noticeOf(entry);
    if (!notice || !(isConfirmed(entry) || (await this.#wasMade(entry, notice)))) return null;
    if (notice.kind === 'password') return { notice, account_id: null, recipients: [notice.person_id] };
    const account_id = accountIdOf(entry) ?? (await this.#accountOf(notice));
    if (account_id === null) return null;
    // Both are told, even if the new owner has removed the former one since.
    if (notice.kind === 'ownership') return { notice, account_id, recipients: [notice.from, notice.to] };
    const maker = notice.kind === 'key' ? (await this.#findKey(account_id, notice.key_id))?.by : undefined;
    const members = await this.#deps.members.list(account_id);
    const told = members.filter(
      ({ role, person_id }) => TOLD_ROLES[notice.kind].includes(role) || person_id === maker,
    );
    return { notice, account_id, recipients: told.map(({ person_id }) => person_id) };
  }

  async #accountOf(notice: Notice): Promise<string | null> {
    if (notice.kind !== 'order') return null;
    const order = await this.#findOrder(notice.order_id);
    return order?.account_id ?? null;
  }

  /** Whether the present state shows a change that was not confirmed. */
  async #wasMade(entry: AuditEntry, notice: Notice): Promise<boolean> {
    const { accounts, members } = this.#deps;
    const account_id = accountIdOf(entry);
    const account = account_id === null ? null : await accounts.get(account_id).catch(nullIfUnknown);
    switch (notice.kind) {
      case 'order': {
        const order = await this.#findOrder(notice.order_id);
        return notice.step === 'placed' || order?.state === notice.step;
      }
      case 'key': {
        const key = account_id === null ? null : await this.#findKey(account_id, notice.key_id);
        if (notice.change === 'rotated') return key?.replaced_by != null;
        return notice.change === 'created' || key?.state === 'revoked';
      }
      case 'restored':
        return account?.state === 'active';
      case 'password':
        return true;
      case 'ownership':
        return account_id !== null && (await members.roleOf(account_id, notice.to)) === 'owner';
      default:
        return account?.state === notice.kind;
    }
  }

  async #findOrder(order_id: string): Promise<OrderRecord | null> {
    return this.#deps.accounts.orders.get(order_id).catch((error: unknown) => {
      if (error instanceof AccountError && error.code === 'order_unknown') return null;
      throw error;
    });
  }

  async #findKey(account_id: string, key_id: string): Promise<KeyRecord | null> {
    const keys = await this.#deps.accounts.keys.list(account_id);
    return keys.find((key) => key.key_id === key_id) ?? null;
  }

  /** Null if what it is about was erased. */
  async #mailOf(entry: AuditEntry, { notice, account_id }: Told, person: PersonRecord): Promise<Mail | null> {
    const { accounts } = this.#deps;
    const account = account_id === null ? null : await accounts.get(account_id).catch(nullIfUnknown);
    const about = await this.#circumstances(entry, account, person);
    if (notice.kind === 'password') return mails.passwordChanged(person.email, about);
    if (!account) return null;
    switch (notice.kind) {
      case 'order': {
        const order = await this.#findOrder(notice.order_id);
        return order && mails.orderMails[notice.step](person.email, order, about);
      }
      case 'key': {
        const key = await this.#findKey(account.account_id, notice.key_id);
        return key && mails.keyMails[notice.change](person.email, { ...key, reason: entry.reason }, about);
      }
      case 'suspended':
        return mails.accountSuspended(person.email, about);
      case 'restored':
        return mails.accountRestored(person.email, about);
      case 'closed':
        return mails.accountClosed(person.email, notice.forfeited, about);
      case 'ownership': {
        const owner = await this.#deps.persons.get(notice.to);
        return owner && mails.ownershipMoved(person.email, owner.email, about);
      }
    }
  }

  async #circumstances(
    { by, at_ms }: AuditEntry,
    account: AccountRecord | null,
    { person_id }: PersonRecord,
  ): Promise<Circumstances> {
    const { publicUrl, contact } = this.#deps;
    const author = await authorOf(this.#deps, by, { account, reader: person_id });
    const facts = [`By: ${author}`, `At: ${momentOf(at_ms)}`, ...accountLine(account)];
    return { facts, publicUrl: publicUrl(), contact: contact() };
  }
}
