/** Parameters that an operation does not know, or that are sent twice: refused where a call costs something, else named. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isPriced } from '../../gateway/api/operations/operation.ts';
import { OPERATIONS } from '../../gateway/api/operations/operations.ts';
import {
  fail,
  parameterReader,
  parseQueryString,
  text,
} from '../../gateway/api/operations/parameters/parameters.ts';
import { PUBLIC_ROUTES } from './public-routes.ts';
import { type Answer, useService } from './service.ts';

const service = await useService();
const owner = await service.account({ credits: 100_000 });

const STRICT = { prefer: 'handling=strict' };
const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`;
const routesOf = (priced: boolean) =>
  PUBLIC_ROUTES.filter(({ template }) => {
    const operation = OPERATIONS.find(({ path }) => `/v1${path}` === template);
    return operation !== undefined && isPriced(operation) === priced;
  });
const problems = ({ json }: Answer): { loc: string[]; type: string; ctx?: { nearest?: string } }[] =>
  json.detail;
const ask = (path: string, headers = {}) => service.get(path, { key: owner.key, headers });

describe.each(routesOf(true))('$template, which costs something', ({ path }) => {
  test('refuses an unknown parameter, free', async () => {
    const before = await service.balance(owner);
    const answer = await ask(withQuery(path, 'colour=red'));
    expect(answer.status).toBe(422);
    expect(problems(answer)).toEqual([
      expect.objectContaining({ loc: ['query', 'colour'], type: 'extra_forbidden', input: 'red' }),
    ]);
    expect(await service.balance(owner)).toBe(before);
  });

  test('answers whatever key stands in the query', async () => {
    const query = 'key=a&api_key=b&apikey=c&token=d&access_token=e&key=f';
    const answer = await ask(withQuery(path, query));
    expect(answer.status).toBe(200);
    expect(answer.headers).not.toHaveProperty('x-ignored-parameters');
  });
});

describe.each(routesOf(false))('$template, which is free', ({ path }) => {
  test('ignores unknown parameters and names them, but no key', async () => {
    const plain = await ask(path);
    const answer = await ask(withQuery(path, 'colour=red&a%2Cb=1&token=secret&%C3%A9=&colour=blue'));
    expect([answer.status, answer.headers['x-ignored-parameters']]).toEqual([200, 'colour, a%2Cb, %C3%A9']);
    if (answer.headers.etag !== undefined) expect(answer.text).toBe(plain.text);
    expect(answer.headers['access-control-expose-headers']?.toString()).toContain('X-Ignored-Parameters');
    expect(String(answer.headers.vary)).toContain('Prefer');
  });

  test('refuses them on request', async () => {
    const answer = await ask(withQuery(path, 'colour=red'), STRICT);
    expect(answer.status).toBe(422);
    expect(problems(answer)[0]).toMatchObject({ loc: ['query', 'colour'], type: 'extra_forbidden' });
    expect(answer.headers['preference-applied']).toBe('handling=strict');
    const fine = await ask(withQuery(path, 'token=1'), STRICT);
    expect([fine.status, fine.headers['preference-applied']]).toEqual([200, 'handling=strict']);
  });
});

test('a misspelt filter is told what was meant, besides what else is wrong', async () => {
  const nearest = async (query: string) =>
    problems(await ask(`/v1/data?${query}`)).map(({ ctx, type }) => ctx?.nearest ?? type);
  expect(await nearest('indicator=alpha.life_expectancy&country=KEN')).toEqual(['countries']);
  expect(await nearest('indicater=alpha.life_expectancy')).toEqual(['missing', 'indicator']);
  expect(await nearest('indicator=alpha.life_expectancy&From=2020&asof=2026-11-20')).toEqual([
    'from',
    'as_of',
  ]);
});

test('a repeated parameter is refused where a call costs something; claims may repeat', async () => {
  const twice = await ask('/v1/data?indicator=alpha.life_expectancy&countries=KEN&countries=DEU');
  expect(problems(twice)).toEqual([
    { loc: ['query', 'countries'], msg: 'Input should be sent once', type: 'repeated' },
  ]);
  const claim = 'claim=alpha.life_expectancy,KEN,2020,62.5';
  expect((await ask(`/v1/verify?${claim}&${claim}`)).json.data).toHaveLength(2);
});

test('of a repeated parameter of a free call the last counts, and it is named', async () => {
  const answer = await service.get('/v1/indicators?limit=1&limit=2');
  expect([answer.json.data.length, answer.headers['x-ignored-parameters']]).toEqual([2, 'limit']);
  expect((await ask('/v1/indicators?limit=1&limit=2', STRICT)).status).toBe(422);
});

test('an answer from the cache names what its own request sent', async () => {
  const named: unknown[] = [];
  for (const query of ['', '', '', 'a=1', 'b=2', '', 'a=1', 'a=3']) {
    const { headers } = await service.get(`/v1/countries?region=South%20Asia&${query}`);
    named.push(headers['x-ignored-parameters']);
  }
  expect(named).toEqual([undefined, undefined, undefined, 'a', 'b', undefined, 'a', 'a']);
  for (let time = 0; time < 3; time += 1) {
    const path = '/v1/countries?region=South%20Asia&a=1';
    expect([(await service.get(path)).status, (await service.get(path, { headers: STRICT })).status]).toEqual(
      [200, 422],
    );
  }
});

test('an answer names at most twenty, in a header that clients accept', async () => {
  const long = Array.from({ length: 60 }, (_, at) => `${'é'.repeat(60)}${at}=1`)
    .map(encodeURI)
    .slice(0, 30)
    .join('&');
  const answer = await service.get(`/v1/topics?${long}`);
  expect(String(answer.headers['x-ignored-parameters']).split(', ')).toHaveLength(20);
  expect(String(answer.headers['x-ignored-parameters']).length).toBeLessThan(8_000);
  expect(problems(await service.get(`/v1/topics?${long}`, { headers: STRICT }))).toHaveLength(20);
});

test.each([
  ['handling=strict', true],
  ['Handling="STRICT"', true],
  ['respond-async, handling = strict; x=1', true],
  ['handling=lenient, handling=strict', false],
  ['handling=lenient', false],
  ['strict', false],
  ['', false],
])('Prefer: %s', async (prefer, isStrict) => {
  const { status, headers } = await service.get('/v1/topics?a=1', { headers: { prefer } });
  expect([status, headers['preference-applied'] !== undefined]).toEqual([isStrict ? 422 : 200, isStrict]);
});

test('every query is read in full or refused: nothing is dropped in silence but keys', () => {
  const names = fc.constantFrom(
    'indicator',
    'countries',
    'country',
    'from',
    'key',
    'toString',
    '__proto__',
    '',
  );
  const value = fc.constantFrom('alpha.life_expectancy', 'KEN', '2020', '%FF', '');
  const operation = OPERATIONS.find(({ name }) => name === 'getData');
  if (!operation) throw new Error('no getData');
  const [lenient, priced] = [parameterReader(operation.query), parameterReader(operation.query, true)];
  fc.assert(
    fc.property(fc.array(fc.tuple(names, value), { maxLength: 5 }), (pairs) => {
      const sent = parseQueryString(pairs.map((pair) => pair.join('=')).join('&'));
      const [free, strict, paid] = [lenient(sent), lenient(sent, true), priced(sent)];
      expect(strict).toEqual(paid);
      const counted = ['indicator', 'countries', 'from'];
      const times = (name: string) => pairs.filter(([one]) => one === name).length;
      const surplus = [...new Set(pairs.map(([name]) => name))].filter(
        (name) => name !== 'key' && (!counted.includes(name) || times(name) > 1),
      );
      expect(paid.ok).toBe(free.ok && surplus.length === 0);
      if (free.ok) expect(new Set(free.ignored)).toEqual(new Set(surplus));
    }),
  );
});

/** Of every other parameter the last value counts. */
const upper = z
  .array(z.string())
  .transform((all, ctx) => {
    const at = all.indexOf('');
    if (at < 0) return all.map((one) => one.toUpperCase());
    return fail(ctx, { type: 'string_too_short', ctx: { min_length: 1 }, input: '', at, part: 'word' });
  })
  .meta({ type: 'array', items: { type: 'string' } });
