/**
 * Mail through SMTP. Without SMTP_URL, each mail is written as an `.eml` file, and outside production its link is
 * logged, so that sign-up can be tried without a mail server. File names contain a digest of the address, so that an
 * erasure can delete them.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import { isProduction, type Settings } from '../../../../data/runtime/settings.ts';
import { addressDigest } from '../../../../data/schema/redis-keys.ts';

export interface Mail {
  to: string;
  subject: string;
  text: string;
  /** The link in the text; logged if mails are written to files. */
  link: string | null;
  /** The same each time that the mail is sent, so that a mailbox can drop the second; default: a new one. */
  id?: string;
}

/** A mail of paragraphs. */
export const letter = (
  frame: Pick<Mail, 'to' | 'subject' | 'link' | 'id'>,
  ...paragraphs: string[]
): Mail => ({
  ...frame,
  text: `${[...paragraphs, 'Almanac'].join('\n\n')}\n`,
});

export interface Mailer {
  /** One sentence for the start-up banner: where mails go. */
  readonly description: string;
  /** False when mails are only written to files. */
  readonly delivers: boolean;
  /** Rejects if the server did not accept the mail. */
  send(mail: Mail): Promise<void>;
  /** Deletes stored mails to an address. */
  deleteFor(address: string): Promise<void>;
}

const SMTP_TIMEOUT_MS = 15_000;
const DIGEST_LENGTH = 16;

export function createMailer(
  settings: Pick<Settings, 'SMTP_URL' | 'MAIL_FROM' | 'VAR_DIR' | 'NODE_ENV'>,
  { now, log }: { now: () => number; log: Logger },
): Mailer {
  const { SMTP_URL: url, MAIL_FROM: from } = settings;
  return url === undefined
    ? fileMailer(join(settings.VAR_DIR, 'mail'), from, { now, log, logsLinks: !isProduction(settings) })
    : smtpMailer(url, from);
}

function smtpMailer(url: string, from: string): Mailer {
  const transport = createTransport({
    url,
    connectionTimeout: SMTP_TIMEOUT_MS,
    greetingTimeout: SMTP_TIMEOUT_MS,
    socketTimeout: SMTP_TIMEOUT_MS,
  });
  return {
    description: `Mail is sent through ${new URL(url).host}`,
    delivers: true,
    async send({ to, subject, text, id }) {
      const messageId = messageIdOf(from, id);
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text, ...messageId });
    },
    async deleteFor() {},
  };
}

function fileMailer(
  directory: string,
  from: string,
  { now, log, logsLinks }: { now: () => number; log: Logger; logsLinks: boolean },
): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true });
  return {
    description: `SMTP_URL is not set: mails are written to ${directory}${logsLinks ? ' and their links are logged' : ''}`,
    delivers: false,
    async send({ to, subject, text, link, id }) {
      const date = new Date(now());
      const { message } = await transport.sendMail({
        from,
        to: { name: '', address: to },
        subject,
        text,
        date,
        ...messageIdOf(from, id),
      });
      const stamp = date.toISOString().replaceAll(/[:.]/g, '-');
      const file = join(directory, `${stamp}-${shortDigest(to)}-${randomBytes(4).toString('hex')}.eml`);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await writeFile(file, message as Buffer, { mode: 0o600, flag: 'wx' });
      log.info(
        { file, subject, ...(logsLinks && { link }) },
        'mail written to a file, because SMTP_URL is not set',
      );
    },
    async deleteFor(address) {
      const digest = `-${shortDigest(address)}-`;
      const names = await readdir(directory).catch(() => []);
      const matching = names.filter((name) => name.includes(digest));
      await Promise.all(matching.map((name) => rm(join(directory, name), { force: true })));
    },
  };
}

/** Nodemailer's option; none where the mail has no id. */
const messageIdOf = (from: string, id: string | undefined): { messageId?: string } =>
  id === undefined ? {} : { messageId: `<${id}@${/@([^\s>]+)/.exec(from)?.[1] ?? 'localhost'}>` };

const shortDigest = (address: string): string => addressDigest(address).slice(0, DIGEST_LENGTH);
