/**
 * Mail, through SMTP. Without a server to hand it to, each mail is written as an `.eml` file that any mail program
 * opens, and the link in it is logged: a service on one's own machine can be tried whole.
 *
 * Names of files begin with the time and hold a digest of the address, so that an erasure finds what it must delete.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import type { Settings } from '../../../data/runtime/settings.ts';
import { addressDigest } from '../../../data/schema/redis-keys.ts';

export interface Mail {
  to: string;
  subject: string;
  text: string;
  /** The link that the text is about; logged where no mail can be sent. */
  link: string | null;
}

export interface Mailer {
  /** Said at the start: what becomes of mail. */
  readonly description: string;
  /** Hands one mail over; rejects when it was not taken. */
  send(mail: Mail): Promise<void>;
  /** Deletes what is kept here of mails to an address. */
  deleteFor(address: string): Promise<void>;
}

const SMTP_TIMEOUT_MS = 15_000;
const DIGEST_SHOWN = 16;

export function createMailer(
  settings: Pick<Settings, 'SMTP_URL' | 'MAIL_FROM' | 'VAR_DIR'>,
  { now, log }: { now: () => number; log: Logger },
): Mailer {
  const { SMTP_URL: url, MAIL_FROM: from } = settings;
  return url === undefined
    ? fileMailer(join(settings.VAR_DIR, 'mail'), from, now, log)
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
    description: `Mail goes out through ${new URL(url).host}`,
    async send({ to, subject, text }) {
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text });
    },
    async deleteFor() {},
  };
}

function fileMailer(directory: string, from: string, now: () => number, log: Logger): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true });
  return {
    description: `No SMTP_URL is set: mails are written to ${directory}, and their links are logged`,
    async send({ to, subject, text, link }) {
      const date = new Date(now());
      const { message } = await transport.sendMail({
        from,
        to: { name: '', address: to },
        subject,
        text,
        date,
      });
      const stamp = date.toISOString().replaceAll(/[:.]/g, '-');
      const file = join(directory, `${stamp}-${digestWord(to)}-${randomBytes(4).toString('hex')}.eml`);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await writeFile(file, message as Buffer, { mode: 0o600, flag: 'wx' });
      log.info({ file, subject, link }, 'a mail was written; without SMTP_URL none is sent');
    },
    async deleteFor(address) {
      const word = `-${digestWord(address)}-`;
      const names = await readdir(directory).catch(() => []);
      const theirs = names.filter((name) => name.includes(word));
      await Promise.all(theirs.map((name) => rm(join(directory, name), { force: true })));
    },
  };
}

const digestWord = (address: string): string => addressDigest(address).slice(0, DIGEST_SHOWN);
