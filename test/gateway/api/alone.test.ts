/** `gateway/api` starts and serves without site and accounts: catalogue, figures, metering, and nothing of the rest. */
import { expect, test } from 'vitest';
import { buildApi } from '../../../gateway/api/api.ts';
import { codeOf, useService } from '../service.ts';

const service = await useService({ build: buildApi });
const owner = await service.account({ credits: 1 });

const DATA = '/v1/data?indicator=alpha.life_expectancy&countries=KEN&from=2010&to=2010';

test('answers the catalogue without a key', async () => {
  const { status, json } = await service.get('/v1/indicators?limit=2');
  expect([status, json.data.length]).toEqual([200, 2]);
  expect((await service.get('/openapi.json')).json.paths).toHaveProperty('/data/api/v1/indicators');
});

test('charges figures, and refuses what the balance does not cover', async () => {
  const answer = await service.get(DATA, { key: owner.key });
  expect([answer.status, answer.headers['x-credits-charged']]).toEqual([200, '1']);
  expect(await service.balance(owner)).toBe(0);
  const dear = await service.get(DATA, { key: owner.key });
  expect([dear.status, codeOf(dear)]).toEqual([402, 'insufficient_credits']);
  expect([(await service.get(DATA)).status, await service.balance(owner)]).toEqual([401, 0]);
});

test('tells usage, health and status', async () => {
  const { json } = await service.get('/v1/usage', { key: owner.key });
  expect(json.data).not.toEqual([]);
  for (const path of ['/healthz', '/readyz', '/status.json'])
    expect((await service.get(path)).status).toBe(200);
});

test('has no pages: a browser, too, is told in JSON', async () => {
  for (const path of ['/', '/indicators', '/account/', '/admin/']) {
    const answer = await service.get(path, { headers: { accept: 'text/html' } });
    expect([path, answer.status, codeOf(answer)]).toEqual([path, 404, 'not_found']);
  }
});
