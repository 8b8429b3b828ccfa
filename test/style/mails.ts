/** Every mail that the service sends, made once by its template: the table of mails in `docs/accounts.md`. */
import * as alerts from '../../gateway/commerce/notifications/mail/alert-templates.ts';
import * as notices from '../../gateway/commerce/notifications/mail/change-mails.ts';
import type { Mail } from '../../gateway/commerce/notifications/mail/mailer.ts';
import * as templates from '../../gateway/commerce/notifications/mail/templates.ts';
import type { OrderRecord } from '../../gateway/commerce/store/records.ts';

/** A mail, when it is sent and to whom. */
export interface KnownMail {
  mail: Mail;
  when: string;
  to: string;
}

const TO = 'ann@example.org';
const LINK = 'https://almanac.example/account/';
const about = {
  to: TO,
  facts: ['By: you'],
  publicUrl: 'https://almanac.example',
  contact: 'help@almanac.example',
};
const key = {
  key_id: '0123456789ab',
  label: 'notebook',
  last4: 'wxyz',
  reason: '',
  ...({ state: 'active', expires_at_ms: null } as const),
};
const connection = {
  connection_id: 'con_1',
  person_id: 'per_1',
  client_name: 'Claude',
  host: 'claude.ai',
  monthly_limit: 1_000,
  expires_at_ms: 0,
  ended_because: 'person',
};
const order: OrderRecord = {
  order_id: 'ord_1',
  account_id: 'acc_1',
  state: 'pending',
  pack_id: 'starter',
  pack_name: 'Starter',
  credits: 10_000,
  price_minor: 900,
  currency: 'EUR',
  payment: 'invoice',
  by: '',
  created_at_ms: 0,
  moved_at_ms: 0,
  shortfall: 0,
};

const ASKED = 'the address that was entered';
const PERSON = 'the person';
const OWNER = 'owner';
const ORDER = 'owner and billing members';
const KEY = "owner and the key's maker";
const CONNECTION = 'owner and who allowed it';
const OPERATOR = 'the operator';
const ALERTS = '`OPERATOR_ALERT_EMAIL`';

const alert = { id: 'alert_1', at: '2026-11-23T12:00:00Z', begun: [], ended: [] };
const condition = { condition: 'c', severity: 'high', since: null, url: LINK };

const known = (mail: Mail, when: string, to: string): KnownMail => ({ mail, when, to });

const security = (event: templates.SecurityEvent, when: string): KnownMail =>
  known(templates.securityNotice(TO, LINK, event, ''), when, PERSON);
const orderStep = (step: notices.OrderStep, when: string): KnownMail =>
  known(notices.orderChanged(step, order, about), when, ORDER);
const keyChange = (change: keyof typeof notices.keyMails, when: string): KnownMail =>
  known(notices.keyMails[change](key, about), when, KEY);

type Templates = Omit<typeof templates, 'SECURITY_EVENTS'> &
  Omit<typeof notices, 'mailMoment' | 'accountLine'> &
  typeof alerts;

