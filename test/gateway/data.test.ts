import { describe, expect, test } from 'vitest';
import { FORMATS } from '../../gateway/api/encoders/encoders.ts';
import { INDICATORS } from './fixture-data.ts';
import { rankRows } from './fixture-ranks.ts';
import { codeOf, Service, useService } from './service.ts';

const service = await useService();
const owner = await service.account({ credits: 1_000_000 });

const get = (query: string) => service.get(`/v1/data?${query}`, { key: owner.key });
const LIFE = 'indicator=alpha.life_expectancy';

/** What the answer must hold, from the figures themselves. */
function expectedRows(id: string) {
  const indicator = INDICATORS.find((candidate) => candidate.id === id);
  if (!indicator) throw new Error(`no ${id}`);
  return rankRows(indicator)
    .toSorted((a, b) => (a.iso3 === b.iso3 ? a.year - b.year : a.iso3 < b.iso3 ? -1 : 1))
    .map(({ iso3, year, value, ci_lo, ci_hi, rank, projected }) => ({
      iso3,
      year,
      value,
      ci_lo: ci_lo ?? null,
      ci_hi: ci_hi ?? null,
      rank,
      projected: projected ?? false,
    }));
}

test.each(INDICATORS.filter(({ access_tier }) => access_tier !== 'display').map(({ id }) => id))(
  'rows %s: every row, ordered by iso3 then year, every double exact',
  async (id) => {
    const answer = await get(`indicator=${id}`);
    const rows = expectedRows(id);
    expect(answer.json.data).toEqual(rows);
    expect(answer.json.meta.count).toBe(rows.length);
    expect(answer.headers['x-credits-charged']).toBe(String(Math.max(1, rows.length)));
  },
);

describe('filters, on cold and hot indicators', () => {
  const id = 'alpha.population_total';
  const all = expectedRows(id);
  const cases: [string, (row: { iso3: string; year: number }) => boolean][] = [
    ['countries=KEN', ({ iso3 }) => iso3 === 'KEN'],
    ['countries=usa,%20ken%20', () => true],
    ['countries=KEN,KEN,ken', ({ iso3 }) => iso3 === 'KEN'],
    ['countries=ZZZ', () => false],
    ['countries=ZZZ,USA', ({ iso3 }) => iso3 === 'USA'],
    ['from=2020', ({ year }) => year >= 2020],
    ['to=2020', ({ year }) => year <= 2020],
    ['from=2020&to=2020', ({ year }) => year === 2020],
    ['from=2020&to=2021&countries=KEN', ({ iso3, year }) => iso3 === 'KEN' && year >= 2020 && year <= 2021],
    ['years=2021', ({ year }) => year === 2021],
    ['years=2022,%202020,2020', ({ year }) => year === 2020 || year === 2022],
    ['years=2020,2021&countries=KEN', ({ iso3, year }) => iso3 === 'KEN' && year >= 2020 && year <= 2021],
    ['years=-5000,3000', () => false],
    ['from=3000', () => false],
    ['to=-5000', () => false],
    ['from=-9007199254740991&to=9007199254740991', () => true],
  ];
  test.each(cases)('%s', async (query, keep) => {
    // Each case asks a gateway that never saw the indicator, then one that has it in memory.
    await using cold = await Service.start();
    const { key } = await cold.account();
    const answers = [];
    for (let time = 0; time < 3; time += 1) {
      answers.push(await cold.get(`/v1/data?indicator=${id}&${query}`, { key }));
    }
    for (const answer of answers) expect(answer.json.data).toEqual(all.filter(keep));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });
});

describe('CSV', () => {
  const csv = (query: string) => get(`${query}&format=csv`);

  test('header, CRLF, empty fields for null', async () => {
    const answer = await csv(`${LIFE}&countries=KEN,ZWE`);
    expect(answer.text).toBe(
      'indicator,iso3,year,value,ci_lo,ci_hi,rank,projected\r\n' +
        'alpha.life_expectancy,KEN,2020,62.5,61,64,3,false\r\n' +
        'alpha.life_expectancy,KEN,2021,63.5,62,65,3,false\r\n' +
        'alpha.life_expectancy,ZWE,2021,,,,,false\r\n',
    );
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(answer.headers['x-credits-charged']).toBe('3');
  });

  test('a file name, the licence and the credit line in headers', async () => {
    const { headers } = await csv(LIFE);
    expect(headers['content-disposition']).toBe('attachment; filename="alpha.life_expectancy.csv"');
    expect(headers.link).toBe('<https://creativecommons.org/licenses/by/4.0/>; rel="license"');
    expect(headers['x-attribution']).toBe('Alpha Institute, CC BY 4.0');
  });

  test('percent-encodes a non-ASCII credit line; omits Link without a licence URL', async () => {
    const { headers } = await csv('indicator=beta.co2_emissions');
    expect(headers['x-attribution']).toMatch(/^[\x20-\x7e]+$/);
    expect(decodeURIComponent(String(headers['x-attribution']))).toBe('Büro “Beta” — 100 % público, 東京');
    expect(headers).not.toHaveProperty('link');
  });

  test('a refusal is JSON', async () => {
    expect(codeOf(await csv('indicator=none.such'))).toBe('indicator_not_found');
  });
});

