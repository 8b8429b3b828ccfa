/** What mails say. Plain text: it shows everywhere, and hides no address behind another. */
import type { Mail } from './mailer.ts';

const count = new Intl.NumberFormat('en');

const signed = (...paragraphs: string[]): string => `${[...paragraphs, 'Almanac'].join('\n\n')}\n`;

export const confirmAddress = (to: string, link: string): Mail => ({
  to,
  subject: 'Confirm your e-mail address',
  link,
  text: signed(
    'Somebody, most likely you, wants an Almanac account with this e-mail address. To confirm, open:',
    link,
    'The link works once, for 24 hours. If it was not you, do nothing: without it there will be no account.',
  ),
});

export const accountExists = (to: string, link: string): Mail => ({
  to,
  subject: 'You already have an account',
  link,
  text: signed(
    'Somebody, most likely you, wanted a new Almanac account with this e-mail address. There is one already: sign in, or ask for a new password, at:',
    link,
    'If it was not you, do nothing: nothing was changed.',
  ),
});

export const resetPassword = (to: string, link: string): Mail => ({
  to,
  subject: 'Choose a new password',
  link,
  text: signed(
    'Somebody, most likely you, wants a new password for your Almanac account. To choose one, open:',
    link,
    'The link works once, for one hour. If it was not you, do nothing: your password stays as it is.',
  ),
});

export const lowBalance = (to: string, link: string, balance: number, low_at: number): Mail => ({
  to,
  subject: `Your balance is below ${count.format(low_at)} credits`,
  link,
  text: signed(
    `Your Almanac account has ${count.format(balance)} credits left. You asked to be told when it has fewer than ${count.format(low_at)}.`,
    `Buy credits, or change when you are told, at:\n\n${link}`,
  ),
});

export const exportReady = (to: string, link: string): Mail => ({
  to,
  subject: 'Your data is ready',
  link,
  text: signed(
    'Everything that Almanac holds about you is ready. Sign in and download it within seven days:',
    link,
  ),
});
