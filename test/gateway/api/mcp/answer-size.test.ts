/** No result is longer than its bound, whatever is asked for and however long names are. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadCurated } from '../../../../data/curated/curated.ts';
import { answerText, fitted, TOKENS_MAX, tokensAtMost } from '../../../../gateway/api/mcp/answer.ts';
import { directoryOfTest } from '../../../after-tests.ts';
import { COUNTRIES, INDICATORS } from '../../fixture-data.ts';
import { publishFixture } from '../../fixture-snapshot.ts';
import { Service, useService } from '../../service.ts';
import { call } from './mcp-client.ts';

const service = await useService();
const key = await service.account({ credits: 1_000_000 });

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

test('one answer holds 216 countries of a year, and 65 years of ten countries', async () => {
  const { countries } = await loadCurated('data');
  const [any] = COUNTRIES;
  const world = any ? countries.slice(0, 216).map(({ iso3, name }) => ({ ...any, iso3, name })) : [];
  const years = Array.from({ length: 65 }, (_none, at) => 1960 + at);
  // Figures of 17 digits, each with its rank.
  const rows = world.flatMap(({ iso3 }, at) =>
    years.map((year) => ({ iso3, year, value: Math.sqrt(year * 300 + at) })),
  );
  const snapshots = await directoryOfTest();
  const id = 'alpha.of_the_world';
  const name = 'A series of usual length (% of population)';
  const made = { id, name, unit: '% of population', topic: 'health', rows };
  await publishFixture(snapshots, { indicators: [made], countries: world });
  await using large = await Service.start({ snapshots });
  const rich = await large.account({ credits: 10_000 });
  for (const [args, count] of [
    [{ indicators: [id], from: 2020, to: 2020 }, 216],
    [{ indicators: [id], countries: world.slice(0, 10).map(({ iso3 }) => iso3), from: 1960 }, 650],
  ] as const) {
    const { structured, figures } = await call(large, 'get_data', args, { key: rich });
    expect([structured.outcome, structured.page, figures.length]).toEqual(['answer', undefined, count]);
  }
});

const ids = INDICATORS.filter(({ access_tier }) => access_tier !== 'display').map(({ id }) => id);
const codes = COUNTRIES.map(({ iso3 }) => iso3);
const long = 'ß東'.repeat(300);
const claimed = (indicator: string, country: string) => ({
  claims: Array.from({ length: 50 }, () => ({ indicator, country, year: 1999, value: 1 })),
});

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
    ['verify_claims', claimed('beta.long_series', 'KEN')],
    ['verify_claims', claimed(long.slice(0, 1_000), long)],
  ];

  test.each(calls)('%s %#', async (name, args) => {
    const { structured, text } = await call(service, name, args, { key });
    for (const face of [text, JSON.stringify(structured)])
      expect(tokensAtMost(face)).toBeLessThanOrEqual(TOKENS_MAX);
  });
});
