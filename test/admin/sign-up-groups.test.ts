/** Accounts that signed up alike, as operators see them. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FreeGrants } from '../../gateway/commerce/accounts/free-grants.ts';
import { type AdminService, startAdmin } from './harness.ts';

let service: AdminService;
beforeAll(async () => {
  service = await startAdmin();
});
afterAll(() => service.stop());

test('a page lists them by what they share, each with what it got and a way to its account', async () => {
  const visitor = await service.signedIn('viewer');
  expect((await visitor.get('/admin/users/groups')).html).toContain('No two sign-ups of the last 90 days');
  const deps = { redis: service.client, now: () => service.clock.ms, random: randomBytes };
  const grants = new FreeGrants(deps, { perRange: 10, perDomain: 10 });
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
