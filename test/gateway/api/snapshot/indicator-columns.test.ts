/** Filters on typed columns, against the plain definition, over many random filters. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IndicatorColumns, SelectedRows } from '../../../../gateway/api/snapshot/rows/indicator-columns.ts';

interface Row {
  iso3: string;
  year: number;
}

const CODES = ['AAA', 'ABC', 'KEN', 'USA', 'ZWE'];

/** Rows as a file holds them: by country, then year, each pair once. */
const rowsArbitrary = fc
  .uniqueArray(fc.record({ iso3: fc.constantFrom(...CODES), year: fc.integer({ min: -3, max: 12 }) }), {
    selector: ({ iso3, year }) => `${iso3}${year}`,
    maxLength: 60,
  })
  .map((rows) => rows.toSorted((a, b) => (a.iso3 === b.iso3 ? a.year - b.year : a.iso3 < b.iso3 ? -1 : 1)));

function columnsOf(rows: Row[]): IndicatorColumns {
  const countries = [...new Set(rows.map(({ iso3 }) => iso3))];
  const starts = countries.map((country) => rows.findIndex(({ iso3 }) => iso3 === country));
  const columns = {
    year: Int32Array.from(rows, ({ year }) => year),
    value: Float64Array.from(rows, (_, at) => at / 8),
    ciLo: null,
    ciHi: null,
    rank: Int16Array.from(rows, (_, at) => at),
    rankDelta: new Int16Array(rows.length),
    projected: new Uint8Array(rows.length),
  };
  return new IndicatorColumns(columns, countries, Uint32Array.from([...starts, rows.length]));
}

const filterArbitrary = fc.record(
  {
    countries: fc.uniqueArray(fc.constantFrom(...CODES, 'ZZZ')).map((codes) => codes.toSorted()),
    from: fc.integer({ min: -5, max: 15 }),
    to: fc.integer({ min: -5, max: 15 }),
  },
  { requiredKeys: [] },
);

const passes =
  (filter: { countries?: string[]; from?: number; to?: number }) =>
  ({ iso3, year }: Row): boolean =>
    (filter.countries?.includes(iso3) ?? true) &&
    year >= (filter.from ?? -Infinity) &&
    year <= (filter.to ?? Infinity);

test('selected rows are exactly those that pass, and so is their text', async () => {
  await fc.assert(
    fc.asyncProperty(rowsArbitrary, filterArbitrary, async (rows, filter) => {
      const held = columnsOf(rows);
      const lines = rows.map(({ iso3, year }) => `${iso3} ${year}`);
      const text = { buffer: Buffer.from(`head:${lines.join(';')}`), head_bytes: 5, separator_bytes: 1 };
      const ends = Uint32Array.from(lines, (_, row) => 4 + lines.slice(0, row + 1).join(';').length + 1);
      const selected = new SelectedRows(held, filter, {}, () => ({ ...text, ends }));
      const expected = rows.filter(passes(filter));
      expect(selected.count).toBe(expected.length);
      expect(Array.from(selected.at, (row) => rows[row])).toEqual(expected);
      expect(Array.from(selected.country, (at) => held.countries[at])).toEqual(
        expected.map(({ iso3 }) => iso3),
      );
      const pieces = await selected.text('test', () => Promise.reject(new Error('it is kept')));
      if (expected.length === rows.length) expect(pieces).toHaveLength(1);
      const passing = expected.map(({ iso3, year }) => `${iso3} ${year}`);
      expect(Buffer.concat(pieces).toString()).toBe(`head:${passing.join(';')}`);
    }),
  );
});

test('adjacent ranges are merged', () => {
  const held = columnsOf([
    { iso3: 'AAA', year: 1 },
    { iso3: 'ABC', year: 1 },
    { iso3: 'KEN', year: 1 },
  ]);
  expect(held.select({ from: 1, to: 1 })).toEqual([{ start: 0, end: 3 }]);
  expect(held.select({ countries: ['AAA', 'KEN'] })).toHaveLength(2);
});

test('rowOf finds the row of a country and year', () => {
  fc.assert(
    fc.property(
      rowsArbitrary,
      fc.constantFrom(...CODES, 'ZZZ'),
      fc.integer({ min: -5, max: 15 }),
      (rows, iso3, year) => {
        const at = rows.findIndex((row) => row.iso3 === iso3 && row.year === year);
        expect(columnsOf(rows).rowOf(iso3, year)).toBe(at);
      },
    ),
  );
});
