/**
 * The catalogue of events: what each is about, whether webhooks tell it, and who gets which mail. To add one, add a row here,
 * its words in `mail/`, and have the script of the change write it to the outbox; the store that runs the script calls
 * `expectEvents` before it.
 *
 * docs/webhooks.md has an example of each event that webhooks tell, which a test holds against these. Scripts write some
 * numbers as text, so numbers are coerced.
 */
import { z } from 'zod';
import type { KeyRecord, PersonRecord, Role } from '../accounts/accounts.ts';
import type { AccountRecord, OrderRecord } from '../store/store.ts';
import { editionDigest } from './alerts/change-alerts.ts';
import { daysToTell } from './alerts/expiring-keys.ts';
import { operatorAlert } from './alerts/operator-alert.ts';
import * as alerts from './mail/alert-templates.ts';
import * as changes from './mail/change-mails.ts';
import type { Mail } from './mail/mailer.ts';
import {
  exportReady,
  lowBalance,
  SECURITY_EVENTS,
  securityNotice,
  webhookDisabled,
} from './mail/templates.ts';
import type { StoredEvent } from './outbox.ts';
import type { WebhookEndpoint } from './webhooks/endpoint-records.ts';

/**
 * Roles in the account; `maker`: who made the key or allowed the connection, while a member; `named`: the persons that the event is about, members or
 * not; `operators`, by mail and by a webhook of their own.
 */
type Recipient = Extract<Role, 'owner' | 'billing'> | 'maker' | 'named' | 'operators';

/** What the words of a mail are made of, all read when it is sent. */
export interface Told {
  event: StoredEvent;
  /** Null for an event of a person or of operators. */
  account: AccountRecord | null;
  /** The reader, who and when. */
  about: changes.Circumstances;
  now_ms: number;
  /** Each null where it is gone. */
  find: {
    order(order_id: string): Promise<OrderRecord | null>;
    keys(): Promise<KeyRecord[]>;
    connection(connection_id: string): Promise<changes.ToldConnection | null>;
    person(person_id: string): Promise<PersonRecord | null>;
    endpoint(endpoint_id: string): Promise<WebhookEndpoint | null>;
    isExportReady(request_id: string): Promise<boolean>;
  };
  /** Somebody by whom a change was made, as the reader is told. */
  nameAuthor(by: string): Promise<string>;
}

export interface EventRow<Schema extends z.ZodObject = z.ZodObject> {
  data: Schema;
  /** What it means to an endpoint that subscribes to it; absent where webhooks do not tell it. */
  webhook?: string;
  mail?: {
    /** What operators read if it could not be sent. */
    what: string;
    to: readonly Recipient[];
    /** Tells who did it, and nobody where that is not known. */
    isAuthored?: boolean;
    /** Null where there is nothing to tell any more. */
    words(told: Told, data: z.output<Schema>): Promise<Mail | null> | Mail | null;
  };
}

const row = <Schema extends z.ZodObject>(one: EventRow<Schema>): EventRow<Schema> => one;

const id = z.string().min(1);
const credits = z.coerce.number().int().min(0);

const key = z.strictObject({ key_id: id, label: z.string() });
const connection = z.strictObject({ connection_id: id, client: z.string() });
const order = z.strictObject({
  order_id: id,
  pack_id: id,
  credits,
  /** In the smallest unit of the currency. */
  price_minor: z.coerce.number().int().min(0),
  currency: id,
});
const nothing = z.strictObject({});

const findKey = async ({ find }: Told, key_id: string): Promise<KeyRecord | null> =>
  (await find.keys()).find((one) => one.key_id === key_id) ?? null;

const orderStep = (step: changes.OrderStep, webhook?: string) =>
  row({
    data: order,
    ...(webhook !== undefined && { webhook }),
    mail: {
      what: 'Mail about a change',
      to: ['owner', 'billing'],
      isAuthored: true,
      async words({ find, about }, { order_id }) {
        const found = await find.order(order_id);
        return found && changes.orderChanged(step, found, about);
      },
    },
  });

