/** No result is longer than its bound, whatever is asked for and however long names are. */
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { answerText, fitted, TOKENS_MAX, tokensAtMost } from '../../../../gateway/api/mcp/answer.ts';
import { COUNTRIES, INDICATORS } from '../../fixture-data.ts';
import { Service } from '../../service.ts';
import { call } from './mcp-client.ts';

const service = await Service.start();
const key = await service.account({ credits: 1_000_000 });
afterAll(() => service.stop());

test('the count exceeds that of the finest division of a text that a tokenizer makes of figures', () => {
  expect(tokensAtMost('12345.6789')).toBe(10);
  expect(tokensAtMost('a quick brown fox')).toBe(1 + 1 + 2 + 1 + 2 + 1 + 1);
  expect(tokensAtMost('東京')).toBe(4);
});

test('rows are left out until an answer fits, and no more than needed', () => {
  fc.assert(
    fc.property(fc.nat(3_000), fc.string({ maxLength: 400 }), (rows, text) => {
      const make = (count: number) => ({
        outcome: 'answer' as const,
        message: '',
        edition: null,
        rows: Array.from({ length: count }, (_none, at) => ({ at, text })),
      });
      const size = (count: number) =>
        Math.max(tokensAtMost(JSON.stringify(make(count))), tokensAtMost(answerText(make(count))));
      const kept = fitted(rows, make).rows.length;
      expect(size(kept)).toBeLessThanOrEqual(TOKENS_MAX);
      if (kept < rows) expect(size(Math.ceil(kept * 1.2) + 2)).toBeGreaterThan(TOKENS_MAX);
    }),
    { numRuns: 40 },
  );
});

const ids = INDICATORS.filter(({ access_tier }) => access_tier !== 'display').map(({ id }) => id);
const codes = COUNTRIES.map(({ iso3 }) => iso3);
const long = 'ß東'.repeat(300);

describe('the longest calls', () => {
  const calls: [string, Record<string, unknown>][] = [
    ['find_indicators', { query: 'long series life gdp population emissions', limit: 20 }],
    ['describe_indicator', { indicator: 'alpha.life_expectancy' }],
    ['describe_indicator', { indicator: long }],
    ['get_data', { indicators: ids.slice(0, 10), from: -5000 }],
    ['get_data', { indicators: ids.slice(0, 10), countries: codes, from: 1, to: 2 }],
    [
      'get_data',
      { indicators: ids.slice(0, 10), countries: Array.from({ length: 60 }, (_none, at) => `${long} ${at}`) },
    ],
    ['rank_countries', { indicator: 'beta.long_series', limit: 250 }],
    ['rank_countries', { indicator: long, countries: [long] }],
    ['get_data', { [long]: long, indicators: long, countries: `${long},${long}` }],
    ['compare_countries', { indicators: ids.slice(0, 5), countries: codes }],
    ['country_profile', { country: 'KEN' }],
    ['country_profile', { country: 'KEN', topic: long }],
    [
      'verify_claims',
      {
        claims: Array.from({ length: 50 }, () => ({
          indicator: 'beta.long_series',
          country: 'KEN',
          year: 1999,
          value: 1,
        })),
      },
    ],
    [
      'verify_claims',
      {
        claims: Array.from({ length: 50 }, () => ({
          indicator: long.slice(0, 1_000),
          country: long,
          year: 1999,
          value: 1,
        })),
      },
    ],
  ];

  test.each(calls)('%s %#', async (name, args) => {
    const { structured, text } = await call(service, name, args, { key });
    for (const face of [text, JSON.stringify(structured)])
      expect(tokensAtMost(face)).toBeLessThanOrEqual(TOKENS_MAX);
  });
});
