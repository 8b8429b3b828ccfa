/** A customer's key revoked by an operator: refused from the next request on, audited, and told by mail. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openAccountQueue } from '../../gateway/accounts/jobs/account-queue.ts';
import { startAccountPages } from '../gateway/pages/harness.ts';
import { type AdminService, startAdmin, type Visitor, wordsOf } from './harness.ts';

const REASON = 'It was found in a public repository.';

describe('a key that an operator revokes', () => {
  let service: AdminService;
  let operator: Visitor;
  let account_id: string;
  let keys: { key: string; key_id: string }[];
  let made = 0;
  beforeAll(async () => {
    service = await startAdmin();
    operator = await service.signedIn();
  });
  afterAll(() => service.stop());
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

  it('is told to the customer, once', async () => {
    const queue = openAccountQueue(service.client);
    await revoke();
    await revoke();
    const jobs = (await queue.getJobs(['waiting'])).filter(({ data }) => data.account_id === account_id);
    expect(jobs.map(({ name, data }) => [name, data])).toEqual([
      ['key-revoked', { account_id, key_id: keys[0]?.key_id, reason: REASON }],
    ]);
    await queue.close();
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

it('the mail names key and reason, and a closed account gets none', async () => {
  const harness = await startAccountPages();
  try {
    const { account_id, email } = await harness.customer();
    const { key_id, key } = await harness.accounts.keys.mint(account_id, { label: 'notebook' });
    await harness.accounts.keys.revoke(key_id);
    const job = { account_id, key_id, reason: REASON };
    await harness.handlers['key-revoked'](job);
    const mail = harness.mailbox.to(email).at(-1);
    expect(mail).toMatchObject({ subject: 'One of your keys was revoked' });
    for (const words of [key.slice(-4), 'notebook', REASON]) expect(mail?.text).toContain(words);
    expect(mail?.text).not.toContain(key);
    const before = harness.mailbox.to(email).length;
    await harness.accounts.close(account_id);
    await harness.handlers['key-revoked'](job);
    expect(harness.mailbox.to(email)).toHaveLength(before);
  } finally {
    await harness.stop();
  }
});
