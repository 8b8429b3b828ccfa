/** Every route of the operator area: what its page shows and which forms it accepts. */
import { expect, it } from 'vitest';
import { DAY_MS } from '../../data/schema/redis-keys.ts';
import { NOON, tokenOf, useAdmin, wordsOf } from './harness.ts';

const ids: string[] = [];
const service = await useAdmin();
const operator = await service.signedIn();
for (const [index, name] of ['Ada Lovelace', 'Grace Hopper', 'ÅSA Öberg'].entries()) {
  service.clock.ms = NOON + index;
  const email = `${name.slice(0, 3).toLowerCase().replace('å', 'a')}@example.org`;
  ids.push(
    (await service.accounts.create({ email, name, verified: true, credits: 100, by: 'test' })).account_id,
  );
}

const csvLines = async (path: string): Promise<string[]> =>
  (await operator.get(path)).html.trim().split('\r\n');
const emails = async (query: string) =>
  (await csvLines(`/admin/users?${query}&format=csv`)).slice(1).map((line) => line.split(',')[1]);

it('GET /admin/: shows the dashboard, with and without the trailing slash', async () => {
  for (const path of ['/admin/', '/admin']) {
    const page = await operator.get(path);
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    for (const words of [
      'Snapshot',
      'Requests',
      'Credits',
      'Errors',
      'New accounts 3 today',
      'Orders',
      'Providers',
    ])
      expect(wordsOf(page)).toContain(words);
    expect(page.html).toMatch(/<svg [^>]*role="img" aria-labelledby="requests-title requests-text"/);
  }
});

it('GET /admin/users: q matches a substring of e-mail, name or id in any case', async () => {
  expect(await emails('q=GRACE')).toEqual(['gra@example.org']);
  expect(await emails('q=lovel')).toEqual(['ada@example.org']);
  expect(await emails('q=%C3%A5sa')).toEqual(['asa@example.org']);
  expect(await emails(`q=${ids[0]?.slice(4).toUpperCase()}`)).toEqual(['ada@example.org']);
  expect(await emails('q=.*')).toEqual([]);
  expect(await emails('q=')).toEqual(['asa@example.org', 'gra@example.org', 'ada@example.org']);
});

it('GET /admin/users: filters by status and pages; shows new accounts and changed states at once', async () => {
  await service.accounts.suspend(ids[1] ?? '');
  expect(await emails('status=suspended')).toEqual(['gra@example.org']);
  expect(await emails('status=active')).toEqual(['asa@example.org', 'ada@example.org']);
  expect(await emails('status=unheard')).toEqual([]);
  await service.accounts.restore(ids[1] ?? '');
  expect(await emails('status=suspended')).toEqual([]);
  const second = await operator.get('/admin/users?limit=1&offset=1');
  expect(second.html).toContain('gra@example.org');
  expect(second.html).not.toContain('ada@example.org');
  expect(wordsOf(second)).toContain('2–2 of 3');
  expect(second.html).toContain('href="/admin/users?limit=1&amp;offset=2"');
  service.clock.ms = NOON - 10 * DAY_MS;
  await service.accounts.create({ email: 'older@example.org', by: 'test' });
  service.clock.ms = NOON;
  expect(await emails('q=older')).toEqual(['older@example.org']);
});

it.each([
  '/admin/users?limit=0',
  '/admin/users?limit=x',
  '/admin/users?offset=-1',
  '/admin/orders?limit=1e3',
  '/admin/usage?days=0',
  '/admin/users?q=%ff',
])('GET %s: returns 422 for an invalid parameter', async (path) => {
  expect((await operator.get(path)).status).toBe(422);
});

it('GET /admin/users/{user_id}: shows profile, wallet, keys, ledger, orders and audit log', async () => {
  const id = ids[0] ?? '';
  const { key, key_id } = await service.accounts.keys.mint(id, { label: 'laptop' });
  const { order_id } = await service.accounts.orders.create(id, 'starter');
  const page = await operator.get(`/admin/users/${id}`);
  for (const words of [
    'Ada Lovelace',
    id,
    'Balance 100',
    key_id,
    `…${key.slice(-4)}`,
    'first credits',
    order_id,
    'No changes yet',
  ])
    expect(wordsOf(page)).toContain(words);
  expect(page.html).not.toContain(key);
  expect((await operator.get('/admin/users/acc_unknown')).status).toBe(404);
  for (const list of ['keys', 'ledger', 'orders', 'audit', 'usage']) {
    const file = await operator.get(`/admin/users/${id}?format=${list}.csv`);
    expect(file.headers['content-type']).toBe('text/csv; charset=utf-8');
  }
});

it('GET /admin/users/{user_id}: pages through the ledger to its first entry', async () => {
  const { account_id } = await service.accounts.create({
    email: 'long@example.org',
    credits: 1,
    by: 'test',
  });
  for (let count = 0; count < 60; count += 1)
    await service.accounts.grant(account_id, { credits: 1, by: 'test' });
  let path = `/admin/users/${account_id}`;
  let pages = 0;
  for (; path; pages += 1) {
    const { html } = await operator.get(path);
    const older = /<a href="([^"#]+)#ledger" rel="next">/.exec(html)?.[1];
    if (!older) expect(html).toContain('first credits');
    path = older?.replaceAll('&amp;', '&') ?? '';
  }
  expect(pages).toBe(3);
  expect(await csvLines(`/admin/users/${account_id}?format=ledger.csv`)).toHaveLength(62);
});

