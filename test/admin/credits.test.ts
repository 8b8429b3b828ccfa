/** POST /admin/users/{user_id}/credits: the interface's rules, the idempotency key `idem`, and refusals. */
import { expect, it } from 'vitest';
import { hiddenTokens, tokenOf, useAdmin, wordsOf } from './harness.ts';

let created = 0;
const service = await useAdmin();
const operator = await service.signedIn();

async function account(credits: number): Promise<string> {
  const email = `person-${created++}@example.org`;
  return (await service.accounts.create({ email, credits, by: 'test' })).account_id;
}
const path = (id: string): string => `/admin/users/${id}`;
const send = (id: string, fields: Record<string, string>) =>
  operator.submit(path(id), `${path(id)}/credits`, fields);
const balance = async (id: string): Promise<number> => (await service.accounts.get(id)).credits.balance;
const adjustments = async (id: string) =>
  (await service.accounts.ledger(id)).filter(({ kind }) => kind === 'admin_adjust');
const auditOf = async (id: string): Promise<string> =>
  (await operator.get(`${path(id)}?format=audit.csv`)).html;

it('rule 1: adds credits with one ledger entry; the balance equals the sum of the ledger', async () => {
  const id = await account(10);
  const answer = await send(id, { delta: '90', reason: 'conference', idem: 'a' });
  expect([answer.status, answer.location]).toEqual([303, path(id)]);
  expect(await balance(id)).toBe(100);
  expect(await adjustments(id)).toMatchObject([
    { delta: 90, balance: 100, reason: 'conference', cause: { by: 'operator@example.org' } },
  ]);
  const ledger = await service.accounts.ledger(id);
  expect(ledger.reduce((sum, { delta }) => sum + delta, 0)).toBe(100);
  expect(wordsOf(await operator.get(path(id)))).toContain('Adjusted by 90; the balance is 100.');
  expect(wordsOf(await operator.get(path(id)))).not.toContain('Adjusted by 90; the balance');
});

it('rule 2: takes back at most the balance and records the shortfall in the audit log', async () => {
  const id = await account(30);
  expect((await send(id, { delta: '-100', reason: 'mistake', idem: 'b' })).status).toBe(303);
  expect(await balance(id)).toBe(0);
  expect(await adjustments(id)).toMatchObject([{ delta: -30, balance: 0 }]);
  expect(await auditOf(id)).toContain('""asked"":-100,""applied"":-30,""shortfall"":70');
  expect((await send(id, { delta: '-5', idem: 'c' })).status).toBe(303);
  expect(await adjustments(id)).toHaveLength(1);
  expect(await auditOf(id)).toContain('""shortfall"":5');
});

it('rule 3: the audit entry holds reason, operator and request id', async () => {
  const id = await account(1);
  await send(id, { delta: '1', reason: 'because of "that", truly', idem: 'd' });
  const [, entry = ''] = (await auditOf(id)).trim().split('\r\n');
  expect(entry).toContain('operator@example.org,credits.adjust');
  expect(entry).toContain('"because of ""that"", truly"');
  expect(entry).toMatch(/,test-\d+$/);
});

it('makes an adjustment once, however often its form is sent, with the same answer each time', async () => {
  const id = await account(0);
  const form = { ...hiddenTokens(await operator.get(path(id))), delta: '7', reason: 'repeated' };
  const post = () => operator.post(`${path(id)}/credits`, form);
  const pages = await Promise.all(Array.from({ length: 8 }, post));
  pages.push(await post());
  expect(pages.map(({ status, location }) => [status, location])).toEqual(Array(9).fill([303, path(id)]));
  expect(await balance(id)).toBe(7);
  expect(await adjustments(id)).toHaveLength(1);
  expect((await auditOf(id)).match(/credits\.adjust/g)).toHaveLength(1);
});

it('refuses an idem reused with another amount, and the form gets a new idem', async () => {
  const id = await account(0);
  await send(id, { delta: '7', idem: 'same' });
  const answer = await send(id, { delta: '8', reason: 'other', idem: 'same' });
  expect(answer.status).toBe(409);
  expect(wordsOf(answer)).toContain('This idempotency key was already used');
  expect(answer.html).not.toContain('name="idem" value="same"');
  expect(await balance(id)).toBe(7);
});

it('applies one idem once per account, and applies every form without an idem', async () => {
  const [one, two] = [await account(0), await account(0)];
  for (const id of [one, two]) await send(id, { delta: '3', idem: 'shared' });
  expect([await balance(one), await balance(two)]).toEqual([3, 3]);
  for (let count = 0; count < 2; count += 1) await send(one, { delta: '3' });
  expect(await balance(one)).toBe(9);
});

it.each(['0', '-0', '1.5', '1e3', 'ten', '', ' ', '0x10', '9'.repeat(20), '1000000000001', '-1000000000001'])(
  'refuses %j as an amount and returns the form as sent',
  async (delta) => {
    const id = await account(5);
    const answer = await send(id, { delta, reason: 'kept <b>text</b>', idem: 'e' });
    expect(answer.status).toBe(422);
    expect(answer.html).toContain(`name="delta" value="${delta}"`);
    expect(answer.html).toContain('value="kept &lt;b&gt;text&lt;/b&gt;"');
    expect(answer.html).toContain('name="idem" value="e"');
    expect(await balance(id)).toBe(5);
    expect(await auditOf(id)).not.toContain('credits.adjust');
  },
);

it('returns 404 for an unknown account', async () => {
  const _csrf = tokenOf(await operator.get('/admin/'));
  expect((await operator.post('/admin/users/acc_none/credits', { _csrf, delta: '5' })).status).toBe(404);
});

it('adds nothing to a closed account but can deduct from it', async () => {
  const id = await account(5);
  await service.accounts.close(id);
  expect((await send(id, { delta: '5', idem: 'f' })).status).toBe(409);
  expect((await send(id, { delta: '-5', idem: 'g' })).status).toBe(303);
  expect(await balance(id)).toBe(0);
});
