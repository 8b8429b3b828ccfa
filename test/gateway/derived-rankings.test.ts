/** `transform` of GET /rankings: ranks of what was derived, against a naive computation over the published figures. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { factorOf, isSame } from '../derived-figures.ts';
import { derivedRows, group, linear, OUTPUT, relative, startDerived } from './derived-world.ts';
import { COUNTRIES } from './fixture-data.ts';
import type { FullRow } from './shape/expected-data.ts';

const { ask } = await startDerived();

const chains = fc.oneof(
  fc.tuple(fc.constantFrom(OUTPUT, 'alpha.deaths'), fc.oneof(relative, fc.constant('per_head'), group)),
  fc.tuple(fc.constantFrom('alpha.rate', 'alpha.deaths'), linear),
);
const rankingYear = fc.option(fc.integer({ min: 1999, max: 2016 }), { nil: 'latest' as const });

/** The newest year with an observed figure; else with any; else that of what is derived from. */
function newestYear(rows: readonly FullRow[], id: string): number {
  const derived = rows.filter(({ value }) => value !== null);
  const held = derived.length > 0 ? derived : derivedRows(id, []).filter(({ value }) => value !== null);
  const observed = held.filter(({ projected }) => !projected);
  return Math.max(...(observed.length > 0 ? observed : held).map(({ year }) => year));
}

const valueIn = (rows: readonly FullRow[], iso3: string, year: number): number | null =>
  rows.find((row) => row.iso3 === iso3 && row.year === year)?.value ?? null;

/** One more than the countries that are better. */
function rankIn(rows: readonly FullRow[], iso3: string, year: number, isLower: boolean): number | null {
  const own = valueIn(rows, iso3, year);
  if (own === null) return null;
  const values = COUNTRIES.map((country) => valueIn(rows, country.iso3, year)).filter(
    (value) => value !== null,
  );
  return values.filter((value) => (isLower ? value < own : value > own)).length + 1;
}

test('rank what was derived, with the change of rank, by the direction of the series or none', async () => {
  await fc.assert(
    fc.asyncProperty(chains, rankingYear, async ([id, word], asked) => {
      const { json, headers } = await ask(`rankings/${id}?transform=${word}&year=${asked}`);
      const rows = derivedRows(id, [word]);
      const year = asked === 'latest' ? newestYear(rows, id) : asked;
      const isLower = id === 'alpha.deaths' && !/^(per|share)/.test(word);
      expect(json.meta).toMatchObject({ year, higher_is_better: isLower ? false : null, transform: [word] });
      expect(json.data).toHaveLength(rows.some((row) => row.year === year) ? COUNTRIES.length : 0);
      for (const { iso3, value, rank, rank_delta_1y } of json.data) {
        const [now, before] = [year, year - 1].map((one) => rankIn(rows, iso3, one, isLower));
        expect(isSame(word, value, valueIn(rows, iso3, year))).toBe(true);
        expect([iso3, rank, rank_delta_1y]).toEqual([iso3, now, now && before ? before - now : null]);
      }
      expect(headers['x-credits-charged']).toBe(String(factorOf([word])));
    }),
    { numRuns: 60 },
  );
});

test('an answer that is kept is that of its own transform and year, in every format', async () => {
  const path = (transform: string) => `rankings/${OUTPUT}?year=2008${transform}`;
  const askAll = () =>
    Promise.all(['', '&transform=change:1', '&transform=change:2'].map((one) => ask(path(one))));
  const first = await askAll();
  expect((await askAll()).map(({ text }) => text)).toEqual(first.map(({ text }) => text));
  expect(new Set(first.map(({ text }) => text)).size).toBe(3);
  const csv = await ask(path('&transform=change:1&format=csv'));
  const values = csv.text
    .split('\r\n')
    .slice(1, -1)
    .map((line) => line.split(',')[5] ?? '');
  expect(values).toEqual(
    first[1]?.json.data.map(({ value }: FullRow) => (value === null ? '' : String(value))),
  );
});
