/** Usage by customer and by indicator, against what the customers really called. */
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { DAY_MS } from '../../data/schema/redis-keys.ts';
import { useAdmin, wordsOf } from './harness.ts';

const service = await useAdmin();

const IDS = [...(service.snapshots.current()?.catalogue.indicators.values() ?? [])]
  .filter(({ record }) => record.access_tier === 'open')
  .map(({ record }) => record.id)
  .slice(0, 3);

async function customer(email: string, indicators: readonly (string | undefined)[]): Promise<string> {
  const { account_id } = await service.accounts.create({ email, name: '', by: 'test', credits: 1_000 });
  const { key } = await service.accounts.keys.mint(account_id);
  for (const indicator of indicators) {
    const path = `/v1/data?indicator=${indicator}&countries=KEN`;
    const { status } = await fetch(service.url + path, { headers: { authorization: `Bearer ${key}` } });
    expect(status).toBe(200);
  }
  return account_id;
}

it('lists customers by what they spent, indicators by their customers, and the customers of one', async () => {
  const [one, two, three] = IDS;
  const ann = await customer('ann@example.org', [one, one, two]);
  const bob = await customer('bob@example.org', [one]);
  await customer('idle@example.org', []);
  await service.metering.flush();
  const operator = await service.signedIn();
  const csv = async (query: string): Promise<Record<string, string>[]> =>
    parse((await operator.get(`/admin/usage/customers?format=csv${query}`)).html, { columns: true });
  const listed = await csv('');
  expect(listed.map(({ account_id }) => account_id)).toEqual([ann, bob]);
  for (const { account_id = '', credits } of listed) {
    const { credits: wallet } = await service.accounts.get(account_id);
    expect([account_id, Number(credits)]).toEqual([account_id, wallet.lifetime_spent]);
  }
  expect(listed.map(({ requests, indicators }) => [requests, indicators])).toEqual([
    ['3', '2'],
    ['1', '1'],
  ]);
  expect((await csv('&sort=requests')).map(({ account_id }) => account_id)).toEqual([bob, ann]);
  expect((await csv(`&indicator=${two}`)).map(({ account_id }) => account_id)).toEqual([ann]);
  expect(await csv(`&indicator=${three}`)).toEqual([]);
  const page = wordsOf(await operator.get('/admin/usage/customers'));
  expect(page).toMatch(new RegExp(`${one} 2 2026-11-21 ${two} 1 2026-11-21`));
  expect(wordsOf(await operator.get(`/admin/users/${ann}`))).toContain('Used 2 indicators');

  service.clock.ms += 10 * DAY_MS;
  const later = await service.signedIn();
  const recent = (days: number) => later.get(`/admin/usage/customers?days=${days}`);
  expect(wordsOf(await recent(10))).toContain('No customer used an indicator');
  expect(wordsOf(await recent(11))).toContain('ann@example.org');
  expect((await recent(31)).status).toBe(422);
});
