import { describe, expect, it } from 'vitest';
import { holdReason } from '../../../build/ingest/finish-run.ts';
import type { SeriesFacts } from '../../../build/lake/series-facts.ts';

const gates = { max_row_drop: 0.2, max_country_drop: 0.1 };
const facts = (more: Partial<SeriesFacts> = {}): SeriesFacts => ({
  rows: 100,
  countries: 10,
  newest_year: 2020,
  ahead: null,
  median: 5,
  unit: 'kg',
  digest: 'x',
  ...more,
});
/** A run with one series. */
const run = ({ rows = 100, countries = 10, ...more }: Partial<SeriesFacts> = {}) => ({
  record: { rows_written: rows, countries },
  series: { one: facts(more) },
});
const judge = (before: ReturnType<typeof run>, after: Parameters<typeof holdReason>[2]) =>
  holdReason(gates, before, after, 2026);

describe('a run is held', () => {
  it.each([
    ['rows fall by more than allowed', { rows: 79 }, 'rows fell by 21.0 % (100 to 79; 20.0 % is allowed)'],
    ['countries fall by more than allowed', { countries: 8 }, 'countries fell by 20.0 %'],
    ['the newest year goes back', { newest_year: 2019 }, 'one: newest year went back from 2020 to 2019'],
    ['no year is left', { newest_year: null }, 'from 2020 to none'],
    ['the median jumps up ten times', { median: 50 }, 'median went from 5 to 50'],
    ['the median falls to a tenth', { median: 0.5 }, 'median went from 5 to 0.5'],
    ['the median jumps beyond any number', { median: 1e308 }, 'median went from 1e-300 to', 1e-300],
    ['the unit changes', { unit: 't' }, 'unit changed from "kg" to "t"'],
  ])('when %s', (_, after, reason, median = 5) => {
    expect(judge(run({ median }), run(after))).toContain(reason);
  });

  it.each([
    ['nothing changes', run()],
    ['rows fall by what is allowed', run({ rows: 80 })],
    ['countries fall by what is allowed', run({ countries: 9 })],
    ['the newest year moves on', run({ newest_year: 2025 })],
    ['the median moves by less than ten times', run({ median: 49 })],
    ['the median was zero or is gone', run({ median: null })],
    ['a series is new', { ...run(), series: { two: facts({ unit: 'm' }) } }],
  ])('not when %s', (_, after) => {
    expect(judge(run(), after)).toBeNull();
  });

  it('names the first series in its reason and counts the rest', () => {
    const names = Array.from({ length: 8 }, (_, index) => `s${index}`);
    const many = (unit: string) => ({
      ...run(),
      series: Object.fromEntries(names.map((name) => [name, facts({ unit })])),
    });
    expect(holdReason(gates, many('kg'), many('t'), 2026)).toMatch(/s4: unit .*; and 3 more series\.$/);
  });
});
