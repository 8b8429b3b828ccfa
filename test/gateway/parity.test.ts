/** What is defined is documented and reachable, and nothing is documented that is not defined. */
import { describe, expect, test, vi } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { ERRORS, type ErrorCode } from '../../gateway/api/core/errors.ts';
import { buildOpenApi } from '../../gateway/api/http/openapi/openapi.ts';
import { exchange } from '../attack/smuggling.ts';
import { documentationText } from '../style/documentation.ts';
import { codeOf, useService } from './service.ts';

const service = await useService({ settings: { FREE_PER_MINUTE: '30' } });
const owner = await service.account();

/** Error codes and statuses of the interface's own table. */
const INTERFACE_ERRORS: Partial<Record<ErrorCode, number>> = {
  bad_sort: 400,
  bad_dir: 400,
  unauthorized: 401,
  invalid_key: 401,
  insufficient_credits: 402,
  key_scope: 403,
  country_not_found: 404,
  indicator_not_found: 404,
  method_not_allowed: 405,
};

test.each(Object.entries(INTERFACE_ERRORS))('%s has status %d, as the interface says', (code, status) => {
  expect(ERRORS[code as ErrorCode].status).toBe(status);
});

const ask = async (path: string, key = owner.key): Promise<unknown> =>
  codeOf(await service.get(path, { key }));

async function rawCode(bytes: string): Promise<unknown> {
  const text = await exchange(service.port, bytes);
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).error.code;
}

async function unscoped(): Promise<string> {
  const { key, key_id } = await service.account();
  const name = redisKeys.key(key_id);
  const facts = JSON.parse((await service.client.get(name)) ?? '{}');
  await service.client.set(name, JSON.stringify({ ...facts, scopes: [] }));
  return key;
}

/** How each error is brought about. */
const CAUSES: Record<ErrorCode, () => Promise<unknown>> = {
  bad_sort: () => ask('/v1/indicators?sort=x'),
  bad_dir: () => ask('/v1/indicators?dir=x'),
  not_rankable: () => ask('/v1/rankings/alpha.regime_code'),
  bad_request: () => rawCode('nonsense\r\n\r\n'),
  unauthorized: async () => codeOf(await service.get('/v1/ping')),
  invalid_key: () => ask('/v1/ping', 'nonsense'),
  insufficient_credits: async () => ask('/v1/countries/KEN', (await service.account({ credits: 0 })).key),
  max_credits_exceeded: () => ask('/v1/data?indicator=alpha.life_expectancy&max_credits=8'),
  key_restricted: async () => {
    const rules = { monthly_limit: null, ranges: ['203.0.113.0/24'], origins: [] };
    return ask('/v1/ping', (await service.account({ rules })).key);
  },
  key_scope: async () => ask('/v1/ping', await unscoped()),
  export_restricted: () => ask('/v1/data?indicator=gamma.reserves'),
  not_found: () => ask('/v1/nothing'),
  country_not_found: () => ask('/v1/countries/ZZZ'),
  edition_not_found: () => ask('/v1/indicators?as_of=1999-12-31'),
  file_not_found: async () => {
    const snapshot = service.snapshots.current();
    if (snapshot) vi.spyOn(snapshot, 'bundle').mockResolvedValueOnce(null);
    return ask('/v1/bundles/alpha.parquet');
  },
  range_not_satisfiable: async () => {
    const headers = { range: 'bytes=0-1' };
    return codeOf(await service.get('/v1/data?indicator=alpha.life_expectancy', { key: owner.key, headers }));
  },
  figure_not_found: async () => ask('/v1/receipts?indicator=alpha.life_expectancy&country=KEN&year=1066'),
  not_in_edition: () => ask('/v1/data?indicator=beta.empty_series&transform=growth'),
  log_size_not_found: () => ask('/v1/log/consistency?from=9'),
  indicator_not_found: () => ask('/v1/indicators/none.such'),
  method_not_allowed: async () => codeOf(await service.get('/v1/topics', { method: 'POST' })),
  expectation_failed: () => rawCode('GET / HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n'),
  header_too_large: () => rawCode(`GET / HTTP/1.1\r\nX: ${'a'.repeat(50_000)}\r\n\r\n`),
  rate_limited: async () => {
    const { key } = await service.account();
    for (let call = 0; call < 30; call += 1) await service.get('/v1/ping', { key });
    return ask('/v1/ping', key);
  },
  internal_error: async () => {
    const snapshot = service.snapshots.current();
    if (snapshot) vi.spyOn(snapshot.observations, 'select').mockRejectedValueOnce(new Error('broken'));
    return ask('/v1/data?indicator=alpha.life_expectancy');
  },
  unavailable: async () => {
    vi.spyOn(service.snapshots, 'current').mockReturnValueOnce(null);
    return ask('/v1/topics');
  },
};

describe('every error code', () => {
  test.each(Object.keys(ERRORS) as ErrorCode[])('%s is reachable', async (code) => {
    expect(await CAUSES[code]()).toBe(code);
  });

  test('is in the enumeration of the machine-readable description, and no other is', () => {
    const document = JSON.stringify(buildOpenApi());
    const [, listed = ''] = /"code":\{"type":"string","enum":\[([^\]]+)\]/.exec(document) ?? [];
    expect(JSON.parse(`[${listed}]`)).toEqual(Object.keys(ERRORS));
  });
});

const CALLS = Object.entries(buildOpenApi().paths as Record<string, object>).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace('/data/api/v1', '/v1')}`),
);
test.each(CALLS.filter((call) => !call.startsWith('HEAD ')))(
  'the documentation shows a call of %s',
  (call) => {
    expect(documentationText()).toContain(call);
  },
);
