/** The second factor over the pages: setting up, signing in by password and by link, recovery, turning off. */
import { Resvg } from '@resvg/resvg-js';
import decodeQR from 'qr/decode.js';
import { describe, expect, it } from 'vitest';
import { type Page, wordsOf } from '../../../admin/harness.ts';
import { keysMatching } from '../../../redis.ts';
import { codeAt, STEP_MS, wrongCodeAt } from '../authenticator.ts';
import { type Customer, PASSWORD, useAccountPages } from './harness.ts';
import { readExport } from './read-export.ts';

const FACTOR = '/account/second-factor';
const SET_UP = `${FACTOR}/set-up`;
const CODE = '/account/sign-in/code';

const harness = await useAccountPages();

/** The code of the next step, so that each is used once. */
function nextCode(secret: string): string {
  harness.clock.ms += STEP_MS;
  return codeAt(secret, harness.clock.ms);
}

/** What a phone reads from the QR code of a page. */
function scanned({ html }: Page): string {
  const svg = /<svg class="qr".*<\/svg>/
    .exec(html)?.[0]
    .replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"');
  const { width, height, pixels } = new Resvg(svg ?? '', { fitTo: { mode: 'width', value: 400 } }).render();
  return decodeQR({ width, height, data: pixels });
}

async function turnOn({ visitor, email }: Customer): Promise<{ secret: string; codes: string[] }> {
  const secret = /name="secret" value="([A-Z2-7]{32})"/.exec((await visitor.get(SET_UP)).html)?.[1] ?? '';
  const mail = harness.mailbox.next(email);
  const page = await visitor.submit(SET_UP, SET_UP, { secret, code: nextCode(secret), password: PASSWORD });
  expect(page.status).toBe(200);
  expect((await mail).subject).toBe('Your second factor is on');
  return { secret, codes: page.html.match(/[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4}/g) ?? [] };
}

describe('setting up', () => {
  it('shows a QR code, and needs the password and a code of the app', async () => {
    const ann = await harness.customer();
    const page = await ann.visitor.get(SET_UP);
    const secret = /name="secret" value="([A-Z2-7]{32})"/.exec(page.html)?.[1] ?? '';
    expect(scanned(page)).toBe(
      `otpauth://totp/Almanac:${encodeURIComponent(ann.email)}?issuer=Almanac&secret=${secret}&algorithm=SHA1&digits=6&period=30`,
    );
    const send = (fields: Record<string, string>) =>
      ann.visitor.submit(SET_UP, SET_UP, { secret, code: nextCode(secret), password: PASSWORD, ...fields });
    const wrong = await send({ code: wrongCodeAt(secret, harness.clock.ms) });
    expect(wrong.status).toBe(422);
    expect(wrong.html).toContain(`value="${secret}"`);
    expect((await send({ password: 'not mine at all' })).status).toBe(422);
    expect((await send({ secret: 'AAAA' })).status).toBe(422);
    expect(wordsOf(await ann.visitor.get(FACTOR))).toContain('Set it up');
    expect((await send({})).status).toBe(200);
    expect((await ann.visitor.get(SET_UP)).location).toBe(FACTOR);
    expect(wordsOf(await ann.visitor.get(FACTOR))).toContain('10 recovery codes left');
  });

  it('shows the secret and the recovery codes nowhere again: no page, no audit entry, no data export', async () => {
    const ann = await harness.customer();
    const { secret, codes } = await turnOn(ann);
    const lists = await readExport(await ann.visitor.download(await harness.exported(ann)));
    expect(lists['owner-changes']).toContainEqual(
      expect.objectContaining({ action: 'account.second_factor' }),
    );
    const { html } = await ann.visitor.get(FACTOR);
    for (const text of [secret, ...codes])
      for (const place of [JSON.stringify(lists), html]) expect(place).not.toContain(text);
  });
});

