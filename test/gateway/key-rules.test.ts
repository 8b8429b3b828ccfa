/** Rules of a key over HTTP: monthly limit, address ranges, origins. What a rule refuses is free, and says why. */
import { describe, expect, test } from 'vitest';
import { dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { foldUsageByKey, readUsageDays } from '../../gateway/api/metering/usage.ts';
import type { KeyRules } from '../../gateway/commerce/store/records.ts';
import { type Answer, codeOf, type TestKey, useService } from './service.ts';

const SITE = 'https://maps.example';
const COUNTRY = '/v1/countries/KEN';
const SERIES = '/v1/data?indicator=alpha.life_expectancy';
const FILE = '/v1/files/alpha.life_expectancy.parquet';
const NONE: KeyRules = { monthly_limit: null, ranges: [], origins: [] };

const service = await useService({ settings: { TRUST_PROXY: '127.0.0.1' } });

const bound = (rules: Partial<KeyRules>): Promise<TestKey> =>
  service.account({ rules: { ...NONE, ...rules } });
const from = (address: string) => ({ 'x-forwarded-for': address });
const messageOf = ({ json }: Answer): string => (json as { error: { message: string } }).error.message;
const monthOf = async ({ account_id }: TestKey): Promise<number> =>
  (await service.accounts.keys.list(account_id))[0]?.month_credits ?? -1;

describe('address ranges', () => {
  test('admit the addresses in them, as rate windows see them', async () => {
    const made = await bound({ ranges: ['203.0.113.0/24', '2001:db8::/32'] });
    for (const address of ['203.0.113.7', '::ffff:203.0.113.9', '2001:db8:1::1'])
      expect((await service.get(COUNTRY, { key: made.key, headers: from(address) })).status).toBe(200);
    for (const address of ['203.0.114.7', '2001:db9::1', 'nonsense']) {
      const answer = await service.get(COUNTRY, { key: made.key, headers: from(address) });
      expect([answer.status, codeOf(answer)]).toEqual([403, 'key_restricted']);
      expect(answer.headers['x-credits-remaining']).toBeUndefined();
    }
    const refused = await service.get(COUNTRY, { key: made.key, headers: from('198.51.100.1') });
    expect(messageOf(refused)).toContain('certain addresses only, and 198.51.100.1 is none of them');
    expect(await service.balance(made)).toBe(1000 - 3);
  });

  test('calls that are refused all day are counted, and the counters expire', async () => {
    const made = await bound({ ranges: ['203.0.113.7'] });
    expect(codeOf(await service.get(COUNTRY, { key: made.key }))).toBe('key_restricted');
    const usage = redisKeys.usage(made.account_id, dayOf(service.clock.ms));
    expect(await service.client.hgetall(usage)).toEqual({
      [`/v1/countries/{iso3}|${made.key_id}|requests`]: '1',
      [`/v1/countries/{iso3}|${made.key_id}|errors`]: '1',
    });
    expect(await service.client.pttl(usage)).toBeGreaterThan(0);
  });

  test('calls from elsewhere, however many, use up no window and hinder nobody', async () => {
    const made = await bound({ ranges: ['203.0.113.7'] });
    const home = { key: made.key, headers: from('203.0.113.7') };
    const { headers } = await service.get(COUNTRY, home);
    const away = { key: made.key, headers: from('198.51.100.1') };
    const answers = await Promise.all(Array.from({ length: 60 }, () => service.get(SERIES, away)));
    expect(new Set(answers.map(codeOf))).toEqual(new Set(['key_restricted']));
    const after = await service.get(COUNTRY, home);
    expect(after.status).toBe(200);
    expect(Number(after.headers['x-ratelimit-remaining'])).toBe(Number(headers['x-ratelimit-remaining']) - 1);
  });
});

test('origins admit the pages of these origins alone; a preflight knows no key', async () => {
  const made = await bound({ origins: [SITE], monthly_limit: 100 });
  const call = (origin: string | undefined) =>
    service.get(COUNTRY, { key: made.key, headers: origin === undefined ? {} : { origin } });
  const served = await call(SITE);
  expect(served.status).toBe(200);
  expect(served.headers['access-control-allow-origin']).toBe('*');
  for (const origin of [
    'https://evil.example',
    'http://maps.example',
    `${SITE}:8443`,
    'null',
    `${SITE} `.repeat(9),
  ]) {
    const answer = await call(origin);
    expect([answer.status, codeOf(answer)]).toEqual([403, 'key_restricted']);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  }
  expect(messageOf(await call('https://evil.example'))).toContain('https://evil.example is none of them');
  expect(messageOf(await call(undefined))).toContain('no Origin was sent');
  const headers = {
    origin: 'https://evil.example',
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'authorization',
  };
  expect((await service.get(COUNTRY, { method: 'OPTIONS', headers })).status).toBe(204);
  expect(await service.balance(made)).toBe(1000 - 1);
});

describe('a monthly limit', () => {
  test('refuses with 402 what would pass it, and admits what does not', async () => {
    const made = await bound({ monthly_limit: 3 });
    for (let call = 0; call < 3; call += 1)
      expect((await service.get(COUNTRY, { key: made.key })).status).toBe(200);
    const refused = await service.get(COUNTRY, { key: made.key });
    expect([refused.status, codeOf(refused)]).toEqual([402, 'insufficient_credits']);
    expect(messageOf(refused)).toContain(
      'costs 1 credits; this key may spend 3 in a calendar month (UTC) and has spent 3',
    );
    expect((await service.get('/v1/ping', { key: made.key })).status).toBe(200);
    expect((await service.get(`${SERIES}&dry_run=true`, { key: made.key })).status).toBe(200);
    await service.accounts.keys.setRules(made.key_id, { ...NONE, monthly_limit: 4 });
    expect((await service.get(COUNTRY, { key: made.key })).status).toBe(200);
    expect(await monthOf(made)).toBe(4);
    expect(await service.balance(made)).toBe(1000 - 4);
  });

  test('is not touched by repeats, which are free', async () => {
    const made = await bound({ monthly_limit: 1 });
    const headers = { 'idempotency-key': 'once' };
    for (let call = 0; call < 3; call += 1)
      expect((await service.get(COUNTRY, { key: made.key, headers })).status).toBe(200);
    expect(codeOf(await service.get(COUNTRY, { key: made.key }))).toBe('insufficient_credits');
    expect(await monthOf(made)).toBe(1);
  });

  test('lets parts of a file that was paid for be read', async () => {
    const rows = 1000 - (await priceOfFile());
    const made = await bound({ monthly_limit: 1000 - rows });
    for (let call = 0; call < 2; call += 1)
      expect((await service.get(FILE, { key: made.key })).status).toBe(200);
    expect(codeOf(await service.get(COUNTRY, { key: made.key }))).toBe('insufficient_credits');
    expect(await monthOf(made)).toBe(1000 - rows);
  });
});

async function priceOfFile(): Promise<number> {
  const made = await service.account();
  const { headers } = await service.get(FILE, { key: made.key });
  return Number(headers['x-credits-charged']);
}

test('usage is counted by key, and the ledger names the indicators', async () => {
  const made = await service.account();
  const second = await service.accounts.keys.mint(made.account_id, { label: 'second' });
  await service.get(COUNTRY, { key: made.key });
  await service.get(COUNTRY, { key: made.key });
  await service.get(
    '/v1/data?indicators=alpha.life_expectancy,alpha.population_total&latest=1&countries=ken',
    {
      key: second.key,
    },
  );
  const days = await readUsageDays(service.client, made.account_id, 1, service.clock.ms);
  expect(foldUsageByKey(days)).toMatchObject([
    { key_id: made.key_id, requests: 2, credits: 2 },
    { key_id: second.key_id, requests: 1, rows: 2, credits: 2 },
  ]);
  const ledger = await service.accounts.ledger(made.account_id);
  expect(ledger[0]?.cause).toMatchObject({
    indicators: ['alpha.life_expectancy', 'alpha.population_total'],
    more_indicators: 0,
  });
  expect(ledger[1]?.cause).not.toHaveProperty('indicators');
});