describe('places by name', () => {
  test.each([
    ['Kenya', 'KEN'],
    ['the+United+States,ken', 'USA,KEN'],
    ['the+EU', '@eu'],
    ['EU+countries,Germany', '@eu'],
    ['Federal+Republic+of+Germany', 'DEU'],
  ])('%s is %s', async (named, coded) => {
    const [byName, byCode] = [
      await get(`${LIFE}&countries=${named}`),
      await get(`${LIFE}&countries=${coded}`),
    ];
    expect(byName.status).toBe(200);
    expect(byName.json).toEqual(byCode.json);
    expect(byName.headers['x-credits-charged']).toBe(byCode.headers['x-credits-charged']);
  });

  test('what has the shape of a code is a code: historical ones and abbreviations match nothing', async () => {
    const codes = ['EU', 'uk', 'ZAR', 'SUN', 'DRC', 'USA,CAR', '999'];
    for (const sent of codes) {
      const { json, headers } = await get(`${LIFE}&countries=${sent}`);
      expect(json.meta.countries).toEqual(sent.toUpperCase().split(','));
      expect(headers['x-unmatched-countries']).toBe(sent.toUpperCase().replace('USA,', ''));
    }
  });

  test('codes that no country has are named in a header that scripts can read', async () => {
    const { headers, json } = await get(`${LIFE}&countries=ken,UK,zzz,Georgia,@eu`);
    expect(headers['x-unmatched-countries']).toBe('UK, ZZZ, GEO');
    expect(headers['access-control-expose-headers']).toContain('X-Unmatched-Countries');
    expect(json.meta.countries).toEqual(['KEN', 'UK', 'ZZZ', 'GEO', 'DEU']);
    expect((await get(`${LIFE}&countries=UK&format=csv`)).headers['x-unmatched-countries']).toBe('UK');
    expect((await get(`${LIFE}&countries=KEN,US`)).headers).not.toHaveProperty('x-unmatched-countries');
  });
});