describe('signing in', () => {
  it('asks for a code after the password, and begins no session before', async () => {
    const ann = await harness.customer();
    const { secret } = await turnOn(ann);
    const visitor = harness.visitor();
    expect((await harness.signIn(visitor, ann.email)).location).toBe(CODE);
    expect((await visitor.get('/account/')).status).toBe(401);
    const wrong = await visitor.submit(CODE, CODE, { code: wrongCodeAt(secret, harness.clock.ms) });
    expect(wrong.status).toBe(401);
    expect((await visitor.get('/account/')).status).toBe(401);
    const code = nextCode(secret);
    expect((await visitor.submit(CODE, CODE, { code })).location).toBe('/account/');
    expect((await visitor.get('/account/')).status).toBe(200);
    // The code was used, in another browser too.
    const other = harness.visitor();
    await harness.signIn(other, ann.email);
    expect((await other.submit(CODE, CODE, { code })).status).toBe(401);
  });

  it('asks for a code after a mailed link too', async () => {
    const ann = await harness.customer();
    const { secret } = await turnOn(ann);
    const visitor = harness.visitor();
    const { email } = ann;
    const link = await harness.linkMailed(email, () => harness.handlers['sign-in-link']({ email }));
    expect((await visitor.submit(link, link, {})).location).toBe(CODE);
    expect((await visitor.get('/account/')).status).toBe(401);
    expect((await visitor.submit(CODE, CODE, { code: nextCode(secret) })).location).toBe('/account/');
    expect((await visitor.get('/account/')).status).toBe(200);
  });

  it('takes a recovery code once, and mails that it was used', async () => {
    const ann = await harness.customer();
    const { codes } = await turnOn(ann);
    const [code = ''] = codes;
    const visitor = harness.visitor();
    await harness.signIn(visitor, ann.email);
    const mail = harness.mailbox.next(ann.email);
    expect((await visitor.submit(CODE, CODE, { code })).location).toBe('/account/');
    expect((await mail).subject).toBe('A recovery code was used');
    expect(wordsOf(await visitor.get(FACTOR))).toContain('9 recovery codes left');
    const other = harness.visitor();
    await harness.signIn(other, ann.email);
    expect((await other.submit(CODE, CODE, { code })).status).toBe(401);
  });

  it('ends a sign-in that takes too long, or whose password was changed in between', async () => {
    const ann = await harness.customer();
    const { secret } = await turnOn(ann);
    const visitor = harness.visitor();
    await harness.signIn(visitor, ann.email);
    for (const name of await keysMatching(harness.redis, 'sign-in:*')) await harness.redis.del(name);
    expect(wordsOf(await visitor.get(CODE))).toContain('This sign-in took too long.');
    expect((await visitor.submit(CODE, CODE, { code: nextCode(secret) })).status).toBe(401);
    await harness.signIn(visitor, ann.email);
    const hashed = await harness.context.passwords.hash('quite another one');
    await harness.context.persons.setPassword(ann.person_id, hashed);
    await visitor.submit(CODE, CODE, { code: nextCode(secret) });
    expect((await visitor.get('/account/')).status).toBe(401);
  });
});

it('a second factor that is on is turned off, and its codes renewed, with a code only', async () => {
  const ann = await harness.customer();
  const { secret, codes } = await turnOn(ann);
  const { visitor } = ann;
  for (const path of [`${FACTOR}/off`, `${FACTOR}/recovery-codes`])
    expect((await visitor.submit(FACTOR, path, { code: '12345' })).status).toBe(422);
  const renewed = harness.mailbox.next(ann.email);
  const page = await visitor.submit(FACTOR, `${FACTOR}/recovery-codes`, { code: nextCode(secret) });
  expect(page.status).toBe(200);
  expect((await renewed).subject).toBe('You have new recovery codes');
  const [fresh = ''] = page.html.match(/[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4}/g) ?? [];
  expect((await visitor.submit(FACTOR, `${FACTOR}/off`, { code: codes[0] ?? '' })).status).toBe(422);
  const off = harness.mailbox.next(ann.email);
  expect((await visitor.submit(FACTOR, `${FACTOR}/off`, { code: fresh })).status).toBe(303);
  expect((await off).subject).toBe('Your second factor is off');
  expect((await harness.signIn(harness.visitor(), ann.email)).location).toBe('/account/');
});
