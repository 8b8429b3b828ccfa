/** Filters on typed columns, against the plain definition, over many random filters. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { csv } from '../../../../gateway/api/encoders/tables/csv.ts';
import { json } from '../../../../gateway/api/encoders/tables/json.ts';
import { countRows, IndicatorColumns } from '../../../../gateway/api/snapshot/rows/indicator-columns.ts';
import { formatRows, ObservationTable } from '../../../../gateway/api/snapshot/rows/observations.ts';

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

test('select gives exactly the rows that pass, as JSON and as CSV', async () => {
  await fc.assert(
    fc.asyncProperty(rowsArbitrary, filterArbitrary, async (rows, filter) => {
      const held = columnsOf(rows);
      const ranges = held.select(filter);
      const expected = rows.filter(passes(filter));
      expect(countRows(ranges)).toBe(expected.length);
      const selected = new ObservationTable(ranges, (format) => formatRows(held, 'x.y', format));
      const table = { indicator: {} as IndicatorRecord, rows: selected, meta: () => ({}) };
      const { data } = JSON.parse(Buffer.concat(await json.encodeCached(table)).toString());
      expect(data.map(({ iso3, year }: Row) => ({ iso3, year }))).toEqual(expected);
      const pieces = await csv.encodeCached(table);
      if (expected.length === rows.length) expect(pieces).toHaveLength(1);
      const [header, ...records] = Buffer.concat(pieces).toString().trimEnd().split('\r\n');
      expect(header).toBe('indicator,iso3,year,value,ci_lo,ci_hi,rank,projected');
      expect(records.map((record) => record.split(',').slice(0, 3))).toEqual(
        expected.map(({ iso3, year }) => ['x.y', iso3, String(year)]),
      );
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