const readRepeatable = parameterReader(z.object({ many: upper.optional(), one: text().optional() }));
const reading = (query: string) => readRepeatable(parseQueryString(query));

test('a parameter that may be repeated is read as a list: all values in the order sent, whatever stands between them', () => {
  const name = fc.constantFrom('many', 'one', 'other');
  const pairs = fc.array(fc.tuple(name, fc.string({ unit: 'binary', minLength: 1 })));
  fc.assert(
    fc.property(pairs, (sent) => {
      const of = (wanted: string) => sent.filter(([one]) => one === wanted).map(([, value]) => value);
      const many = of('many').map((value) => value.toUpperCase());
      const one = of('one').at(-1);
      expect(reading(new URLSearchParams(sent).toString())).toEqual({
        ok: true,
        values: { ...(many.length > 0 && { many }), ...(one !== undefined && { one }) },
        controls: {},
        ignored: expect.any(Array),
      });
    }),
  );
});

test('a failure names the index and the part', () => {
  expect(reading('many=a&many=&many=b')).toEqual({
    ok: false,
    detail: [
      {
        loc: ['query', 'many', 1, 'word'],
        msg: 'String should have at least 1 character',
        type: 'string_too_short',
        input: '',
        ctx: { min_length: 1 },
      },
    ],
  });
});

test('a value that is not UTF-8 is named by its index, and only where it counts', () => {
  expect(reading('many=a&many=%FF&one=%FF&one=b')).toMatchObject({
    ok: false,
    detail: [{ loc: ['query', 'many', 1], type: 'string_unicode' }],
  });
  expect(reading('one=b&one=%FF')).toMatchObject({ ok: false, detail: [{ loc: ['query', 'one'] }] });
});
