/** A stand-in for an SMTP server, over a real socket. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * Takes mails as the first mail server would; refuses the recipients that are named, and everybody while it is `down`.
 */
export async function startFakeSmtp(refused: string[] = []) {
  const letters: { to: string; text: string }[] = [];
  const state = { down: false };
  const answerTo = (recipient: string): string => {
    if (state.down) return '451 come again';
    return refused.includes(recipient) ? '550 nobody here' : '250 yes';
  };
  const serve = (socket: Socket): void => {
    const say = (line: string) => socket.write(`${line}\r\n`);
    const letter = { to: '', text: '' };
    let inData = false;
    const take = (): void => {
      letters.push({ ...letter });
      say('250 taken');
    };
    say('220 stand-in');
    createInterface({ input: socket }).on('line', (line) => {
      if (inData) {
        inData = line !== '.';
        if (inData) letter.text += `${line}\n`;
        else take();
      } else if (/^RCPT TO/i.test(line)) {
        letter.to = /<(.*)>/.exec(line)?.[1] ?? '';
        say(answerTo(letter.to));
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
    letters,
    state,
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => server.close(),
  };
}