const keyChange = (change: changes.KeyChange) => ({
  what: 'Mail about a change',
  to: ['owner', 'maker'] as const,
  isAuthored: true,
  /** After a rotation, the mail is about the key that was replaced. */
  async words(told: Told, { key_id, replaces }: { key_id: string; replaces?: string }): Promise<Mail | null> {
    const found = await findKey(told, replaces ?? key_id);
    return found && changes.keyMails[change]({ ...found, reason: told.event.reason }, told.about);
  },
});

const accountChange = <Schema extends z.ZodObject>(
  data: Schema,
  words: (about: changes.Circumstances, data: z.output<Schema>) => Mail,
) =>
  row({
    data,
    mail: {
      what: 'Mail about a change',
      to: ['owner'],
      isAuthored: true,
      words: ({ account, about }, facts) => account && words(about, facts),
    },
  });

/** Where the account is not closed. */
const openAccount = ({ account }: Told): AccountRecord | null =>
  account?.state === 'closed' ? null : account;

export const EVENTS = {
  test: row({
    webhook: 'Sent by the button "Send a test event", to that endpoint alone',
    data: z.strictObject({ message: z.string() }),
  }),
  'credits.low': row({
    webhook: 'The balance fell below the threshold of the low-balance alert',
    data: z.strictObject({ balance: credits, threshold: credits }),
    mail: {
      what: 'Mail about a low balance',
      to: ['owner'],
      words(told, { threshold }) {
        const account = openAccount(told);
        const { to, publicUrl } = told.about;
        return account && lowBalance(to, `${publicUrl}/account/wallet`, account.credits.balance, threshold);
      },
    },
  }),
  'spending.above': row({
    webhook: 'Calls of one UTC hour or day cost more than the threshold of the spending alert; once for each',
    data: z.strictObject({
      spent: credits,
      threshold: credits,
      per: z.enum(['hour', 'day']),
      /** When the hour or day began, ISO 8601. */
      since: z.preprocess((at) => (typeof at === 'number' ? new Date(at).toISOString() : at), id),
    }),
    mail: {
      what: 'Alert about spending',
      to: ['owner'],
      words: (told, data) =>
        openAccount(told) &&
        alerts.spendingAbove(told.about.to, `${told.about.publicUrl}/account/alerts`, data),
    },
  }),
  'indicators.changed': row({
    webhook:
      'A new snapshot revised, redefined, renamed or withdrew indicators that the account used in the 30 days before; once for each',
    data: editionDigest,
    mail: {
      what: 'Alert about changed indicators',
      to: ['owner'],
      words: (told, data) =>
        openAccount(told) &&
        alerts.indicatorsChanged(told.about.to, `${told.about.publicUrl}/account/alerts`, data),
    },
  }),
  'key.created': row({ webhook: 'A key was made', data: key, mail: keyChange('created') }),
  'key.rotated': row({
    webhook: 'A key was replaced by a new one',
    data: key.extend({ replaces: id }),
    mail: keyChange('rotated'),
  }),
  'key.revoked': row({ webhook: 'A key was revoked', data: key, mail: keyChange('revoked') }),
  'key.expires': row({
    data: z.strictObject({ key_id: id, days: z.number() }),
    mail: {
      what: 'Mail about a key that expires',
      to: ['owner', 'maker'],
      async words(told, { key_id, days }) {
        const found = await findKey(told, key_id);
        if (!found || daysToTell(found, await told.find.keys(), told.now_ms) === null) return null;
        const made = found.by === '' ? [] : [`Made by: ${await told.nameAuthor(found.by)}`];
        const facts = [
          ...made,
          `Made at: ${changes.mailMoment(found.created_at_ms)}`,
          ...changes.accountLine(told.account),
        ];
        return changes.keyExpires(found, days, { ...told.about, facts });
      },
    },
  }),
  'connection.made': row({
    data: connection,
    mail: {
      what: 'Mail about a change',
      to: ['owner', 'maker'],
      isAuthored: true,
      async words({ find, about }, { connection_id }) {
        const found = await find.connection(connection_id);
        return found && changes.connectionMade(found, about);
      },
    },
  }),
  'connection.ended': row({
    data: connection,
    mail: {
      what: 'Mail about a change',
      to: ['owner', 'maker'],
      async words({ find, about, event }, { connection_id }) {
        const found = await find.connection(connection_id);
        // Its own client is not told of by mail.
        if (!found || found.ended_because === 'client') return null;
        return changes.connectionEnded(found, event.reason, about);
      },
    },
  }),
  'order.placed': orderStep('placed'),
  'order.paid': orderStep('paid', 'An order was paid, and its credits are granted'),
  'order.failed': orderStep('failed'),
  'order.cancelled': orderStep('cancelled'),
  'order.refunded': orderStep('refunded', 'An order was refunded, and its credits are taken back'),
  'account.suspended': accountChange(nothing, changes.accountSuspended),
  'account.restored': accountChange(nothing, changes.accountRestored),
  'account.closed': accountChange(z.strictObject({ credits, keys: credits }), changes.accountClosed),
  'ownership.moved': row({
    data: z.strictObject({ from: id, to: id }),
    mail: {
      what: 'Mail about a change',
      to: ['named'],
      isAuthored: true,
      async words({ find, about }, { to }) {
        const owner = await find.person(to);
        return owner && changes.ownershipMoved(owner.email, about);
      },
    },
  }),
  'password.changed': row({
    data: nothing,
    mail: {
      what: 'Mail about a change',
      to: ['named'],
      isAuthored: true,
      words: ({ about }) => changes.passwordChanged(about),
    },
  }),
  'second_factor.changed': row({
    data: z.strictObject({
      change: z.enum(Object.keys(SECURITY_EVENTS) as (keyof typeof SECURITY_EVENTS)[]),
    }),
    mail: {
      what: 'Mail about the second factor',
      to: ['named'],
      isAuthored: true,
      words: ({ about, event }, { change }) =>
        securityNotice(about.to, `${about.publicUrl}/account/forgot`, change, event.reason),
    },
  }),
  'export.ready': row({
    data: z.strictObject({ account_id: id, request_id: id }),
    mail: {
      what: 'Mail about an export that is ready',
      to: ['owner'],
      async words({ find, about }, { request_id }) {
        return (await find.isExportReady(request_id))
          ? exportReady(about.to, `${about.publicUrl}/account/data`)
          : null;
      },
    },
  }),
  'operator.alert': row({
    data: operatorAlert,
    mail: {
      what: 'Alert to operators',
      to: ['operators'],
      words: ({ about }, alert) => alerts.operatorAlert(about.to, alert),
    },
  }),
  'webhook.disabled': row({
    data: z.strictObject({ endpoint_id: id }),
    mail: {
      what: 'Mail about a disabled webhook',
      to: ['owner'],
      async words({ find, about }, { endpoint_id }) {
        const found = await find.endpoint(endpoint_id);
        // It may have been removed, or enabled again.
        if (!found || found.disabled_because === null) return null;
        const link = `${about.publicUrl}/account/webhooks/${endpoint_id}`;
        return webhookDisabled(about.to, link, found.url, found.disabled_because);
      },
    },
  }),
  /** Told to both addresses by `EmailChanges`, with a link that undoes it. */
  'address.changed': row({ data: z.strictObject({ from: id, to: id, canUndo: z.boolean() }) }),
} as const;

type EventType = keyof typeof EVENTS;

const isEventType = (word: string): word is EventType => Object.hasOwn(EVENTS, word);

/** The row of an event that a script of this version wrote. */
export const eventRow = ({ type }: Pick<StoredEvent, 'type'>): EventRow | null =>
  isEventType(type) ? EVENTS[type] : null;

/** The types of events that endpoints receive, and what each means. */
export const WEBHOOK_EVENTS: readonly { type: string; help: string; fields: readonly string[] }[] =
  Object.entries<EventRow>(EVENTS).flatMap(([type, { webhook, data }]) =>
    webhook !== undefined && isEventType(type)
      ? [{ type, help: webhook, fields: Object.keys(data.shape) }]
      : [],
  );

/** What an endpoint can subscribe to: all but `test`. */
export const SUBSCRIBABLE: readonly string[] = WEBHOOK_EVENTS.map(({ type }) => type).filter(
  (type) => type !== 'test',
);