/** By template: one that is missing here, or no longer exists, is an error of types. */
export const MAILS: Readonly<Record<keyof Templates, readonly KnownMail[]>> = {
  confirmAddress: [known(templates.confirmAddress(TO, LINK), 'sign-up', ASKED)],
  accountExists: [
    known(templates.accountExists(TO, LINK), 'sign-up, or change to an address, that somebody has', ASKED),
  ],
  resetPassword: [known(templates.resetPassword(TO, LINK), 'a new password is asked for', ASKED)],
  signInLink: [known(templates.signInLink(TO, LINK), 'a sign-in link is asked for', ASKED)],
  passwordChanged: [known(notices.passwordChanged(about), 'a password is changed or reset', PERSON)],
  confirmNewAddress: [
    known(templates.confirmNewAddress(TO, LINK), 'a change of address is asked for', 'the new address'),
  ],
  addressChanged: [
    known(
      templates.addressChanged(TO, TO, TO, null),
      'the address is changed, or changed back',
      'both addresses',
    ),
  ],
  securityNotice: [
    security('second_factor_turned_on', 'a second factor is set up'),
    security('second_factor_turned_off', 'it is turned off'),
    security('second_factor_cleared', 'an operator turns it off, with the reason'),
    security('second_factor_codes_renewed', 'recovery codes are made anew'),
    security('recovery_code_used', 'somebody signs in with a recovery code'),
  ],
  invitation: [
    known(
      templates.invitation(TO, LINK, { account: 'Ann', sender: '(owner)', role: 'viewer' }),
      'an owner invites a member',
      'the invited address',
    ),
  ],
  orderChanged: [
    orderStep('placed', 'an order is placed'),
    orderStep('paid', 'its payment arrives'),
    orderStep('failed', 'its payment fails'),
    orderStep('cancelled', 'it is cancelled, or its payment page expires'),
    orderStep('refunded', 'it is refunded'),
  ],
  lowBalance: [
    known(
      templates.lowBalance(TO, LINK, 90, 100),
      'the balance falls below the threshold of the alert',
      OWNER,
    ),
  ],
  keyMails: [
    keyChange('created', 'a key is made'),
    keyChange('rotated', 'a key is replaced'),
    keyChange('revoked', 'a key is revoked; with the reason if an operator did it'),
  ],
  keyExpires: [
    known(notices.keyExpires(key, 7, about), '7 days before a key expires, once', KEY),
    known(notices.keyExpires(key, 1, about), '1 day before a key expires, once', KEY),
  ],
  connectionMade: [known(notices.connectionMade(connection, about), 'a host is connected', CONNECTION)],
  connectionEnded: [
    known(
      notices.connectionEnded(connection, '', about),
      'a connection is ended by a person or an operator, with the reason, or because its code or refresh token came twice',
      CONNECTION,
    ),
  ],
  accountSuspended: [known(notices.accountSuspended(about), 'an operator suspends the account', OWNER)],
  accountRestored: [known(notices.accountRestored(about), 'the suspension ends', OWNER)],
  accountClosed: [
    known(
      notices.accountClosed(about, { credits: 500, keys: 2 }),
      'the account is closed; says what is forfeited',
      OWNER,
    ),
  ],
  ownershipMoved: [
    known(
      notices.ownershipMoved(TO, about),
      'the owner moves the ownership to a member',
      'former and new owner',
    ),
  ],
  webhookDisabled: [
    known(
      templates.webhookDisabled(TO, LINK, LINK, 'gone'),
      'a webhook answers 410, or fails for days',
      OWNER,
    ),
  ],
  exportReady: [known(templates.exportReady(TO, LINK), 'a copy of the data is ready', OWNER)],
  operatorInvitation: [
    known(templates.operatorInvitation(TO, LINK, TO), 'somebody is invited to the operator area', OPERATOR),
  ],
  operatorPassword: [
    known(templates.operatorPassword(TO, LINK, TO), 'an owner of the area asks for a new password', OPERATOR),
  ],
  operatorSecondFactor: [
    known(
      templates.operatorSecondFactor(TO, LINK, 'turned_on'),
      "an operator's second factor is set up, turned off, or its codes are made anew",
      OPERATOR,
    ),
  ],
  spendingAbove: [
    known(
      alerts.spendingAbove(TO, LINK, {
        spent: 600,
        threshold: 500,
        per: 'hour',
        since: '2026-11-23T12:00:00Z',
      }),
      'calls of an hour or day cost more than set, if asked for; once for each',
      OWNER,
    ),
  ],
  indicatorsChanged: [
    known(
      alerts.indicatorsChanged(TO, LINK, {
        edition: '(snapshot)',
        published_at: '2026-11-23T02:00:00Z',
        changed: [{ indicator: '(id)', change: 'withdrawn' }],
      }),
      'a new snapshot revises, renames or withdraws indicators used in the last 30 days',
      OWNER,
    ),
  ],
  operatorAlert: [
    known(
      alerts.operatorAlert(TO, {
        ...alert,
        isTest: false,
        begun: [{ ...condition, what: '(what needs attention)' }],
      }),
      'a condition begins',
      ALERTS,
    ),
    known(
      alerts.operatorAlert(TO, {
        ...alert,
        isTest: false,
        ended: [{ ...condition, what: '(what needed attention)' }],
      }),
      'it ends',
      ALERTS,
    ),
    known(alerts.operatorAlert(TO, { ...alert, isTest: true }), 'an operator asks for a test', ALERTS),
  ],
};
