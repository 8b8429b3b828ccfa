/**
 * A customer's key revoked, and the second factor of a customer's member cleared, by an operator: with a reason, audited,
 * and told by mail. A key is refused from the next request on.
 */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { codeAt } from '../gateway/commerce/authenticator.ts';
import { startAccountPages } from '../gateway/commerce/pages/harness.ts';
import { startRedis } from '../redis.ts';
import { startAdminOn, wordsOf } from './harness.ts';

const REASON = 'It was found in a public repository.';

const redis = await startRedis();
const pages = await startAccountPages({ redis });
const area = await startAdminOn(redis);
afterAll(async () => {
  await pages.stop();
  await area.stop();
});

let customer: Awaited<ReturnType<typeof pages.customer>>;
let accountPath: string;
beforeEach(async () => {
  customer = await pages.customer();
  accountPath = `/admin/users/${customer.account_id}`;
});

describe('a key that an operator revokes', () => {
  let keys: { key: string; key_id: string }[];
  beforeEach(async () => {
    keys = [];
    for (const label of ['notebook', 'server'])
      keys.push(await area.accounts.keys.mint(customer.account_id, { label }));
  });

  const pathOf = (key_id = keys[0]?.key_id, account = accountPath) => `${account}/keys/${key_id}/revoke`;
  const status = async (key = ''): Promise<number> =>
    (await fetch(`${area.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })).status;

  it('is refused from the next request on, and the others are not', async () => {
    const operator = await area.signedIn();
    expect(await Promise.all(keys.map(({ key }) => status(key)))).toEqual([200, 200]);
    expect(wordsOf(await operator.get(pathOf()))).toContain('notebook');
    expect((await operator.submit('/admin/', pathOf(), { reason: REASON })).location).toBe(accountPath);
    expect(await Promise.all(keys.map(({ key }) => status(key)))).toEqual([401, 200]);
    const page = wordsOf(await operator.get(accountPath));
    expect(page).toContain('key.revoke');
    expect(page).toContain(REASON);
  });

  it('is one of that account, active, and revoked with a reason', async () => {
    const operator = await area.signedIn();
    const revoke = (path = pathOf(), reason = REASON) => operator.submit('/admin/', path, { reason });
    const other = await pages.customer();
    expect((await revoke(pathOf(keys[0]?.key_id, `/admin/users/${other.account_id}`))).status).toBe(404);
    expect((await revoke(pathOf('nothing'))).status).toBe(404);
    expect((await revoke(pathOf(), '')).status).toBe(422);
    expect(await status(keys[0]?.key)).toBe(200);
    await revoke();
    expect((await revoke()).status).toBe(409);
    const viewer = await area.signedIn('viewer');
    expect((await viewer.get(pathOf(keys[1]?.key_id))).status).toBe(403);
    expect((await viewer.submit('/admin/', pathOf(keys[1]?.key_id), { reason: REASON })).status).toBe(403);
    expect(await status(keys[1]?.key)).toBe(200);
  });

  it('is told to the owner of the account once, with key and reason', async () => {
    const [{ key_id, key } = { key_id: '', key: '' }] = keys;
    const operator = await area.signedIn();
    await operator.submit('/admin/', pathOf(), { reason: REASON });
    const arrives = pages.mailbox.next(customer.email, /revoked/);
    await pages.handlers.sweep({});
    const { subject, text } = await arrives;
    expect(subject).toBe('A key was revoked');
    for (const words of [key_id, key.slice(-4), 'notebook', REASON, 'By: an operator of Almanac'])
      expect(text).toContain(words);
    expect(text).not.toContain(key);
    expect(text).not.toContain('operator@example.org');
  });
});

describe('the second factor of a member', () => {
  const { secondFactor } = pages.context.site;
  beforeEach(async () => {
    const { secret } = secondFactor.propose({ issuer: 'Almanac', label: customer.email });
    const code = codeAt(secret, pages.clock.ms);
    const isTold = pages.mailbox.next(customer.email, /is on/);
    expect(await secondFactor.turnOn(customer.person_id, { secret, code })).not.toBeNull();
    await pages.handlers.sweep({});
    await isTold;
  });
  const pathOf = (person = customer.person_id) => `${accountPath}/members/${person}/clear-second-factor`;

  it('is cleared by an operator, and the person is told so once, with the reason', async () => {
    const operator = await area.signedIn();
    expect((await operator.get(accountPath)).html).toContain(pathOf());
    expect(wordsOf(await operator.get(pathOf()))).toContain('whoever knows the password gets in');
    const page = await operator.submit('/admin/', pathOf(), { reason: REASON });
    expect(page.location).toBe(accountPath);
    expect(await secondFactor.state(customer.person_id)).toMatchObject({
      isOn: false,
      recovery_codes_left: 0,
    });
    const arrives = pages.mailbox.next(customer.email);
    await pages.handlers.sweep({});
    const { subject, text } = await arrives;
    expect(subject).toBe('Your second factor was turned off for you');
    expect(text).toContain(REASON);
    expect(text).not.toContain('operator@example.org');
    const told = pages.mailbox.to(customer.email).length;
    await pages.handlers.sweep({});
    expect(pages.mailbox.to(customer.email)).toHaveLength(told);
    const [entry] = await area.audit.list({ subject: `account ${customer.account_id}`, limit: 1 });
    expect(entry).toMatchObject({
      action: 'account.second_factor',
      by: 'operator@example.org',
      reason: REASON,
      after: { person_id: customer.person_id, second_factor: 'cleared' },
    });
  });

  it('is cleared of members of that account alone, with a reason, where it is on, and by nobody who only reads', async () => {
    const operator = await area.signedIn();
    const other = await pages.customer();
    expect((await operator.get(pathOf(other.person_id))).status).toBe(404);
    expect((await operator.submit('/admin/', pathOf(), { reason: '' })).status).toBe(422);
    const viewer = await area.signedIn('viewer');
    expect((await viewer.get(accountPath)).html).not.toContain('clear-second-factor');
    expect((await viewer.submit('/admin/', pathOf(), { reason: REASON })).status).toBe(403);
    expect(await secondFactor.isOn(customer.person_id)).toBe(true);
    await operator.submit('/admin/', pathOf(), { reason: REASON });
    expect((await operator.submit('/admin/', pathOf(), { reason: REASON })).status).toBe(409);
  });
});