describe('refusals, all free of charge', () => {
  const cases: [string, string, object][] = [
    ['indicator missing', '', { loc: ['query', 'indicator'], type: 'missing', msg: 'Field required' }],
    ['indicator blank', 'indicator=', { loc: ['query', 'indicator'], type: 'string_too_short' }],
    ['countries blank', `${LIFE}&countries=`, { loc: ['query', 'countries', 0], input: '' }],
    ['countries of blanks', `${LIFE}&countries=%20`, { loc: ['query', 'countries', 0] }],
    ['a code of one letter', `${LIFE}&countries=USA,D`, { loc: ['query', 'countries', 1], input: 'D' }],
    ['an M49 code of two digits', `${LIFE}&countries=04`, { loc: ['query', 'countries', 0], input: '04' }],
    ['an unknown group', `${LIFE}&countries=USA,@no`, { loc: ['query', 'countries', 1], input: '@no' }],
    ['a trailing comma', `${LIFE}&countries=USA,`, { loc: ['query', 'countries', 1], input: '' }],
    ['a code beyond ASCII', `${LIFE}&countries=k%C3%A9n`, { loc: ['query', 'countries', 0], input: 'kén' }],
    [
      'an ambiguous name',
      `${LIFE}&countries=USA,the+Congo`,
      {
        loc: ['query', 'countries', 1],
        input: 'the Congo',
        ctx: { reason: 'ambiguous_place', candidates: [{ iso3: 'COD' }, { iso3: 'COG' }] },
      },
    ],
    [
      'a name that two groups have',
      `${LIFE}&countries=Sub-Saharan+Africa`,
      { ctx: { candidates: [{ group: '@wb-sub-saharan-africa' }, { group: '@un-sub-saharan-africa' }] } },
    ],
    [
      'a misspelt name',
      `${LIFE}&countries=Kenia`,
      { ctx: { reason: 'unknown_place', candidates: [{ iso3: 'KEN', name: 'Kenya' }] } },
    ],
    [
      'a name with a comma, which separates',
      `${LIFE}&countries=Congo,+Dem.+Rep.`,
      {
        loc: ['query', 'countries', 0],
        input: 'Congo',
        ctx: { candidates: [{ iso3: 'COD' }, { iso3: 'COG' }] },
      },
    ],
    ['a former state', `${LIFE}&countries=Soviet+Union`, { ctx: { reason: 'not_a_country' } }],
    [
      'a name of a hundred letters',
      `${LIFE}&countries=${'a'.repeat(101)}`,
      { type: 'string_pattern_mismatch' },
    ],
    ['from after to', `${LIFE}&from=2021&to=2020`, { loc: ['query', 'from'], type: 'value_error' }],
    ['from not an integer', `${LIFE}&from=1e3`, { loc: ['query', 'from'], type: 'int_parsing' }],
    ['to too large', `${LIFE}&to=${'9'.repeat(40)}`, { loc: ['query', 'to'], type: 'int_parsing_size' }],
    [
      'format unknown',
      `${LIFE}&format=xml`,
      {
        loc: ['query', 'format'],
        type: 'literal_error',
        ctx: { expected: FORMATS.map((name) => `'${name}'`).join(' or ') },
      },
    ],
    ['format in upper case', `${LIFE}&format=CSV`, { loc: ['query', 'format'] }],
  ];
  test.each(cases)('%s', async (_name, query, detail) => {
    const before = await service.balance(owner);
    const answer = await get(query);
    expect(answer.status).toBe(422);
    expect(answer.json.detail[0]).toMatchObject(detail);
    expect(answer.headers['x-credits-charged']).toBe('0');
    expect(await service.balance(owner)).toBe(before);
  });

  test('at most 300 countries; duplicates count once', async () => {
    const code = (at: number): string =>
      [Math.floor(at / 676), Math.floor(at / 26) % 26, at % 26]
        .map((letter) => String.fromCharCode(65 + letter))
        .join('');
    const many = Array.from({ length: 301 }, (_, at) => code(at));
    expect((await get(`${LIFE}&countries=${many.slice(0, 300).join(',')}`)).status).toBe(200);
    expect((await get(`${LIFE}&countries=${Array(400).fill('KEN').join(',')}`)).status).toBe(200);
    const answer = await get(`${LIFE}&countries=${many.join(',')}`);
    expect(answer.status).toBe(422);
    expect(answer.json.detail[0]).toMatchObject({
      loc: ['query', 'countries'],
      type: 'too_long',
      ctx: { max_length: 300, actual_length: 301 },
    });
  });

  test('403 export_restricted for a display indicator, also when filtered or as CSV', async () => {
    for (const query of ['', '&countries=BRA', '&format=csv', '&from=1900']) {
      const answer = await get(`indicator=gamma.reserves${query}`);
      expect(answer.status).toBe(403);
      expect(codeOf(answer)).toBe('export_restricted');
      expect(answer.headers['x-credits-charged']).toBe('0');
    }
  });

  test('402 insufficient_credits names price and balance and charges nothing', async () => {
    const poor = await service.account({ credits: 8 });
    const answer = await service.get(`/v1/data?${LIFE}`, { key: poor.key });
    expect(answer.status).toBe(402);
    expect(answer.json.error).toEqual({
      code: 'insufficient_credits',
      message: 'This answer costs 9 credits and the balance is 8.',
    });
    expect(answer.headers['x-credits-remaining']).toBe('8');
    expect((await service.get(`/v1/data?${LIFE}&countries=KEN`, { key: poor.key })).status).toBe(200);
    expect(await service.balance(poor)).toBe(6);
  });

  test('402 for want of credits reads no rows again within the minute, and ends with the first credit', async () => {
    const poor = await service.account({ credits: 8 });
    const ask = (query: string, headers: Record<string, string> = {}) =>
      service.get(`/v1/data?${query}`, { key: poor.key, headers });
    const reads = (): number => {
      const { hits, misses } = service.snapshots.current()?.observations.counts ?? { hits: 0, misses: 0 };
      return hits + misses;
    };
    const first = await ask(LIFE);
    const before = reads();
    for (const headers of [{}, { 'idempotency-key': 'again' }, { prefer: 'handling=strict' }]) {
      const again = await ask(LIFE, headers);
      expect([again.status, again.json.error]).toEqual([402, first.json.error]);
      expect(again.headers['x-credits-remaining']).toBe('8');
    }
    expect((await ask(`${LIFE}&max_credits=9`)).json.error).toEqual(first.json.error);
    expect(reads()).toBe(before);
    // Each counts as a request that failed.
    const { totals } = await service.metering.usage(poor.account_id, 1);
    expect(totals).toEqual({ requests: 5, errors: 5, rows: 0, credits: 0 });
    // Other questions have other prices and other answers.
    expect(codeOf(await ask(`${LIFE}&max_credits=5`))).toBe('max_credits_exceeded');
    expect((await ask(`${LIFE}&dry_run=true`)).json.data.price).toBe(9);
    expect((await ask(`${LIFE}&countries=KEN`)).headers['x-credits-charged']).toBe('2');
    service.clock.ms += 60_000;
    const later = reads();
    expect((await ask(LIFE)).status).toBe(402);
    expect(reads()).toBeGreaterThan(later);
    await service.accounts.grant(poor.account_id, { credits: 3, by: 'test', reason: 'test' });
    const paid = await ask(LIFE);
    expect([paid.status, paid.headers['x-credits-charged']]).toEqual([200, '9']);
    expect(await service.balance(poor)).toBe(0);
  });
});
