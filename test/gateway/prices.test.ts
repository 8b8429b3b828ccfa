/** `dry_run` and `max_credits`. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { priceProperty } from './prices.ts';
import { useService } from './service.ts';

const service = await useService();
const owner = await service.account({ credits: 1_000_000 });

const DATA = '/v1/data?indicator=alpha.life_expectancy';
test('the price told is the price charged, and no limit is exceeded', async () => {
  await fc.assert(
    priceProperty(service, () => owner),
    { numRuns: 150 },
  );
});

test('neither is echoed, and both are checked', async () => {
  const { json } = await service.get(`${DATA}&dry_run=false&max_credits=9`, { key: owner.key });
  expect(json).toEqual((await service.get(DATA, { key: owner.key })).json);
  const bad = await service.get(`${DATA}&dry_run=perhaps&max_credits=-1`, { key: owner.key });
  expect(bad.json.detail.map(({ loc, type }: { loc: string[]; type: string }) => [loc[1], type])).toEqual([
    ['dry_run', 'bool_parsing'],
    ['max_credits', 'greater_than_equal'],
  ]);
});

test('a dry run counts as a request and as no row, and of an earlier edition it names that', async () => {
  const account = await service.account({ credits: 5 });
  const answer = await service.get(`${DATA}&dry_run=true&as_of=2026-11-20`, { key: account.key });
  expect(Object.keys(answer.json.data)).toEqual(['price', 'rows', 'balance_after']);
  const { json } = await service.get('/v1/usage?days=1', { key: account.key });
  expect(json.data.totals).toEqual({ requests: 2, errors: 0, rows: 0, credits: 0 });
});

test('a free operation knows neither', async () => {
  const answer = await service.get('/v1/topics?dry_run=true&max_credits=0', { key: owner.key });
  expect([answer.status, answer.headers['x-ignored-parameters']]).toEqual([200, 'dry_run, max_credits']);
});
