/** What a call costs, told before: generated priced calls, each asked for its price, then made. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { FORMATS, LIST_FORMATS } from '../../gateway/api/encoders/encoders.ts';
import { FIELDS } from '../../gateway/api/operations/observations/long-table.ts';
import { FIXTURE_ID } from './fixture-snapshot.ts';
import type { Answer, Service, TestKey } from './service.ts';

const OPEN = [
  'alpha.life_expectancy',
  'beta.long_series',
  'beta.empty_series',
  'beta.gaps_only',
  'alpha.regime_code',
];
const indicator = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...OPEN) },
  { weight: 1, arbitrary: fc.constantFrom('gamma.reserves', 'none.such') },
);
const country = fc.constantFrom('KEN', 'deu', 'UGA', 'ZZZ');
const year = fc.integer({ min: 1990, max: 2024 });
const optional = (name: string, value: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
  fc.option(value, { nil: undefined }).map((sent) => (sent === undefined ? '' : `&${name}=${sent}`));
const joined = (...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...parts).map((texts) => texts.join(''));
const place = fc.oneof(country, fc.constantFrom('ke', '276', '@eu', '@un-africa'));
const listOf = (one: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(one, { minLength: 1, maxLength: 3 }).map((all) => all.join(','));
const format = (names: readonly string[]) => optional('format', fc.constantFrom(...names));
const asOf = optional('as_of', fc.constantFrom('2026-11-20', FIXTURE_ID));
const fields = fc.subarray([...FIELDS], { minLength: 1 }).map((names) => names.join(','));
const oneTransform = fc.oneof(
  fc
    .tuple(fc.constantFrom('change', 'growth', 'mean'), fc.integer({ min: 0, max: 5 }))
    .map((parts) => parts.join(':')),
  fc.constantFrom('per_head', 'index:2000', 'share:wb-sub-saharan-africa', 'share:none'),
  fc.constantFrom('alpha.population_total', 'gamma.reserves', 'none.such').map((id) => `per:${id}`),
);
const transform = optional(
  'transform',
  fc.array(oneTransform, { minLength: 1, maxLength: 2 }).map((words) => words.join(',')),
);
const wrong = fc.oneof(
  { weight: 12, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom('&colour=red', '&as_of=1999-01-01', '&from=x', '&key=a') },
);
const years = fc
  .tuple(
    optional('from', fc.integer({ min: 1990, max: 2010 })),
    optional('to', fc.integer({ min: 2010, max: 2024 })),
  )
  .map((texts) => texts.join(''));
const claim = fc.tuple(indicator, country, year).map((parts) => `&claim=${parts.join(',')},62.5`);

/** Path and query of calls that cost something, good and bad ones. */
export const pricedCalls: fc.Arbitrary<string> = fc.oneof(
  joined(
    fc.oneof(
      indicator.map((id) => `/v1/data?indicator=${id}`),
      listOf(indicator).map((ids) => `/v1/data?indicators=${ids}`),
    ),
    optional('countries', listOf(place)),
    years,
    fc.oneof(optional('fields', fields), optional('layout', fc.constantFrom('long', 'wide'))),
    optional('latest', fc.integer({ min: 1, max: 3 })),
    optional('missing', fc.constantFrom('null', 'omit')),
    transform,
    format(FORMATS),
    asOf,
    wrong,
  ),
  joined(
    country.map((code) => `/v1/countries/${code}?`),
    optional('topic', fc.constantFrom('health', 'none')),
    optional('featured', fc.boolean()),
    format(LIST_FORMATS),
    asOf,
    wrong,
  ),
  joined(
    indicator.map((id) => `/v1/rankings/${id}?`),
    optional('year', year),
    transform,
    format(FORMATS),
    asOf,
    wrong,
  ),
  joined(
    fc.constant('/v1/verify?'),
    fc.array(claim, { minLength: 1, maxLength: 4 }).map((all) => all.join('')),
  ),
  joined(
    indicator.map((id) => `/v1/revisions?indicator=${id}`),
    optional('countries', listOf(place)),
    optional('since', fc.constant(FIXTURE_ID)),
    format(LIST_FORMATS),
    wrong,
  ),
  joined(
    indicator.map((id) => `/v1/receipts?indicator=${id}&year=2020`),
    country.map((code) => `&country=${code}`),
    asOf,
  ),
  joined(
    fc.oneof(
      indicator.map((id) => `/v1/files/${id}.parquet?`),
      fc.constantFrom('alpha', 'beta', 'gamma', 'none').map((id) => `/v1/bundles/${id}.parquet?`),
    ),
    asOf,
    wrong,
  ),
);

/** @throws for an answer that was never charged or refused as a call of the account */
function charged({ status, headers, text }: Answer): number {
  const sent = headers['x-credits-charged'];
  if (sent === undefined) throw new Error(`${status} ${text}`);
  return Number(sent);
}

const TRIES = 5;

/** A busy machine may hold Redis back for longer than a command may take: then a caller asks again. */
async function answered(ask: () => Promise<Answer>): Promise<Answer> {
  let answer = await ask();
  for (let tried = 1; answer.status === 503 && tried < TRIES; tried += 1) answer = await ask();
  return answer;
}

/** The price told is the price charged, `max_credits` is never exceeded, and a dry run refuses what the call does. */
export const priceProperty = (service: Service, caller: () => TestKey) =>
  fc.asyncProperty(pricedCalls, fc.integer({ min: -2, max: 2 }), async (path, more) => {
    const { key } = caller();
    const ask = (extra: string) => answered(() => service.get(path + extra, { key }));
    const told = await ask('&dry_run=true&max_credits=0');
    expect(charged(told)).toBe(0);
    if (told.status !== 200) {
      const refused = await ask('');
      expect([refused.status, refused.text]).toEqual([told.status, told.text]);
      expect(charged(refused)).toBe(0);
      return;
    }
    const { price, rows, balance_after } = told.json.data;
    const limit = Math.max(0, price + more);
    const limited = await ask(`&max_credits=${limit}`);
    expect(limited.status).toBe(price <= limit ? 200 : 402);
    expect(charged(limited)).toBe(price <= limit ? price : 0);
    const made = price <= limit ? limited : await ask('');
    expect(charged(made)).toBe(price);
    expect(Number(made.headers['x-credits-remaining'])).toBe(balance_after);
    const count = made.json?.meta.count;
    if (count !== undefined) expect(count).toBe(rows);
  });
