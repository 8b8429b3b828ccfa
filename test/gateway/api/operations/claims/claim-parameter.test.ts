/** Reading claims: what is accepted, and how each malformed part is named. */
import { expect, test } from 'vitest';
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
  expect(reading('a.b, ken ,2020, -12.50', 'a.b,Kenya,-0,1e3', 'a.b,404,1,1')).toMatchObject({
    ok: true,
    values: {
      claim: [
        {
          text: 'a.b, ken ,2020, -12.50',
          indicator: 'a.b',
          iso3: 'KEN',
          year: 2020,
          number: { digits: '-1250' },
        },
        { indicator: 'a.b', iso3: 'KEN', year: 0, number: { double: 1000 } },
        { iso3: 'KEN' },
      ],
    },
  });
});

test.each([
  ['', 'indicator iso3 year value'],
  ['a.b', 'iso3 year value'],
  ['a.b,KEN,2020', 'value'],
  [' ,KEN,2020,1', 'indicator'],
  ['a.b,KENYYA,2020,1', 'iso3'],
  ['a.b,ſEN,2020,1', 'iso3'],
  ['a.b,,2020,1', 'iso3'],
  ['a.b,KEN,latest,1', 'year'],
  ['a.b,KEN,20.5,1', 'year'],
  ['a.b,KEN,2020,', 'value'],
  ['a.b,KEN,2020,1,30,5', 'value'],
  ['a.b,KEN,2020,$12', 'value'],
  ['a.b,K,x,y', 'iso3 year value'],
])('of a claim that cannot be read, the parts are named; others are read %j', (claim, parts) => {
  expect(reading('a.b,KEN,2020,1,300', claim)).toMatchObject({
    ok: true,
    values: {
      claim: [
        { number: { double: 1300 } },
        { text: claim, unread: parts.split(' ').map((part) => ({ part, expected: expect.any(String) })) },
      ],
    },
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
