/**
 * Tells what waits in the outbox: to webhooks, by mail to each person whom the catalogue names, and to operators.
 *
 * Each recipient gets a job of its own, queued once for eight days however often an event is handed over. When it runs, it
 * reads everything again: whoever is no longer to be told is not, and no job holds an address or a secret.
 */
import type { Logger } from 'pino';
import type { AccountStore, MemberStore, PersonStore } from '../accounts/accounts.ts';
import { type AccountRecord, nullIf, nullIfUnknown } from '../store/store.ts';
import type { OperatorAlerts } from './alerts/operator-alerts.ts';
import { type EventRow, eventRow, type Told } from './catalogue.ts';
import type { JobData } from './jobs/job-data.ts';
import { type JobProducer, queueTold, toldId } from './jobs/queue.ts';
import { accountLine, mailMoment, type ToldConnection } from './mail/change-mails.ts';
import type { Mailer } from './mail/mailer.ts';
import { eventAccount, type Outbox, type StoredEvent } from './outbox.ts';
import type { Webhooks } from './webhooks/webhooks.ts';

interface TellerDependencies {
  accounts: AccountStore;
  persons: PersonStore;
  members: MemberStore;
  operatorAlerts: OperatorAlerts;
  /** Whether the file of an export can be downloaded, and was not yet. */
  isExportReady(request_id: string): Promise<boolean>;
  outbox: Outbox;
  webhooks: Webhooks;
  connectionsOf(account_id: string): Promise<readonly ToldConnection[]>;
  jobs: JobProducer;
  mailer: Mailer;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  /** Public base URL, without a trailing slash. */
  publicUrl: () => string;
  /** Address for questions, or the page that has it. */
  contact: () => string;
  /** Lets the accounts of a person follow a change of address, and queues the mails about it. */
  followAddress(person_id: string, event: StoredEvent): Promise<void>;
}

export class Teller {
  readonly #deps: TellerDependencies;

  constructor(dependencies: TellerDependencies) {
    this.#deps = dependencies;
  }

  /** Hands over all events that wait. One owner whose events cannot be handed over delays no other. */
  async sweep(): Promise<void> {
    for (const owner of await this.#deps.outbox.listOwners())
      await this.tell(owner).catch((error: unknown) =>
        this.#deps.log.warn({ owner, err: error }, 'events cannot be handed over'),
      );
  }

  /** Hands over what waits with an owner. */
  tell(owner: string): Promise<void> {
    return this.#deps.outbox.drain(owner, (event) => this.#take(owner, event));
  }

  /** Hands it over at once. What fails here is left to the sweep. */
  async tellNow(owner: string): Promise<void> {
    await this.tell(owner).catch(() => {});
  }

  async #take(owner: string, event: StoredEvent): Promise<'taken' | 'left'> {
    const { webhooks, jobs, followAddress } = this.#deps;
    const row = eventRow(event);
    // Written by a later version, which tells it.
    if (!row) return 'left';
    if (event.type === 'address.changed') await followAddress(owner, event);
    if (row.webhook !== undefined) await webhooks.hand(owner, event);
    const account_id = eventAccount(owner, event);
    // Labels are words of their owner, and a job that is given up outlives an erasure.
    const { label: _, ...data } = event.data as Record<string, unknown>;
    const recipients = await this.#recipients(account_id ?? owner, event, row);
    await queueTold(jobs, { account_id, event: { ...event, data } }, recipients);
    return 'taken';
  }

  /** Job: tells one recipient of one event. */
  async send(told: JobData['told']): Promise<void> {
    const { accounts, mailer, now, operatorAlerts } = this.#deps;
    const { account_id, recipient, event } = told;
    const row = eventRow(event);
    const owner = account_id ?? recipient;
    if (!row?.mail || !(await this.#recipients(owner, event, row)).includes(recipient)) return;
    if (recipient === 'webhook') return operatorAlerts.post(event);
    const to = await this.#findAddress(recipient);
    if (to === null) return;
    const account = account_id === null ? null : await accounts.get(account_id).catch(nullIfUnknown);
    const nameAuthor = (by: string): Promise<string> => this.#nameAuthor(by, account, recipient);
    const facts = [
      `By: ${await nameAuthor(event.by)}`,
      `At: ${mailMoment(event.at_ms)}`,
      ...accountLine(account),
    ];
    const { publicUrl, contact } = this.#deps;
    const about = { to, facts, publicUrl: publicUrl(), contact: contact() };
    const known = { event, account, about, now_ms: now(), find: this.#finder(owner), nameAuthor };
    const mail = await row.mail.words(known, row.data.partial().parse(event.data));
    if (mail) await mailer.send({ id: toldId(told), ...mail });
  }

  async #findAddress(recipient: string): Promise<string | null> {
    const { operatorAlerts, persons } = this.#deps;
    if (recipient === 'mail') return operatorAlerts.email;
    return (await persons.get(recipient))?.email ?? null;
  }

  async #recipients(owner: string, { by, data }: StoredEvent, { mail }: EventRow): Promise<string[]> {
    if (!mail || (mail.isAuthored && by === '')) return [];
    const facts = data as Readonly<Record<string, unknown>>;
    const { to } = mail;
    if (to.includes('operators')) return this.#deps.operatorAlerts.channels;
    if (to.includes('named'))
      return owner.startsWith('per_') ? [owner] : [String(facts.from), String(facts.to)];
    const maker = to.includes('maker') ? await this.#findMaker(owner, facts) : undefined;
    const members = await this.#deps.members.list(owner);
    const told = members.filter(
      ({ role, person_id }) => to.some((one) => one === role) || person_id === maker,
    );
    return told.map(({ person_id }) => person_id);
  }

  /** Who made the key that an event is about, or allowed the connection. */
  async #findMaker(owner: string, facts: Readonly<Record<string, unknown>>): Promise<string | undefined> {
    const { accounts, connectionsOf } = this.#deps;
    if (facts.connection_id !== undefined) {
      const connections = await connectionsOf(owner);
      return connections.find(({ connection_id }) => connection_id === facts.connection_id)?.person_id;
    }
    const keys = await accounts.keys.list(owner);
    return keys.find(({ key_id }) => key_id === (facts.replaces ?? facts.key_id))?.by;
  }

  #finder(owner: string): Told['find'] {
    const { accounts, persons, webhooks, connectionsOf, isExportReady } = this.#deps;
    return {
      isExportReady,
      order: (order_id) => accounts.orders.get(order_id).catch(nullIf('order_unknown')),
      keys: () => accounts.keys.list(owner),
      async connection(connection_id) {
        const connections = await connectionsOf(owner);
        return connections.find((one) => one.connection_id === connection_id) ?? null;
      },
      person: (person_id) => persons.get(person_id),
      async endpoint(endpoint_id) {
        const endpoints = await webhooks.endpoints.list(owner);
        return endpoints.find((one) => one.endpoint_id === endpoint_id) ?? null;
      },
    };
  }

  /** Operators are not named, and neither is somebody whose data was erased. */
  async #nameAuthor(by: string, account: AccountRecord | null, reader: string): Promise<string> {
    if (by === 'stripe') return 'the card payment service';
    if (by === '') return 'Almanac itself';
    if (!by.startsWith('per_')) return 'an operator of Almanac';
    if (by === reader) return 'you';
    const { persons, members } = this.#deps;
    const person = await persons.get(by);
    if (!person) return 'somebody whose data was erased';
    const name = person.name === '' ? person.email : `${person.name} <${person.email}>`;
    const role = account && (await members.roleOf(account.account_id, by));
    return `${name}, ${role ?? 'a former member'}`;
  }
}
