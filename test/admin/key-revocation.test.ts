/** A customer's key revoked by an operator: refused from the next request on, audited, and told by mail. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAccountPages } from '../gateway/commerce/pages/harness.ts';
import { startRedis } from '../redis.ts';
import { startAdmin, startAdminOn, wordsOf } from './harness.ts';

const REASON = 'It was found in a public repository.';

const service = await startAdmin();
const operator = await service.signedIn();
afterAll(() => service.stop());

describe('a key that an operator revokes', () => {
  let account_id: string;
  let keys: { key: string; key_id: string }[];
  let made = 0;
  beforeEach(async () => {
    made += 1;
    const facts = { email: `customer-${made}@example.org`, verified: true, credits: 10, by: 'test' };
    ({ account_id } = await service.accounts.create(facts));
    keys = [];
    for (const label of ['notebook', 'server'])
      keys.push(await service.accounts.keys.mint(account_id, { label }));
  });

  const pathOf = (key_id = keys[0]?.key_id ?? '', of = account_id) =>
    `/admin/users/${of}/keys/${key_id}/revoke`;
  const revoke = (path = pathOf(), reason = REASON) => operator.submit('/admin/', path, { reason });
  const status = async (key = ''): Promise<number> =>
    (await fetch(`${service.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })).status;

  it('is refused from the next request on, and the others are not', async () => {
    expect(await Promise.all(keys.map(({ key }) => status(key)))).toEqual([200, 200]);
    expect(wordsOf(await operator.get(pathOf()))).toContain('notebook');
    expect((await revoke()).location).toBe(`/admin/users/${account_id}`);
    expect(await Promise.all(keys.map(({ key }) => status(key)))).toEqual([401, 200]);
    const page = wordsOf(await operator.get(`/admin/users/${account_id}`));
    expect(page).toContain('key.revoke');
    expect(page).toContain(REASON);
  });

  it('is one of that account, active, and revoked with a reason', async () => {
    const other = await service.accounts.create({ email: `other-${made}@example.org`, by: 'test' });
    expect((await revoke(pathOf(keys[0]?.key_id, other.account_id))).status).toBe(404);
    expect((await revoke(pathOf('nothing'))).status).toBe(404);
    expect((await revoke(pathOf(), '')).status).toBe(422);
    expect(await status(keys[0]?.key)).toBe(200);
    await revoke();
    expect((await revoke()).status).toBe(409);
    const viewer = await service.signedIn('viewer');
    expect((await viewer.get(pathOf(keys[1]?.key_id))).status).toBe(403);
    expect((await viewer.submit('/admin/', pathOf(keys[1]?.key_id), { reason: REASON })).status).toBe(403);
    expect(await status(keys[1]?.key)).toBe(200);
  });
});

it('is told to the owner of the account once, with key and reason', async () => {
  const redis = await startRedis();
  const pages = await startAccountPages({ redis });
  const area = await startAdminOn(redis);
  try {
    const { account_id, email } = await pages.customer();
    const { key_id, key } = await area.accounts.keys.mint(account_id, { label: 'notebook' });
    const other = await area.signedIn();
    await other.submit('/admin/', `/admin/users/${account_id}/keys/${key_id}/revoke`, { reason: REASON });
    const arrives = pages.mailbox.next(email);
    await pages.handlers.sweep({});
    const { subject, text } = await arrives;
    expect(subject).toBe('A key was revoked');
    for (const words of [key_id, key.slice(-4), 'notebook', REASON, 'By: an operator of Almanac'])
      expect(text).toContain(words);
    expect(text).not.toContain(key);
    expect(text).not.toContain('operator@example.org');
  } finally {
    await pages.stop();
    await area.stop();
  }
});
