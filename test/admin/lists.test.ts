/** Lists of the operator area: sign-ins in the audit log, its filters, orders by customer and number, sorting. */
import { randomBytes } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { DAY_MS, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { FreeGrants } from '../../gateway/commerce/accounts/free-grants.ts';
import { type AuditEntry, accountSubject } from '../../gateway/commerce/history/audit-log.ts';
import { BillingStore } from '../../gateway/commerce/orders/billing-details.ts';
import { NOON, PASSWORD, useAdmin, type Visitor } from './harness.ts';

const EMAIL = 'operator@example.org';

const service = await useAdmin({ TRUST_PROXY: '127.0.0.1' });
const operator = await service.signedIn();

const csv = async (path: string): Promise<string[][]> =>
  parse((await operator.get(`${path}${path.includes('?') ? '&' : '?'}format=csv`)).html, { from: 2 });
const numeric = new Intl.Collator('en', { numeric: true });

const column = async (path: string, index: number): Promise<(string | undefined)[]> =>
  (await csv(path)).map((cells) => cells[index]);

function visitorFrom(address: string): Visitor {
  const visitor = service.visitor();
  visitor.headers['x-forwarded-for'] = address;
  return visitor;
}

describe('sign-ins of operators', () => {
  const signIns = async () =>
    (await service.audit.list({ limit: 500 })).filter(({ action }) => /sign_in/.test(action));

  it('are audited, good and bad, with their network address', async () => {
    const before = (await signIns()).length;
    await visitorFrom('192.0.2.10').signIn(EMAIL, 'wrong password');
    await visitorFrom('192.0.2.11').signIn(EMAIL, PASSWORD);
    const [good, bad, ...rest] = await signIns();
    expect(rest).toHaveLength(before);
    const subject = `operator ${EMAIL}`;
    expect(good).toMatchObject({
      action: 'operator.sign_in',
      by: EMAIL,
      subject,
      after: { address: '192.0.2.11' },
    });
    expect(bad).toMatchObject({
      action: 'operator.sign_in_failed',
      by: EMAIL,
      subject,
      after: { address: '192.0.2.10' },
    });
  });

  it('with unknown addresses are one entry an hour and network, without what was typed', async () => {
    const before = (await signIns()).length;
    for (let count = 0; count < 5; count += 1)
      await visitorFrom('192.0.2.20').signIn(`typed-${count}@example.org`, 'secret words');
    const entries = (await signIns()).slice(0, -before);
    expect(entries).toMatchObject([
      { action: 'operator.sign_in_failed', by: 'unknown', after: { address: '192.0.2.20' } },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/typed-|secret/);
  });

  it('that are throttled do not fill the log', async () => {
    const before = (await signIns()).length;
    for (let count = 0; count < 12; count += 1)
      await visitorFrom('192.0.2.30').signIn(EMAIL, 'wrong password');
    expect((await signIns()).length - before).toBeLessThanOrEqual(4);
    expect((await signIns())[0]?.after).toMatchObject({ throttled: true });
  });
});

it('the audit log filters by person, action and time like a filter of all its entries', async () => {
  const { account_id } = await service.accounts.create({
    email: 'ann@example.org',
    credits: 5,
    by: 'test',
  });
  const people = [EMAIL, 'other@example.org', accountSubject(account_id)];
  const actions = ['order.paid', 'order.refunded', 'account.suspend', 'key.create'];
  for (let count = 0; count < 60; count += 1) {
    service.clock.ms = NOON - (60 - count) * DAY_MS;
    const subject = count % 4 === 0 ? accountSubject(account_id) : `order ord_${count}`;
    const facts = { before: {}, after: { count }, reason: '', request_id: `r${count}` };
    await service.audit.record({
      by: people[count % 3] ?? '',
      action: actions[count % 4] ?? '',
      subject,
      ...facts,
    });
  }
  service.clock.ms = NOON;
  const all = await service.audit.list({ limit: 1_000 });
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const matches: [query: string, test: (entry: AuditEntry) => boolean][] = [
    ['person=other%40example.org', ({ by }) => by === 'other@example.org'],
    ['person=OTHER', ({ by }) => by === 'other@example.org'],
    ['person=ann%40example.org', ({ by, subject }) => [by, subject].includes(accountSubject(account_id))],
    ['action=order.', ({ action }) => action.startsWith('order.')],
    [`from=${day(NOON - 9 * DAY_MS)}`, ({ at_ms }) => day(at_ms) >= day(NOON - 9 * DAY_MS)],
    [`to=${day(NOON - 50 * DAY_MS)}`, ({ at_ms }) => day(at_ms) <= day(NOON - 50 * DAY_MS)],
    [
      `person=other&action=key&from=${day(NOON - 40 * DAY_MS)}&to=${day(NOON - 20 * DAY_MS)}`,
      ({ by, action, at_ms }) =>
        by === 'other@example.org' &&
        action === 'key.create' &&
        at_ms >= NOON - 41 * DAY_MS &&
        day(at_ms) >= day(NOON - 40 * DAY_MS) &&
        day(at_ms) <= day(NOON - 20 * DAY_MS),
    ],
  ];
  for (const [query, test] of matches) {
    const expected = all.filter(test).map(({ request_id }) => request_id);
    expect(expected.length).toBeGreaterThan(0);
    expect([query, await column(`/admin/audit?${query}`, 7)]).toEqual([query, expected]);
    const shown: string[] = [];
    for (let path = `/admin/audit?${query}&limit=7`; path !== ''; ) {
      const { html } = await operator.get(path);
      shown.push(...[...html.matchAll(/class="id faint">([^<]+)</g)].map(([, id = '']) => id));
      path = /<a href="([^"]+)" rel="next">/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    }
    expect([query, shown]).toEqual([query, expected]);
  }
  for (const query of ['from=yesterday', 'to=2026-13-01'])
    expect((await operator.get(`/admin/audit?${query}`)).status).toBe(422);
});

it('orders are found by number and by customer, in any status', async () => {
  const { accounts } = service;
  const bea = await accounts.create({ email: 'bea@example.org', name: 'Bea Brown', by: 'test' });
  const cid = await accounts.create({ email: 'cid@example.org', name: 'Cid Green', by: 'test' });
  const [one, two, three] = [
    await accounts.orders.create(bea.account_id, 'starter'),
    await accounts.orders.create(cid.account_id, 'starter'),
    await accounts.orders.create(bea.account_id, 'starter'),
  ];
  await accounts.orders.move(three.order_id, 'cancelled');
  const found = async (query: string) => (await column(`/admin/orders?${query}`, 0)).toSorted();
  const beas = [one.order_id, three.order_id].toSorted();
  for (const q of ['bea%40example', 'BROWN', bea.account_id]) expect(await found(`q=${q}`)).toEqual(beas);
  expect(await found(`q=${two.order_id.slice(4, 14).toUpperCase()}`)).toEqual([two.order_id]);
  expect(await found('q=brown&status=cancelled')).toEqual([three.order_id]);
  expect(await found('q=nobody')).toEqual([]);
  const [invoice] = await accounts.orders.invoices.issuedOf(two.order_id);
  expect(await found(`q=${invoice?.number}`)).toEqual([two.order_id]);
  const documents = await accounts.orders.invoices.issuedOf(three.order_id);
  expect(documents.map(({ kind }) => kind)).toEqual(['invoice', 'credit_note']);
  for (const { number } of documents) expect(await found(`q=${number}`)).toEqual([three.order_id]);
});

it('orders are found by the payer that their invoices name, whoever the customer is', async () => {
  const { accounts, client, clock } = service;
  const { account_id } = await accounts.create({ email: 'dee@example.org', name: 'Dee', by: 'test' });
  const billing = new BillingStore({ redis: client, now: () => clock.ms, random: randomBytes });
  const details = { name: 'Wharf & Sons', address: ['1 Quay'], country: 'DE', country_name: 'Germany' };
  await billing.set(account_id, { ...details, vat_id: 'DE811907980' });
  const { order_id } = await accounts.orders.create(account_id, 'starter');
  for (const q of ['wharf %26', 'QUAY', 'de811907980'])
    expect([q, await column(`/admin/orders?q=${q}`, 0)]).toEqual([q, [order_id]]);
  expect((await operator.get('/admin/orders?q=quay')).html).toContain('Wharf &amp; Sons');
});

describe('sorting', () => {
  it.each([
    ['/admin/users', 'email', 1],
    ['/admin/users', 'name', 2],
    ['/admin/orders', 'id', 0],
    ['/admin/orders', 'status', 2],
    ['/admin/indicators', 'topic', 4],
    ['/admin/indicators', 'provider', 5],
  ])('of %s by %s is offered in its header, and refuses other columns', async (path, name, index) => {
    const up = await column(`${path}?sort=${name}`, index);
    expect(up.length).toBeGreaterThan(2);
    const filled = up.filter((cell) => cell !== '');
    // Ids are random, and numbers within texts are ordered by size.
    expect(filled).toEqual(filled.toSorted((a = '', b = '') => numeric.compare(a, b)));
    const down = (await column(`${path}?sort=-${name}`, index)).filter((cell) => cell !== '');
    expect(down).toEqual(filled.toReversed());
    const { html } = await operator.get(`${path}?sort=${name}`);
    expect(html).toMatch(new RegExp(`aria-sort="ascending"><a href="[^"]*sort=-${name}"`));
    for (const wrong of ['password', `${name};--`, '__proto__', 'constructor'])
      expect((await operator.get(`${path}?sort=${wrong}`)).status).toBe(422);
  });

  it('of the usage by route leaves the total at the end', async () => {
    const shown = async (sort: string): Promise<string[]> => {
      const { html } = await operator.get(`/admin/usage?sort=${sort}`);
      return [...html.matchAll(/<th[^>]*scope="row"[^>]*>(?:<code>|<strong>)([^<]+)/g)].map(
        ([, name = '']) => name,
      );
    };
    const day = redisKeys.globalUsage(dayOf(service.clock.ms));
    for (const [route, requests] of Object.entries({ '/v1/a': 5, '/v1/b': 12, '/v1/c': 1 }))
      await service.client.hincrby(day, `${route}|requests`, requests);
    expect(await shown('-requests')).toEqual(['/v1/b', '/v1/a', '/v1/c', 'Total']);
    expect(await shown('requests')).toEqual(['/v1/c', '/v1/a', '/v1/b', 'Total']);
    expect((await operator.get('/admin/usage?sort=other')).status).toBe(422);
  });

  it('of providers', async () => {
    const { html } = await operator.get('/admin/runs?providers=-name');
    const names = [...html.matchAll(/href="\/admin\/runs\?subject=[^"]*">([^<]+)<\/a><\/th>/g)].map(
      ([, name = '']) => name,
    );
    expect(names.length).toBeGreaterThan(3);
    expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b, 'en')).toReversed());
    expect(html).toContain('href="/admin/runs?providers=name"');
  });
});

it('accounts that signed up alike are listed by what they share, each with what it got and a way to its account', async () => {
  const visitor = await service.signedIn('viewer');
  expect((await visitor.get('/admin/users/groups')).html).toContain('No two sign-ups of the last 90 days');
  const deps = { redis: service.client, now: () => service.clock.ms, random: randomBytes };
  const grants = new FreeGrants({ ...deps, perRange: 10, perDomain: 10 });
  const ids: string[] = [];
  for (const name of ['ann', 'bob']) {
    const email = `${name}@gmail.com`;
    const { account_id } = await service.accounts.create({ email, name: '', by: 'test', credits: 5 });
    await grants.claim({ account_id, email, address: '192.0.2.1' });
    ids.push(account_id);
  }
  const { html } = await visitor.get('/admin/users/groups');
  expect(html).toContain('2 accounts with one address range');
  expect(html).not.toContain('one mail domain');
  for (const id of ids) expect(html).toContain(`href="/admin/users/${id}"`);
  expect((await visitor.get('/admin/users')).html).toContain('href="/admin/users/groups"');
});
