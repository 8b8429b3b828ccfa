/** The mails that the service sends. Plain text is readable everywhere and cannot hide a link's target. */
import { letter, type Mail } from './mailer.ts';

const count = new Intl.NumberFormat('en');

/** A mail that leads to a link, between what was asked for and what to do about it. */
const linkMail =
  (subject: string, says: string, advice: string) =>
  (to: string, link: string): Mail =>
    letter({ to, subject, link }, says, link, advice);

export const confirmAddress = linkMail(
  'Confirm your e-mail address',
  'Somebody, probably you, asked for an Almanac account with this e-mail address. To confirm, open:',
  'The link works once, within 24 hours. If it was not you, do nothing; no account will be created.',
);

export const accountExists = linkMail(
  'You already have an account',
  'Somebody, probably you, asked for a new Almanac account with this e-mail address. You already have one. Sign in or reset your password at:',
  'If it was not you, do nothing; nothing was changed.',
);

export const resetPassword = linkMail(
  'Choose a new password',
  'Somebody, probably you, asked for a new password for your Almanac account. To choose one, open:',
  'The link works once, within one hour. If it was not you, do nothing; your password stays unchanged.',
);

export const signInLink = linkMail(
  'Your sign-in link',
  'Somebody, probably you, asked for a link to sign in to your Almanac account without a password. To sign in, open:',
  'The link works once, within 30 minutes. If it was not you, do nothing, and give the link to nobody.',
);

export const confirmNewAddress = linkMail(
  'Confirm your new e-mail address',
  'Somebody, probably you, wants to sign in to an Almanac account with this e-mail address from now on. To confirm, open:',
  'The link works once, within 24 hours. If it was not you, do nothing; nothing is changed.',
);

/** @param undo the link that takes the change back; null for the address that needs none */
export const addressChanged = (to: string, from: string, now: string, undo: string | null): Mail =>
  letter(
    { to, subject: 'Your e-mail address was changed', link: undo },
    `The e-mail address of your Almanac account was changed from ${from} to ${now}. All sessions have ended.`,
    ...(undo === null ? [] : [`If it was not you, take it back within seven days:\n\n${undo}`]),
  );

export const invitation = (
  to: string,
  link: string,
  { account, sender, role }: { account: string; sender: string; role: string },
): Mail =>
  letter(
    { to, subject: `${sender} invites you to Almanac`, link },
    `${sender} invites you to the Almanac account ${account}, as ${role}. To accept, open:`,
    link,
    'The link works once, within seven days. If you do not know the sender, do nothing.',
  );

/** What a security notice tells the holder of an address. */
export const SECURITY_EVENTS = {
  second_factor_turned_on: {
    subject: 'Your second factor is on',
    text: 'Signing in to your Almanac account now asks for a code of your authenticator app.',
  },
  second_factor_turned_off: {
    subject: 'Your second factor is off',
    text: 'Signing in to your Almanac account no longer asks for a code of your authenticator app.',
  },
  second_factor_cleared: {
    subject: 'Your second factor was turned off for you',
    text: 'An operator of Almanac turned your second factor off. Signing in asks for your password alone until you set it up anew.',
  },
  second_factor_codes_renewed: {
    subject: 'You have new recovery codes',
    text: 'New recovery codes were made for your Almanac account. The earlier ones no longer work.',
  },
  recovery_code_used: {
    subject: 'A recovery code was used',
    text: 'Somebody, probably you, signed in to your Almanac account with a recovery code. It works only once.',
  },
} as const;
export type SecurityEvent = keyof typeof SECURITY_EVENTS;

/** @param reason what an operator states, or empty */
export const securityNotice = (to: string, link: string, event: SecurityEvent, reason: string): Mail =>
  letter(
    { to, subject: SECURITY_EVENTS[event].subject, link },
    SECURITY_EVENTS[event].text,
    ...(reason === '' ? [] : [`The reason: ${reason}`]),
    `If it was not you, choose a new password at once, which ends all sessions:\n\n${link}`,
  );

export const lowBalance = (to: string, link: string, balance: number, low_at: number): Mail =>
  letter(
    { to, subject: `Your balance is below ${count.format(low_at)} credits`, link },
    `Your Almanac account has ${count.format(balance)} credits left. You asked to be notified when it has fewer than ${count.format(low_at)}.`,
    `Buy credits or change this alert at:\n\n${link}`,
  );

export const exportReady = (to: string, link: string): Mail =>
  letter(
    { to, subject: 'Your data is ready', link },
    'A copy of all data that Almanac stores about you is ready. Sign in and download it within seven days:',
    link,
  );

export const operatorInvitation = (to: string, link: string, by: string): Mail =>
  letter(
    { to, subject: 'You are invited to the operator area', link },
    `${by} invites you to the operator area of Almanac. To choose a password, open:`,
    link,
    'The link works once, within seven days. If you did not expect it, do nothing, and give the link to nobody.',
  );

export const operatorPassword = (to: string, link: string, by: string): Mail =>
  letter(
    { to, subject: 'Choose a new password for the operator area', link },
    `${by} asks you to choose a new password for the operator area of Almanac. To do so, open:`,
    link,
    'The link works once, within one day. Until then your password stays unchanged.',
  );

const OPERATOR_FACTOR_CHANGES = {
  turned_on: 'Signing in to the operator area now asks for a code of your authenticator app.',
  turned_off: 'Signing in to the operator area no longer asks for a code of your authenticator app.',
  codes_renewed: 'New recovery codes were made for the operator area. The earlier ones no longer work.',
} as const;

export const operatorSecondFactor = (
  to: string,
  link: string,
  change: keyof typeof OPERATOR_FACTOR_CHANGES,
): Mail =>
  letter(
    { to, subject: 'Your second factor for the operator area was changed', link },
    OPERATOR_FACTOR_CHANGES[change],
    `You see it at:\n\n${link}`,
    'If it was not you, tell an owner of the operator area at once.',
  );

const DISABLED_BECAUSE = {
  gone: 'It answered 410 Gone.',
  failures: 'It has done nothing but fail for five days.',
} as const;

export const webhookDisabled = (
  to: string,
  link: string,
  url: string,
  because: keyof typeof DISABLED_BECAUSE,
): Mail =>
  letter(
    { to, subject: 'One of your webhooks is disabled', link },
    `We no longer send events of your Almanac account to ${url}. ${DISABLED_BECAUSE[because]}`,
    `You see what was not delivered, and can enable the webhook again, at:\n\n${link}`,
  );
