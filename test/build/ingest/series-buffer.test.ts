import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RawObservation } from '../../../build/connectors/connector.ts';
import { placeFinder, Rejects, UntrustedSeriesError } from '../../../build/ingest/cells.ts';
import { SeriesBuffer } from '../../../build/ingest/series-buffer.ts';
import type { Place } from '../../../data/curated/curated.ts';

const CODES = ['ZWE', 'AFG', 'FRA'];

function resolve(_schemes: readonly string[], code: string): Place {
  if (CODES.includes(code.toUpperCase())) return { kind: 'country', iso3: code.toUpperCase() };
  if (code === 'world') return { kind: 'aggregate' };
  return code === 'ussr' ? { kind: 'historical' } : { kind: 'unknown' };
}

function judge(rows: RawObservation[], bounds: { min?: number; max?: number } = {}) {
  const rejects = new Rejects();
  const buffer = new SeriesBuffer(placeFinder({ resolve }, ['iso3']), rejects);
  buffer.start(bounds);
  buffer.add(rows);
  const finished = buffer.finish();
  const kept = finished.map(({ iso3, year, value }) => [iso3, year, value]);
  return { kept, rejects: rejects.summary(), finished, buffer };
}

describe('a series buffer', () => {
  it('counts rejected rows by reason, with samples', () => {
    const { kept, rejects } = judge(
      [
        { place: 'world', year: 2001, value: 1 },
        { place: 'FRA', year: 2001, value: 1, aggregate: true },
        { place: 'ussr', year: 1980, value: 1 },
        { place: 'Atlantis', year: 2001, value: 1 },
        { place: 'Atlantis', year: 2002, value: 1 },
        { place: 'FRA', year: '2001-2003', value: 1 },
        { place: 'FRA', year: 2001, value: 'many' },
        { place: 'FRA', year: 2001, value: 1, ci_lo: 'few' },
        { place: 'FRA', year: 2001, value: 101 },
        { place: 'FRA', year: 2001, value: 1, withdrawn: true },
        { place: 'FRA', year: 2001, value: 1, other_dimension: 'SEX=FMLE' },
      ],
      { min: 0, max: 100 },
    );
    expect(kept).toEqual([]);
    expect(rejects).toEqual({
      aggregate_place: { rows: 2, distinct: 2, samples: ['world', 'FRA'] },
      historical_place: { rows: 1, distinct: 1, samples: ['ussr'] },
      unknown_place: { rows: 2, distinct: 1, samples: ['Atlantis'] },
      bad_year: { rows: 1, distinct: 1, samples: ['2001-2003'] },
      bad_number: { rows: 2, distinct: 2, samples: ['FRA 2001: many', 'FRA 2001: few'] },
      out_of_bounds: { rows: 1, distinct: 1, samples: ['FRA 2001: 101'] },
      withdrawn: { rows: 1, distinct: 1, samples: ['FRA'] },
      other_dimension: { rows: 1, distinct: 1, samples: ['SEX=FMLE'] },
    });
  });

  it('keeps at most twenty samples and counts all distinct ones', () => {
    const rows = Array.from({ length: 50 }, (_, index) => ({ place: `P${index}`, year: 2001, value: 1 }));
    const known = { place: 'FRA', year: 2001, value: 1 };
    const { unknown_place: unknown } = judge([...rows, ...rows, known]).rejects;
    expect(unknown).toMatchObject({ rows: 100, distinct: 50 });
    expect(unknown?.samples).toHaveLength(20);
  });

  it('fails when no row is left because most have no known place or year, but not when upstream is empty', () => {
    const [code, date, text] = [
      { place: 'Ruritania', year: 2001, value: 1 },
      { place: 'FRA', year: '2020-01-01', value: 1 },
      { place: 'FRA', year: 2001, value: 'Yes' },
    ];
    expect(() => judge([code, code, text])).toThrow(/none of 2 names a place .* has "Ruritania"/);
    expect(() => judge([date, date])).toThrow(
      'no row was accepted: none of 2 has a year; the first has "2020-01-01"',
    );
    for (const rows of [[], [text, text], [code, text], [date, { ...code, place: 'FRA' }]])
      expect(() => judge(rows)).not.toThrow();
  });

  it('merges equal duplicates and counts them', () => {
    const row = { place: 'FRA', year: 2001, value: '1.5', ci_lo: 1, ci_hi: 2 };
    const { kept, rejects } = judge([
      row,
      { ...row, value: 1.5 },
      { place: 'FRA', year: 2002, value: 0 },
      row,
    ]);
    expect(kept).toEqual([
      ['FRA', 2001, 1.5],
      ['FRA', 2002, 0],
    ]);
    expect(rejects).toEqual({ duplicate_key: { rows: 2, distinct: 1, samples: ['FRA 2001'] } });
  });

  it.each([
    [{ value: 1 }, { value: 2 }, 'FRA 2001 has two different values: 1 and 2'],
    [{ value: 1, ci_lo: 0, ci_hi: 3 }, { value: 1 }, 'FRA 2001 has two different values: 1 (0 to 3) and 1'],
    [{ value: 1, projected: true }, { value: 1, projected: false }, /1 projected and 1$/],
    [{ value: 1 }, { value: null, ci_hi: 2 }, '1 and nothing (nothing to 2)'],
    [
      { value: 1 },
      { place: 'fra', value: 2 },
      'FRA 2001 has two different values: 1 of "FRA" and 2 of "fra"',
    ],
  ])('shows both of two conflicting values', (first, second, message) => {
    const rows = [first, second].map((one) => ({ place: 'FRA', year: 2001, ...one }));
    expect(() => judge(rows)).toThrow(UntrustedSeriesError);
    expect(() => judge(rows)).toThrow(message);
  });

  it('takes no figure for no contradiction of one, whichever comes first', () => {
    const figures = [{ value: 0 }, { value: 3, ci_lo: 1, ci_hi: 4 }, { value: null, ci_lo: 1, ci_hi: 4 }];
    const gaps = [{ value: null }, { value: '', blank: true }, { value: null, status: 'suppressed' }];
    for (const figure of figures)
      for (const gap of gaps) {
        const rows = [figure, gap, gap].map((one) => ({ place: 'FRA', year: 2001, ...one }));
        for (const given of [rows, rows.toReversed()]) {
          const { finished, rejects } = judge(given);
          const { value, ci_hi = null } = figure;
          expect(finished).toMatchObject([{ iso3: 'FRA', year: 2001, value, ci_hi, status: null }]);
          expect(rejects).toEqual({ duplicate_key: { rows: 2, distinct: 1, samples: ['FRA 2001'] } });
        }
      }
  });

  it('fails when more than a hundred values and a tenth are out of bounds, and names conflicts, too', () => {
    const years = Array.from({ length: 600 }, (_, at) => 1400 + at);
    const share = (outside: number) =>
      years.map((year, at) => ({ place: 'FRA', year, value: at < outside ? 900 + at : 1 }));
    const bounds = { min: 0, max: 200 };
    expect(judge(share(100), bounds).kept).toHaveLength(500);
    const fault = '101 values are outside the bounds 0 to 200; the first is FRA 1400: 900';
    expect(() => judge(share(101), bounds)).toThrow(fault);
    expect(() => judge(share(101), { max: 200 })).toThrow('101 values are above the bound 200;');
    expect(() => judge(share(600), { min: 2000 })).toThrow('600 values are below the bound 2000;');
    const twice = [5, null, 6].flatMap((value, at) => [
      { place: 'FRA', year: 2001 + at, value: 4 },
      { place: 'FRA', year: 2001 + at, value },
    ]);
    expect(() => judge([...twice, ...share(101)], bounds)).toThrow(
      `FRA 2001 has two different values: 4 and 5; so have 1 more; and ${fault}`,
    );
  });

  it('sorts and merges any rows like a map by country and year', () => {
    const row = fc.record({
      place: fc.constantFrom(...CODES),
      year: fc.integer({ min: 1990, max: 1999 }),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 200 }), (rows) => {
        const figureOf = (place: string, year: number): number => year + CODES.indexOf(place) / 8;
        const { kept } = judge(
          rows.map(({ place, year }) => ({ place, year, value: figureOf(place, year) })),
        );
        const expected = [...new Set(rows.map(({ place, year }) => `${place} ${year}`))]
          .sort()
          .map((key) => key.split(' '))
          .map(([place = '', year]) => [place, Number(year), figureOf(place, Number(year))]);
        expect(kept).toEqual(expected);
      }),
    );
  });
});
