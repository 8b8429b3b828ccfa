/** Reading claims: what is accepted, and how each malformed part is named. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  parameterReader,
  parseQueryString,
} from '../../../../../gateway/api/operations/parameters/parameters.ts';
import { CLAIMS_MAX, claimList } from '../../../../../gateway/api/operations/proofs/claim-parameter.ts';

const read = parameterReader(z.object({ claim: claimList() }));
const reading = (...claims: string[]) =>
  read(parseQueryString(claims.map((claim) => `claim=${encodeURIComponent(claim)}`).join('&')));

test('a claim is an indicator, a country, a year and a number', () => {
  expect(reading('a.b, ken ,2020, -12.50', 'a.b,KEN,-0,1e3')).toMatchObject({
    ok: true,
    values: {
      claim: [
        {
          text: 'a.b, ken ,2020, -12.50',
          indicator: 'a.b',
          iso3: 'KEN',
          year: 2020,
          number: { digits: -1250n },
        },
        { indicator: 'a.b', year: 0, number: { double: 1000 } },
      ],
    },
  });
});

describe('a malformed claim is named by its index and part', () => {
  const pattern = 'string_pattern_mismatch';
  test.each<[string, [part: string, type: string, input?: string][]]>([
    [
      '',
      [
        ['indicator', pattern, ''],
        ['iso3', 'missing'],
        ['year', 'missing'],
        ['value', 'missing'],
      ],
    ],
    [
      'a.b',
      [
        ['iso3', 'missing'],
        ['year', 'missing'],
        ['value', 'missing'],
      ],
    ],
    ['a.b,KEN,2020', [['value', 'missing']]],
    [' ,KEN,2020,1', [['indicator', pattern, '']]],
    ['a.b,KENYA,2020,1', [['iso3', pattern, 'KENYA']]],
    ['a.b,ſEN,2020,1', [['iso3', pattern, 'ſEN']]],
    ['a.b,,2020,1', [['iso3', pattern, '']]],
    ['a.b,KEN,latest,1', [['year', pattern, 'latest']]],
    ['a.b,KEN,20.5,1', [['year', pattern, '20.5']]],
    ['a.b,KEN,2020,', [['value', pattern, '']]],
    // A separator of thousands could be a decimal comma elsewhere.
    ['a.b,KEN,2020,1,300,000', [['value', pattern, '1,300,000']]],
    ['a.b,KEN,2020,12%', [['value', pattern, '12%']]],
    ['a.b,KEN,2020,12 million', [['value', pattern, '12 million']]],
    [
      'a.b,K,x,y',
      [
        ['iso3', pattern, 'K'],
        ['year', pattern, 'x'],
        ['value', pattern, 'y'],
      ],
    ],
  ])('%j', (claim, expected) => {
    const result = reading('a.b,KEN,2020,1', claim);
    if (result.ok) throw new Error('it is accepted');
    expect(result.detail.map(({ loc, type, input }) => [loc, type, input])).toEqual(
      expected.map(([part, type, input]) => [['query', 'claim', 1, part], type, input]),
    );
  });

  test('with words for what a value may look like', () => {
    expect(reading('a.b,KEN,2020,1,300')).toMatchObject({
      detail: [{ msg: expect.stringContaining('without thousands separators, percent sign or unit') }],
    });
  });
});

test('of one to fifty claims', () => {
  const claims = Array.from({ length: CLAIMS_MAX }, (_, at) => `a.b,KEN,2020,${at}`);
  expect(reading(...claims)).toMatchObject({ ok: true });
  expect(reading(...claims, 'a.b,KEN,2020,1')).toEqual({
    ok: false,
    detail: [
      {
        loc: ['query', 'claim'],
        type: 'too_long',
        msg: 'List should have at most 50 items',
        ctx: { max_length: 50, actual_length: 51 },
      },
    ],
  });
  expect(read(parseQueryString(''))).toMatchObject({
    detail: [{ loc: ['query', 'claim'], type: 'missing' }],
  });
});
