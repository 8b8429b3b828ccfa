/** The frame of a mail that tells of a change: what, who, when, what to do if it was not expected, where to ask. */
import type { Mail } from './mailer.ts';

export interface Circumstances {
  /** Lines that say who did it and when, and in which account. */
  facts: readonly string[];
  /** Public base URL, without a trailing slash. */
  publicUrl: string;
  /** Address to write to, or the page that has one. */
  contact: string;
}

export interface NoticeText {
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
export const momentOf = (ms: number | null): string =>
  ms === null ? 'never' : `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

export function noticeMail(
  to: string,
  { subject, says, linkFor, path, unexpected }: NoticeText,
  { facts, publicUrl, contact }: Circumstances,
): Mail {
  const link = `${publicUrl}${path}`;
  const paragraphs = [
    ...says,
    facts.join('\n'),
    `${linkFor}:\n\n${link}`,
    unexpected,
    `Questions: ${contact}`,
    'Almanac',
  ];
  return { to, subject, link, text: `${paragraphs.join('\n\n')}\n` };
}
