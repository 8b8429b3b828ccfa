/** Verdicts and reasons from figures alone. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ClaimedNumber,
  readNumber,
} from '../../../../../gateway/api/operations/proofs/claims/claimed-number.ts';
import {
  type Candidates,
  diagnose,
  type EarlierFigure,
  judge,
  type Reason,
} from '../../../../../gateway/api/operations/proofs/claims/judge.ts';

function number(text: string): ClaimedNumber {
  const claimed = readNumber(text);
  if (claimed === null) throw new Error(`${text} is not read`);
  return claimed;
}

const earlier = (value: number, edition: string, unit: string | null = 'km'): EarlierFigure => ({
  unit,
  value,
  edition,
  superseded_by: `after ${edition}`,
});

describe('the verdict', () => {
  const before = [
    earlier(12.4, 'third'),
    earlier(12.46, 'second'),
    earlier(30, 'first'),
    earlier(12.44, 'oldest'),
  ];
  test.each<[string, number | null, string, string | null]>([
    ['12.5', 12.5, 'exact', null],
    // Right today comes before right once, and right once before nearly right.
    ['12', 12.3, 'rounded', null],
    ['12.4', 12.45, 'rounded', null],
    ['12.4', 12.5, 'superseded', 'third'],
    ['12.46', 12.5, 'superseded', 'second'],
    ['30', 12.5, 'superseded', 'first'],
    ['12.6', 12.5, 'close', null],
    ['13.0', 12.5, 'mismatch', null],
    // More than 10 % off is no rounding of what was held, either.
    ['10', 12.5, 'close', null],
    ['0', 0, 'exact', null],
    ['30', null, 'no_data', 'first'],
    ['31', null, 'no_data', null],
  ])('%s, of %s: %s', (text, value, verdict, edition) => {
    const judged = judge(number(text), value, before, 'km');
    expect([judged.verdict, judged.earlier?.edition ?? null]).toEqual([verdict, edition]);
  });

  test('is redefined where the figure had another unit', () => {
    const people = earlier(51_000, 'first', 'people');
    expect(judge(number('51000'), 51, [people], 'thousands')).toEqual({
      verdict: 'redefined',
      earlier: people,
    });
    expect(judge(number('51000'), 51, [people], 'people').verdict).toBe('superseded');
    expect(judge(number('51000'), null, [people], 'thousands').verdict).toBe('no_data');
  });

  test('is right only for a number that is held today, and superseded only for one that was', () => {
    // Few digits, so that numbers meet by chance.
    const figure = fc.integer({ min: -40, max: 40 }).map((tenths) => tenths / 10);
    const text = fc.oneof(figure.map(String), fc.integer({ min: -4, max: 4 }).map(String));
    const sample = fc.tuple(text, fc.option(figure), fc.array(figure, { maxLength: 4 }));
    const agrees = (claim: string, value: number): boolean =>
      Number(claim) === value ||
      (Number(claim) !== 0 &&
        !claim.includes('.') &&
        Math.abs(Math.round(value * 10) - Number(claim) * 10) <= Math.min(5, Math.abs(value)));
    fc.assert(
      fc.property(sample, ([claim, value, values]) => {
        const editions = values.map((one, at) => earlier(one, String(at)));
        const judged = judge(number(claim), value, editions, 'km');
        const isRight = value !== null && agrees(claim, value);
        const wasRight = values.some((one) => agrees(claim, one));
        expect(judged.verdict === 'exact').toBe(value !== null && Number(claim) === value);
        expect(['exact', 'rounded'].includes(judged.verdict)).toBe(isRight);
        expect(judged.verdict === 'superseded').toBe(value !== null && !isRight && wasRight);
        expect(judged.verdict === 'no_data').toBe(value === null);
        expect(judged.earlier !== null).toBe(!isRight && wasRight);
      }),
      { numRuns: 3_000 },
    );
  });
});

const own = { indicator: 'a.b', iso3: 'KEN', year: 2020, value: 12.5 };
const candidates: Candidates = {
  own,
  twins: [
    { ...own, indicator: 'c.b', value: 13.7, factor: 1 },
    { ...own, indicator: 'd.b', value: 0.0155, factor: 1000 },
  ],
  otherYears: [
    { ...own, year: 2021, value: 14.1 },
    { ...own, year: 2019, value: 11.04 },
    { ...own, year: 2022, value: 14.1 },
    { ...own, year: 2018, value: 11 },
  ],
  otherCountries: [
    { ...own, iso3: 'UGA', value: 88.8 },
    { ...own, iso3: 'USA', value: 14.1 },
  ],
};

const told = (text: string, from: Candidates = candidates): Partial<Reason>[] => diagnose(number(text), from);

describe('reasons', () => {
  test.each([
    ['1250', 2, 0.01],
    ['0.125', 2, 100],
    ['12500', 3, 0.001],
    ['0.0125', 3, 1000],
    ['12500000', 6, 1e-6],
    ['0.0000125', 6, 1e6],
    ['1.25e10', 9, 1e-9],
    ['12.5e-9', 9, 1e9],
  ])('%s is on another scale', (text, _power, factor) => {
    expect(told(text)).toEqual([{ reason: 'scale', ...own, factor, fit: 'exact', matches: 1 }]);
  });

  test('a scale changed in binary arithmetic is still that scale', () => {
    for (const value of [0.57, 1.1, 33.6, 0.07, 4.35, 123456.789]) {
      const claims = [value * 100, value * 1000, value / 100, value / 1e6].map(String);
      for (const claim of claims)
        expect(told(claim, { ...candidates, own: { ...own, value } })[0]).toMatchObject({
          reason: 'scale',
          fit: 'exact',
        });
    }
  });

  test('rounded on another scale', () => {
    expect(told('1300')).toMatchObject([{ reason: 'scale', fit: 'rounded', factor: 0.01 }]);
    expect(told('0.13')).toMatchObject([{ reason: 'scale', fit: 'rounded', factor: 100 }]);
  });

  test('a zero has no scale, and is no small figure of another series', () => {
    expect(told('0')).toEqual([]);
    expect(told('5', { ...candidates, own: { ...own, value: 0 } })).toEqual([]);
  });

  test('a twin, in its unit or in that of the indicator', () => {
    expect(told('13.7')).toMatchObject([{ reason: 'other_provider', indicator: 'c.b', factor: 1 }]);
    expect(told('0.0155')).toMatchObject([{ reason: 'other_provider', indicator: 'd.b', factor: 1 }]);
    expect(told('15.5')).toMatchObject([
      { reason: 'other_provider', indicator: 'd.b', value: 0.0155, factor: 0.001 },
    ]);
  });

  test('a twin in a unit of people, claimed in millions, and one in miles', () => {
    const people = { ...own, indicator: 'c.b', value: 33_845_617, factor: 1e-6 };
    expect(told('33.845617', { ...candidates, twins: [people] })).toMatchObject([
      { reason: 'other_provider', factor: 1e6, fit: 'exact' },
    ]);
    expect(told('33.8', { ...candidates, twins: [people] })).toMatchObject([{ factor: 1e6, fit: 'rounded' }]);
    const miles = { ...own, indicator: 'c.b', value: 100, factor: 1.609344 };
    expect(told('160.9', { ...candidates, twins: [miles] })).toMatchObject([
      { reason: 'other_provider', value: 100, fit: 'rounded' },
    ]);
  });

  test('another year, exact before rounded, then the nearest; and how many agree', () => {
    expect(told('11')).toMatchObject([{ reason: 'wrong_year', year: 2018, fit: 'exact', matches: 2 }]);
    expect(told('14')).toMatchObject([
      { reason: 'other_provider' },
      { reason: 'wrong_year', year: 2021, fit: 'rounded', matches: 2 },
      { reason: 'wrong_country', iso3: 'USA' },
    ]);
  });

  test('those that agree exactly come first', () => {
    expect(told('14.1').map(({ reason, fit }) => [reason, fit])).toEqual([
      ['wrong_year', 'exact'],
      ['wrong_country', 'exact'],
    ]);
    const from = { ...candidates, otherCountries: [{ ...own, iso3: 'USA', value: 14 }] };
    expect(told('14', from).map(({ reason }) => reason)).toEqual([
      'wrong_country',
      'other_provider',
      'wrong_year',
    ]);
  });

  test('without a figure of its own there is no scale', () =>
    expect(told('1250', { ...candidates, own: null })).toEqual([]));
});
