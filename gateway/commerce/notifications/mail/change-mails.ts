/** The mails about changes of orders, keys, passwords and accounts. None holds a secret. */
import { FORMER_OWNER, type KeyRecord } from '../../accounts/accounts.ts';
import type { AccountRecord, OrderRecord } from '../../store/store.ts';
import { letter, type Mail } from './mailer.ts';

export type OrderStep = 'placed' | 'paid' | 'failed' | 'cancelled' | 'refunded';
export type KeyChange = 'created' | 'rotated' | 'revoked';

export interface Circumstances {
  /** The reader's address. */
  to: string;
  /** Lines that say who did it and when, and in which account. */
  facts: readonly string[];
  /** Public base URL, without a trailing slash. */
  publicUrl: string;
  /** Address to write to, or the page that has one. */
  contact: string;
}

interface ChangeText {
  subject: string;
  /** What has happened, a paragraph each. */
  says: readonly string[];
  /** Words before the link. */
  linkFor: string;
  /** Path of the page where the reader sees it. */
  path: string;
  /** What to do about it, if it was not expected. */
  unexpected: string;
}

/** `2026-11-23 12:00 UTC`, or `never`. */
export const mailMoment = (ms: number | null): string =>
  ms === null ? 'never' : `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

export const accountLine = (account: AccountRecord | null): string[] =>
  account ? [`Account: ${account.name || account.email}`] : [];

/** What, who, when, what to do if it was not expected, where to ask. */
function changeMail(
  { to, facts, publicUrl, contact }: Circumstances,
  { subject, says, linkFor, path, unexpected }: ChangeText,
): Mail {
  const link = `${publicUrl}${path}`;
  const asked = [`${linkFor}:\n\n${link}`, unexpected, `Questions: ${contact}`];
  return letter({ to, subject, link }, ...says, facts.join('\n'), ...asked);
}

const count = new Intl.NumberFormat('en');

const counted = (number: number, one: string, many: string): string =>
  `${count.format(number)} ${number === 1 ? one : many}`;

const ORDER_UNEXPECTED =
  'If nobody of your account ordered this, do not pay; write to the address below, and look who is a member of the account.';
const UNEXPECTED = 'If you did not expect this, write to the address below.';

/** Subject and text of each step of an order. */
const ORDER_TEXTS: Readonly<Record<OrderStep, (order: OrderRecord) => [subject: string, says: string]>> = {
  placed: ({ payment }) => [
    'Your order was placed',
    payment === 'invoice'
      ? 'The page of the order has the invoice. The credits are added when the payment has arrived.'
      : 'The credits are added when the card payment is confirmed. The page of the order leads to it.',
  ],
  paid: ({ credits }) => [
    'Your payment was received',
    `Thank you. ${counted(credits, 'credit is', 'credits are')} in your balance. The page of the order has the invoice.`,
  ],
  failed: () => [
    'The payment of your order failed',
    'No credits were added. You can order again at any time.',
  ],
  cancelled: () => [
    'Your order was cancelled',
    'Nothing is due and no credits are added. Do not pay an invoice that you still have.',
  ],
  refunded: ({ shortfall }) => [
    'Your order was refunded',
    `The credits of the order were taken from the balance${
      shortfall > 0
        ? `, except ${counted(shortfall, 'credit that was', 'credits that were')} spent already`
        : ''
    }. The page of the order has the credit note.`,
  ],
};

export function orderChanged(step: OrderStep, order: OrderRecord, about: Circumstances): Mail {
  const { order_id, pack_name, credits, price_minor, currency } = order;
  const [subject, says] = ORDER_TEXTS[step](order);
  const price = `${(price_minor / 100).toFixed(2)} ${currency}`;
  const ordered = `Order ${order_id}: ${pack_name}, ${counted(credits, 'credit', 'credits')}, ${price}.`;
  return changeMail(about, {
    subject,
    says: [ordered, says],
    linkFor: 'The order',
    path: `/account/orders/${order_id}`,
    unexpected: step === 'placed' ? ORDER_UNEXPECTED : UNEXPECTED,
  });
}

/** A key as mails name it; `reason` is what an operator states, or empty. */
type ToldKey = Pick<KeyRecord, 'key_id' | 'label' | 'last4' | 'state' | 'expires_at_ms'> & { reason: string };

const describeKey = ({ key_id, label, last4 }: Omit<ToldKey, 'reason'>): string =>
  `The key ${key_id}, which ends with ${last4}${label === '' ? '' : ` (${label})`},`;

/** A mail whose reader may have to revoke the key. */
const keyMail = (
  about: Circumstances,
  { key_id }: Pick<ToldKey, 'key_id'>,
  text: Pick<ChangeText, 'subject' | 'says'> & { linkFor?: string },
): Mail =>
  changeMail(about, {
    linkFor: 'The key',
    path: `/account/keys/${key_id}`,
    ...text,
    unexpected:
      'If it was neither you nor somebody of your account, revoke the key at once, choose a new password, and write to the address below.',
  });

const reasonLine = (reason: string): string[] => (reason === '' ? [] : [`The reason: ${reason}`]);

export const keyMails = {
  created: (key: ToldKey, about: Circumstances): Mail =>
    keyMail(about, key, {
      subject: 'A key was created',
      says: [
        `${describeKey(key)} can spend the credits of your account. Expires: ${mailMoment(key.expires_at_ms)}.`,
      ],
    }),
  rotated: (key: ToldKey, about: Circumstances): Mail =>
    keyMail(about, key, {
      subject: 'A key was replaced',
      says: [
        key.state === 'active'
          ? `${describeKey(key)} was replaced by a new one. It works until ${mailMoment(key.expires_at_ms)}; use the new one from then on.`
          : `${describeKey(key)} was replaced by a new one, and is refused from now on.`,
      ],
      linkFor: 'The key that was replaced',
    }),
  revoked: (key: ToldKey, about: Circumstances): Mail =>
    changeMail(about, {
      subject: 'A key was revoked',
      says: [
        `${describeKey(key)} is refused from now on. Other keys still work, and you can make a new one.`,
        ...reasonLine(key.reason),
      ],
      linkFor: 'Your keys',
      path: '/account/keys',
      unexpected: UNEXPECTED,
    }),
} as const satisfies Record<KeyChange, unknown>;

/** @param days 7 or 1: it expires within so many days */
export const keyExpires = (key: Omit<ToldKey, 'reason'>, days: number, about: Circumstances): Mail =>
  keyMail(about, key, {
    subject: days === 1 ? 'A key expires within a day' : `A key expires within ${days} days`,
    says: [
      `${describeKey(key)} expires at ${mailMoment(key.expires_at_ms)} and is refused from then on.`,
      'Make a new key before, and use it instead.',
    ],
  });

/** A connected host as mails name it. */
export interface ToldConnection {
  connection_id: string;
  /** Who allowed it. */
  person_id: string;
  client_name: string;
  host: string;
  monthly_limit: number;
  expires_at_ms: number;
  ended_because: string | null;
}

const CONNECTIONS = { linkFor: 'Your connections', path: '/account/connections' } as const;

export const connectionMade = (
  { client_name, host, monthly_limit, expires_at_ms }: ToldConnection,
  about: Circumstances,
): Mail =>
  changeMail(about, {
    subject: 'A host was connected',
    says: [
      `${client_name} (${host}) can read figures and spend up to ${counted(monthly_limit, 'credit', 'credits')} of your account a month. Ends: ${mailMoment(expires_at_ms)}.`,
    ],
    ...CONNECTIONS,
    unexpected:
      'If it was neither you nor somebody of your account, end the connection at once, choose a new password, and write to the address below.',
  });

/** Words of `ended_because` that a reader cannot have brought about. */
const STOLEN = ['code_replayed', 'refresh_reused'];

/** @param reason of an operator, or empty */
export function connectionEnded(
  { client_name, host, ended_because }: ToldConnection,
  reason: string,
  about: Circumstances,
): Mail {
  const isStolen = STOLEN.includes(ended_because ?? '');
  return changeMail(about, {
    subject: 'A connection has ended',
    says: [
      `${client_name} (${host}) is refused from now on. To use it again, connect it anew there.`,
      ...(isStolen
        ? [
            'What it signs in with was used a second time, so somebody may have copied it. The connection was ended for that.',
          ]
        : []),
      ...reasonLine(reason),
    ],
    ...CONNECTIONS,
    unexpected: UNEXPECTED,
  });
}

export const passwordChanged = (about: Circumstances): Mail =>
  changeMail(about, {
    subject: 'Your password was changed',
    says: ['The password of your Almanac account was changed. Other sessions have ended.'],
    linkFor: 'If it was not you, choose a new password at once, which ends all sessions',
    path: '/account/forgot',
    unexpected: 'Then write to the address below.',
  });

export const accountSuspended = (about: Circumstances): Mail =>
  changeMail(about, {
    subject: 'Your account is suspended',
    says: [
      'All keys of your Almanac account are refused until the suspension ends. Balance, keys and data are kept, and you can still sign in.',
    ],
    linkFor: 'Your account',
    path: '/account/',
    unexpected: 'To learn why, or to have it ended, write to the address below.',
  });

export const accountRestored = (about: Circumstances): Mail =>
  changeMail(about, {
    subject: 'The suspension of your account has ended',
    says: ['The keys of your Almanac account work again.'],
    linkFor: 'Your account',
    path: '/account/',
    unexpected: 'If anything does not work, write to the address below.',
  });

export const ownershipMoved = (owner: string, about: Circumstances): Mail =>
  changeMail(about, {
    subject: 'The ownership of an account was moved',
    says: [
      `${owner} owns this Almanac account from now on: mails about it go there, and only its owner can manage members, close the account and have it erased.`,
      `The former owner is a member with the role ${FORMER_OWNER}. Open invitations have ended.`,
    ],
    linkFor: 'The members',
    path: '/account/members',
    unexpected: 'If you did not expect this, write to the address below at once.',
  });

/** @param forfeited what the account had */
export const accountClosed = (about: Circumstances, forfeited: { credits: number; keys: number }): Mail =>
  changeMail(about, {
    subject: 'Your account is closed',
    says: [
      'Your Almanac account is closed for good.',
      `Forfeited: ${counted(forfeited.credits, 'credit that was', 'credits that were')} not spent, and ${counted(forfeited.keys, 'key, which is', 'keys, which are')} revoked.`,
      'Your data is kept until you have it erased. Ledger, orders and usage stay after that, under an id that names nobody, and invoices as they were issued.',
    ],
    linkFor: 'Sign in to download your data, or to have it erased',
    path: '/account/data',
    unexpected: 'If it was not you, write to the address below at once.',
  });
