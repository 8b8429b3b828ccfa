/** A fake SMTP server on a real socket. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** Accepts mails except to `refused` recipients, and none while `state.down` is set. */
export async function startFakeSmtp(refused: string[] = []) {
  const mails: { to: string; text: string }[] = [];
  const state = { down: false };
  const replyTo = (recipient: string): string => {
    if (state.down) return '451 try again later';
    return refused.includes(recipient) ? '550 no such user' : '250 yes';
  };
  const serve = (socket: Socket): void => {
    const say = (line: string) => socket.write(`${line}\r\n`);
    const mail = { to: '', text: '' };
    let inData = false;
    const take = (): void => {
      mails.push({ ...mail });
      say('250 taken');
    };
    say('220 fake');
    createInterface({ input: socket }).on('line', (line) => {
      if (inData) {
        inData = line !== '.';
        if (inData) mail.text += `${line}\n`;
        else take();
      } else if (/^RCPT TO/i.test(line)) {
        mail.to = /<(.*)>/.exec(line)?.[1] ?? '';
        say(replyTo(mail.to));
      } else if (/^DATA/i.test(line)) {
        inData = true;
        say('354 go on');
      } else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
      else say('250 yes');
    });
    socket.on('error', () => {});
  };
  const server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    mails,
    state,
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => server.close(),
  };
}
