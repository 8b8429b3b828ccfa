/** Mail to a real SMTP server, and as files without a server. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createMailer } from '../../../../gateway/commerce/notifications/mail/mailer.ts';
import { confirmAddress, lowBalance } from '../../../../gateway/commerce/notifications/mail/templates.ts';
import { useDirectory } from '../../../after-tests.ts';
import { silentLog } from '../../../redis.ts';
import { startSmtpSink } from './smtp-sink.ts';

const now = (): number => Date.UTC(2026, 10, 21, 12);
const LINK = 'https://almanac.example/account/confirm/abc';
const directory = await useDirectory();
const SETTINGS = {
  SMTP_URL: undefined,
  MAIL_FROM: 'a@almanac.example',
  VAR_DIR: directory,
  NODE_ENV: 'test',
};

describe('with SMTP_URL', () => {
  it('sends a plain-text mail from MAIL_FROM with an unbroken link', async () => {
    const smtp = await startSmtpSink();
    const from = 'Almanac <hello@almanac.example>';
    const settings = { ...SETTINGS, SMTP_URL: smtp.url, MAIL_FROM: from };
    const mailer = createMailer(settings, { now, log: silentLog });
    await mailer.send(confirmAddress('ann@example.org', LINK));
    await smtp.stop();
    const [mail] = smtp.mails;
    expect(mail?.to).toBe('ann@example.org');
    expect(mail?.raw).toContain(`From: ${from}`);
    expect(mail?.subject).toBe('Confirm your e-mail address');
    expect(mail?.text).toContain(`\n${LINK}\n`);
    expect(mail?.link).toBe(LINK);
    expect(mailer.description).toContain(new URL(smtp.url).host);
  });

  it('fails when the server rejects a mail, so that the job is retried', async () => {
    const smtp = await startSmtpSink({ refused: ['nobody@example.org'] });
    const mailer = createMailer({ ...SETTINGS, SMTP_URL: smtp.url }, { now, log: silentLog });
    await expect(mailer.send(confirmAddress('nobody@example.org', LINK))).rejects.toThrow('550');
    await smtp.stop();
  });
});

describe('without SMTP_URL', () => {
  it('writes a file that only its owner can read, logs the link, and deletes the file on erasure', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
    const mailer = createMailer(SETTINGS, { now, log });
    await mailer.send(confirmAddress('ann@example.org', LINK));
    await mailer.send(lowBalance('bob@example.org', LINK, 3, 10));
    const mails = join(directory, 'mail');
    const [first = ''] = await readdir(mails);
    expect(first).toMatch(/^2026-11-21T12-00-00-000Z-.*\.eml$/);
    expect((await stat(join(mails, first))).mode & 0o777).toBe(0o600);
    const texts = await Promise.all(
      (await readdir(mails)).map((name) => readFile(join(mails, name), 'utf8')),
    );
    expect(texts.some((text) => text.includes('To: ann@example.org') && text.includes(LINK))).toBe(true);
    expect(lines.join('')).toContain(LINK);
    expect(lines.join('')).not.toContain('ann@example.org');
    expect(mailer.description).toContain(mails);
    await mailer.deleteFor('ANN@example.org');
    expect(await readdir(mails)).toHaveLength(1);
  });

  it('logs no link in production', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
    const mailer = createMailer({ ...SETTINGS, NODE_ENV: 'production' }, { now, log });
    await mailer.send(confirmAddress('ann@example.org', LINK));
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain(LINK);
    expect(mailer.description).not.toContain('logged');
  });
});
