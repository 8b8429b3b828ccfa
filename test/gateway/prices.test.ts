/** `dry_run` and `max_credits`. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stopAfterTests } from '../after-tests.ts';
import { priceProperty } from './prices.ts';
import { KEYED_ROUTES } from './public-routes.ts';
import { codeOf, Service } from './service.ts';

const service = await stopAfterTests(Service.start());
const owner = await service.account({ credits: 1_000_000 });

const DATA = '/v1/data?indicator=alpha.life_expectancy';
const PRICED = KEYED_ROUTES.filter(({ price }) => price > 0);

test('the price told is the price charged, and no limit is exceeded', async () => {
  await fc.assert(
    priceProperty(service, () => owner),
    { numRuns: 150 },
  );
});

describe.each(PRICED)('$template', ({ path, price }) => {
  const join = path.includes('?') ? '&' : '?';

  test('tells its price for nothing, also to a caller who cannot pay it', async () => {
    const { key, ...poor } = await service.account({ credits: 0 });
    const answer = await service.get(`${path}${join}dry_run=1`, { key });
    expect([answer.status, answer.headers['x-credits-charged']]).toEqual([200, '0']);
    expect(answer.json).toMatchObject({ data: { price, balance_after: -price } });
    expect(answer.headers['x-snapshot']).toBe(service.snapshots.current()?.id);
    expect(await service.balance({ key, ...poor })).toBe(0);
  });

  test('refuses to cost more than max_credits, before it looks at the balance', async () => {
    const { key } = await service.account({ credits: 0 });
    const answer = await service.get(`${path}${join}max_credits=${price - 1}`, { key });
    expect([answer.status, codeOf(answer)]).toEqual([402, 'max_credits_exceeded']);
    expect(answer.json.error.message).toContain(`costs ${price} credits`);
    expect(codeOf(await service.get(`${path}${join}max_credits=${price}`, { key }))).toBe(
      'insufficient_credits',
    );
  });
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
