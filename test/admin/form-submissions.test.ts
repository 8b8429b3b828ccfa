/** Operators' forms that are sent more than once; see `test/gateway/commerce/pages/form-submissions.test.ts`. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AdminService, hiddenTokens, startAdmin } from './harness.ts';

let service: AdminService;
beforeAll(async () => {
  service = await startAdmin();
});
afterAll(() => service.stop());

it('an adjustment is made once, however often its form is sent, and each answer is the same', async () => {
  const operator = await service.signedIn();
  const { account_id } = await service.accounts.create({
    email: 'ann@example.org',
    verified: true,
    by: 'test',
  });
  const path = `/admin/users/${account_id}`;
  const form = { ...hiddenTokens(await operator.get(path)), delta: '7', reason: 'repeated' };
  const post = () => operator.post(`${path}/credits`, form);
  const pages = await Promise.all([post(), post(), post()]);
  pages.push(await post());
  expect(pages.map(({ status, location }) => [status, location])).toEqual(Array(4).fill([303, path]));
  expect((await service.accounts.get(account_id)).credits.balance).toBe(7);
  expect(await service.accounts.ledger(account_id)).toHaveLength(1);
});