it('POST /admin/users/{user_id}/suspend and restore: change the state and write audit entries', async () => {
  const id = ids[2] ?? '';
  await operator.submit(`/admin/users/${id}`, `/admin/users/${id}/suspend`, {});
  expect((await service.accounts.get(id)).state).toBe('suspended');
  await operator.submit(`/admin/users/${id}`, `/admin/users/${id}/restore`, {});
  const [, restored, suspended] = await csvLines(`/admin/users/${id}?format=audit.csv`);
  expect(restored).toMatch(
    /account\.restore,account acc_\w+,"{""state"":""suspended""}","{""state"":""active""}"/,
  );
  expect(suspended).toContain('operator@example.org,account.suspend');
});

it('GET /admin/orders: filters by status and limit; POST …/move changes the status', async () => {
  const { order_id } = await service.accounts.orders.create(ids[1] ?? '', 'starter');
  const listed = async (query: string) => (await csvLines(`/admin/orders?${query}&format=csv`)).length - 1;
  expect(await listed('status=pending')).toBe(2);
  expect(await listed('status=nonsense')).toBe(0);
  expect((await operator.get('/admin/orders?limit=1')).html.match(/ord_\w+<\/span><\/th>/g)).toHaveLength(1);
  const move = (to: string) =>
    operator.submit('/admin/orders', `/admin/orders/${order_id}/move`, { to, reason: 'r' });
  expect((await move('paid')).status).toBe(303);
  expect((await move('paid')).status).toBe(303);
  expect((await service.accounts.get(ids[1] ?? '')).credits.balance).toBe(10_100);
  expect((await move('cancelled')).status).toBe(409);
  expect((await move('pending')).status).toBe(422);
  expect((await move('refunded')).status).toBe(303);
  expect((await service.accounts.get(ids[1] ?? '')).credits.balance).toBe(100);
  expect((await csvLines('/admin/audit?format=csv')).filter((line) => line.includes(order_id))).toHaveLength(
    2,
  );
});

it('GET /admin/usage: shows usage of all callers by day and by route', async () => {
  await service.charge(ids[0] ?? '', [{ price: 4 }, { price: 4, status: 404 }]);
  const lines = await csvLines('/admin/usage?days=7&format=csv');
  expect(lines).toHaveLength(8);
  expect(lines.at(-1)).toBe('2026-11-21,2,1,4,4');
  expect(wordsOf(await operator.get('/admin/usage'))).toContain('/v1/data 2 1 4 4');
});

it('GET /admin/gdpr: lists open requests oldest first with their age; POST …/close: accepts only done and failed', async () => {
  service.clock.ms = NOON - 9 * DAY_MS;
  const old = await service.requests.open(ids[0] ?? '', 'erasure');
  service.clock.ms = NOON - 2 * DAY_MS;
  const young = await service.requests.open(ids[1] ?? '', 'export');
  service.clock.ms = NOON;
  const rows = await csvLines('/admin/gdpr?format=csv');
  expect(rows.slice(1).map((line) => [line.split(',')[0], line.split(',').at(-1)])).toEqual([
    [old.request_id, '9'],
    [young.request_id, '2'],
  ]);
  const close = (id: string, status: string, note = '') =>
    operator.submit('/admin/gdpr', `/admin/gdpr/${id}/close`, { status, note });
  for (const status of ['pending', 'ready', '', 'DONE', 'erased']) {
    const refused = await close(old.request_id, status, 'my note');
    expect([status, refused.status]).toEqual([status, 422]);
    expect(refused.html).toContain('value="my note"');
  }
  expect((await service.requests.get(old.request_id)).status).toBe('pending');
  expect((await close(old.request_id, 'failed', 'no proof of identity')).status).toBe(303);
  expect(await service.requests.get(old.request_id)).toMatchObject({
    status: 'failed',
    note: 'no proof of identity',
    closed_by: 'operator@example.org',
  });
  expect((await close(old.request_id, 'done')).status).toBe(409);
  expect((await close('req_none', 'done')).status).toBe(404);
  expect((await service.accounts.get(ids[0] ?? '')).email).toBe('ada@example.org');
  expect(
    (await csvLines('/admin/audit?format=csv')).filter((line) => line.includes('request.close')),
  ).toHaveLength(1);
});

it('returns 404 for an unknown page and 413 for a form that is too large', async () => {
  expect((await operator.get('/admin/nothing')).status).toBe(404);
  const _csrf = tokenOf(await operator.get('/admin/'));
  const huge = await operator.post(`/admin/users/${ids[0]}/credits`, {
    _csrf,
    delta: '1',
    reason: 'x'.repeat(70_000),
  });
  expect(huge.status).toBe(413);
});
