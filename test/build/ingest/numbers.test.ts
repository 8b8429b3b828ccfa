/** Parsing of figures and years. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BAD, readFigure, readYear } from '../../../build/ingest/cells.ts';

describe('numbers', () => {
  it.each([
    ['0', 0],
    ['-0.5', -0.5],
    ['+3', 3],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1000],
    ['1.4809999999999999', 1.4809999999999999],
    ['0.1', 0.1],
    ['9007199254740993', 9007199254740992],
    [' 12 ', 12],
    ['-0', 0],
    [-0, 0],
    [7.25, 7.25],
    [Number.MIN_VALUE, Number.MIN_VALUE],
  ])('%j is the double %d', (raw, value) => {
    expect(readFigure(raw)).toBe(value);
  });

  it.each([null, undefined, '', '   ', '\t'])('%j is a published gap', (raw) => {
    expect(readFigure(raw)).toBeNull();
  });

  it.each([
    ...'n/a|--|12,5|1 000|0x10|1e|e5|1_000|Infinity|-Infinity|NaN|1e999|12.4 [7.6-17.6]|١٢'.split('|'),
    ...[Number.NaN, Number.POSITIVE_INFINITY],
  ])('%j is rejected', (raw) => {
    expect(readFigure(raw)).toBe(BAD);
  });

  it('every finite double round-trips through its text', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        // A negative zero is read as zero.
        expect(readFigure(String(value))).toBe(value + 0);
        expect(readFigure(value)).toBe(value + 0);
      }),
    );
  });
});

describe('years', () => {
  it.each([
    ['2020', 2020],
    ['730', 730],
    ['-10000', -10000],
    [' 1999 ', 1999],
    [2100, 2100],
  ])('%j is the year %d', (raw, year) => {
    expect(readYear(raw)).toBe(year);
  });

  it.each([
    ...'2007-2013|| |2020.0|2020Q1|2020-05|YR1960|1e3|+2020|99999'.split('|'),
    ...[2020.5, Number.NaN],
  ])('%j is no year', (raw) => {
    expect(readYear(raw)).toBe(BAD);
  });
});
