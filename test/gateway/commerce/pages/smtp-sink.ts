/** A real SMTP server that keeps what it accepts, read as a mail program reads it. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import PostalMime from 'postal-mime';
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server';
import type { Mail } from '../../../../gateway/commerce/notifications/mail/mailer.ts';

export interface ReceivedMail extends Mail {
  /** The message as it was sent, with headers. */
  raw: string;
}

export interface SmtpSink {
  mails: ReceivedMail[];
  /** While `down`, every mail is deferred. */
  state: { down: boolean };
  url: string;
  stop(): Promise<void>;
}

interface SinkOptions {
  /** Recipients that have no mailbox. */
  refused?: readonly string[];
  /** Called with each mail, before it is acknowledged. */
  receive?: (mail: ReceivedMail) => Promise<void>;
}

/** A line that is a link and nothing else, as templates write it. */
const LINK_LINE = /^https?:\/\/\S+$/m;

const reply = (responseCode: number, text: string): Error => Object.assign(new Error(text), { responseCode });

export async function startSmtpSink({ refused = [], receive }: SinkOptions = {}): Promise<SmtpSink> {
  const mails: ReceivedMail[] = [];
  const state = { down: false };
  const take = async (stream: SMTPServerDataStream, to: string): Promise<void> => {
    const raw = await buffer(stream);
    const { subject = '', text = '' } = await PostalMime.parse(raw);
    const link = LINK_LINE.exec(text)?.[0] ?? null;
    const mail = { to, subject, text, link, raw: raw.toString() };
    mails.push(mail);
    await receive?.(mail);
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    // Mailers may keep connections.
    closeTimeout: 1,
    onRcptTo({ address }, _session, done) {
      if (state.down) done(reply(451, 'Try again later'));
      else done(refused.includes(address) ? reply(550, 'No such user') : null);
    },
    onData(stream, { envelope }, done) {
      take(stream, envelope.rcptTo[0]?.address ?? '').then(() => done(null), done);
    },
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    mails,
    state,
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
