/** Webhooks reach addresses of the public internet alone, whatever a name resolves to. */
import { lookup } from 'node:dns';
import { describe, expect, it } from 'vitest';
import {
  isPrivateHost,
  isPublicAddress,
  type Lookup,
  publicLookup,
} from '../../../../data/runtime/public-addresses.ts';
import { isWebhookPort, WebhookSender } from '../../../../gateway/commerce/notifications/webhooks/sender.ts';
import { startReceiver } from './receiver.ts';

const NOT_PUBLIC = [
  ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '100.127.255.254', '127.0.0.1', '127.1.2.3', '169.254.169.254'],
  ...['172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1'],
  ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
  ...[
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '0:0:0:0:0:ffff:a00:1',
    '::ffff:a9fe:a9fe',
  ],
  ...['64:ff9b::a00:1', '64:ff9b:1::1', '100::1', '2001::1', '2001:db8::1', '2002:a00:1::1', 'fc00::1'],
  ...['fd00:ec2::254', 'fe80::1', 'fec0::1', 'ff02::1', '5f00::1', '4000::1'],
];
const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '2606:4700::1111',
  '2a00:1450::1',
  '::ffff:8.8.8.8',
];

it.each(NOT_PUBLIC)('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

it.each(PUBLIC)('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

it.each([
  ...['https://2130706433/', 'https://0x7f.1/', 'https://0177.0.0.1/', 'https://127.1/', 'https://[::1]/'],
  ...['https://localhost/', 'https://LOCALHOST./', 'https://x.localhost/', 'https://[::ffff:7f00:1]/'],
])('%s shows that it is private', (url) => {
  expect(isPrivateHost(new URL(url).hostname)).toBe(true);
});

describe('a name', () => {
  const resolveTo = (...addresses: string[]): Lookup =>
    ((_name: string, _options: unknown, callback: (error: null, found: object[]) => void) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )) as unknown as Lookup;
  const look = (resolve: Lookup): Promise<string> =>
    new Promise((settle) =>
      publicLookup(resolve)('name.example', {}, (error, found) => settle(error?.name ?? String(found))),
    );

  it('that resolves to a private address, if only among others, is refused', async () => {
    expect(await look(resolveTo('1.1.1.1'))).toBe('1.1.1.1');
    expect(await look(resolveTo('1.1.1.1', '10.0.0.1'))).toBe('PrivateAddressError');
    expect(await look(resolveTo('::ffff:7f00:1'))).toBe('PrivateAddressError');
    expect(await look(lookup)).not.toBe('127.0.0.1');
  });

  it.each(['0', '1', '22', '25', '79', '81', '442', '444', '1023'])(
    'is not connected to at port %s, also where it may be private',
    async (port) => {
      for (const allowsPrivate of [true, false]) {
        const sender = new WebhookSender({ allowsPrivate });
        const { status, answer } = await sender.send(
          `http://${allowsPrivate ? '127.0.0.1' : '1.1.1.1'}:${port}/`,
          {},
          '{}',
        );
        expect([status, answer]).toEqual([null, `port ${port} is not 80, 443, or 1024 and above`]);
        await sender.close();
      }
    },
  );

  it.each(['', '80', '443', '1024', '8443', '65535'])('may have port "%s"', (port) => {
    expect(isWebhookPort(port)).toBe(true);
  });

  it('of this machine is refused at the connection, as its address is', async () => {
    const receiver = await startReceiver();
    const sender = new WebhookSender({ allowsPrivate: false });
    const { port } = new URL(receiver.url);
    for (const host of ['localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]'])
      expect(await sender.send(`http://${host}:${port}/`, {}, '{}')).toEqual({
        status: null,
        answer: expect.stringContaining('is no address of the public internet'),
      });
    expect(receiver.received).toEqual([]);
    await sender.close();
    await receiver.stop();
  });
});
