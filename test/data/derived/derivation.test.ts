/** Derived figures: the published test vectors, and generated histories against a naive computation. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  breaksOf,
  derive,
  type Figure,
  type History,
  REASONS,
  type Reason,
  STATUS_ORDER,
} from '../../../data/derived/derivation.ts';
import { parseTransforms, type Transform } from '../../../data/derived/transforms.ts';
import { STATUS_WORDS } from '../../../data/schema/records.ts';
import { derivedCell, type Given, isSame, type PlainRow, STATUSES } from '../../derived-figures.ts';

const ROOT = join(import.meta.dirname, '../../..');

type Row = [year: number, value: number | null, status?: string | null, projected?: boolean];
interface Vector {
  name: string;
  transform: string;
  rows: Row[];
  breaks?: number[];
  counted?: string[];
  divisor?: Row[];
  divisor_breaks?: number[];
  scales?: [series: number, divisor: number];
  whole?: [year: number, value: number | null, projected?: boolean, reason?: Reason | null][];
  expected: [
    year: number,
    value: number | null,
    reason: string | null,
    status: string | null,
    projected: boolean,
  ][];
}
const { vectors }: { vectors: Vector[] } = JSON.parse(
  readFileSync(join(ROOT, 'docs/derived-vectors.json'), 'utf8'),
);

const toHistory = (rows: readonly Row[], breaks: readonly number[] = []): History => ({
  years: rows.map(([year]) => year),
  figures: rows.map(([, value, status = null, projected = false]) => ({
    value,
    reason: null,
    status,
    projected,
  })),
  breaks,
});
const toGroup = (rows: NonNullable<Vector['whole']>): History => ({
  years: rows.map(([year]) => year),
  figures: rows.map(([, value, projected = false, reason = null]) => ({
    value,
    reason,
    status: null,
    projected,
  })),
  breaks: [],
});
function parsed(text: string): Transform[] {
  const transforms = parseTransforms(text);
  if (!Array.isArray(transforms)) throw new Error(transforms.problem);
  return transforms;
}

interface Chained {
  history: History;
  whole?: History | undefined;
  divisor?: History | undefined;
  scales?: { series: number; divisor: number };
}

/** A history and that of its group under a chain. */
const underChain = (transforms: readonly Transform[], { history, whole, ...by }: Chained): History =>
  transforms.reduce(
    (now, transform) => ({
      history: derive(now.history, transform, { ...by, whole: now.whole }),
      whole: now.whole && transform.name !== 'share' ? derive(now.whole, transform) : now.whole,
    }),
    { history, whole },
  ).history;

const cellsOf = ({ years, figures }: History) =>
  figures.map(({ value, reason, status, projected }, at) => [years[at], value, reason, status, projected]);

test.each(vectors)('$transform: $name', ({ transform, rows, whole = [], scales, ...vector }) => {
  const derived = underChain(parsed(transform), {
    history: { ...toHistory(rows, vector.breaks), ...(vector.counted && { counted: vector.counted }) },
    whole: toGroup(whole),
    divisor: vector.divisor && toHistory(vector.divisor, vector.divisor_breaks),
    ...(scales && { scales: { series: scales[0], divisor: scales[1] } }),
  });
  const cells = cellsOf(derived);
  const values = (all: unknown[][]) => all.map((cell) => cell[1] as number | null);
  expect(cells.map((cell) => cell.toSpliced(1, 1))).toEqual(
    vector.expected.map((cell) => cell.toSpliced(1, 1)),
  );
  for (const [at, value] of values(cells).entries())
    expect([value, isSame(transform, value, values(vector.expected)[at] ?? null)]).toEqual([value, true]);
});

test('the vectors have every reason', () => {
  const given = new Set(vectors.flatMap(({ expected }) => expected.map(([, , reason]) => reason)));
  expect(REASONS.filter((reason) => !given.has(reason))).toEqual([]);
});

test('the order of statuses has each word of the closed list once, and no other', () => {
  expect(STATUS_ORDER.toSorted()).toEqual(STATUS_WORDS.toSorted());
  expect(STATUS_ORDER).toEqual(STATUSES);
});

const COUNTRIES = ['AAA', 'BBB', 'CCC'];
const number = fc.oneof(
  fc.double({ min: 0.1, max: 100, noNaN: true }),
  fc.constantFrom(0, -0, -1.5, 0.1, 0.3, 1e-300, 1e300, 7),
);
const rows = fc
  .uniqueArray(
    fc.record({
      iso3: fc.constantFrom(...COUNTRIES),
      year: fc.integer({ min: 1990, max: 1999 }),
      value: fc.option(number, { freq: 6 }),
      status: fc.option(fc.constantFrom(...STATUS_WORDS, 'break, provisional', 'by hand'), {
        freq: 1,
        nil: null,
      }),
      projected: fc.boolean(),
    }),
    { selector: ({ iso3, year }) => `${iso3} ${year}`, maxLength: 30, minLength: 12 },
  )
  .map((all): PlainRow[] =>
    all
      .map((row) => ({ ...row, status: Math.abs(row.year % 3) === 0 ? row.status : null }))
      .toSorted((a, b) => (a.iso3 < b.iso3 ? -1 : a.iso3 > b.iso3 ? 1 : a.year - b.year)),
  );
const found = fc.record({
  kind: fc.constantFrom('level_break' as const, 'unit_change' as const, 'decimal_slip' as const),
  iso3: fc.constantFrom(null, ...COUNTRIES),
  year: fc.integer({ min: 1988, max: 2001 }),
});
const series = fc.record({
  rows,
  found: fc.array(found, { maxLength: 2 }),
  scale: fc.constantFrom(0, 3, 6),
});
const whole = fc
  .uniqueArray(
    fc.record({
      year: fc.integer({ min: 1990, max: 1999 }),
      value: fc.option(number, { freq: 6 }),
      projected: fc.boolean(),
      missing: fc.constantFrom('coverage' as const, 'territory' as const, 'withheld' as const),
    }),
    { selector: ({ year }) => year, minLength: 5 },
  )
  .map((all) =>
    all
      .map(({ missing, ...row }) => ({
        iso3: '@',
        status: null,
        ...row,
        reason: row.value === null ? missing : null,
      }))
      .toSorted((a, b) => a.year - b.year),
  );
const given = fc
  .tuple(series, series, whole)
  .map(([own, divisor, group]) => ({ ...own, divisor, whole: group }));
const years = fc.integer({ min: 1, max: 4 });
const word = fc.oneof(
  fc.tuple(fc.constantFrom('change', 'growth', 'mean'), years).map((parts) => parts.join(':')),
  fc.integer({ min: 1989, max: 1999 }).map((year) => `index:${year}`),
  fc.constantFrom('per_head', 'per:example.other', 'share:example'),
);
const isDivision = (one: string): boolean => /^(per|share)/.test(one);
/** Nothing divides twice. */
const chain = fc.oneof(
  word.map((one) => [one]),
  fc.tuple(word, word).filter((both) => !both.every(isDivision)),
);

function historyOf({ rows: all, found: breaks }: Pick<Given, 'rows' | 'found'>, iso3: string): History {
  const own = all.filter((row) => row.iso3 === iso3);
  const years = Int32Array.from(own, ({ year }) => year);
  const figures = own.map(
    ({ value, status, projected }): Figure => ({ value, reason: null, status, projected }),
  );
  return { years, figures, breaks: breaksOf(iso3, { years, figures }, breaks) };
}

test('generated histories values, reasons, statuses and marks are those of the naive computation', () => {
  const seen = new Set<string | null>();
  fc.assert(
    fc.property(given, chain, (all, words) => {
      for (const iso3 of COUNTRIES) {
        const derived = underChain(parsed(words.join()), {
          history: historyOf(all, iso3),
          whole: toGroup(all.whole.map((row) => [row.year, row.value, row.projected, row.reason])),
          divisor: all.divisor ? historyOf(all.divisor, iso3) : undefined,
          scales: { series: all.scale, divisor: all.divisor?.scale ?? 0 },
        });
        const scaled = words.includes('per_head') ? all : { ...all, scale: 0 };
        for (const [at, { value, ...marks }] of derived.figures.entries()) {
          const cell = derivedCell(scaled, words, iso3, derived.years[at] ?? 0);
          expect(marks).toEqual({ reason: cell?.reason, status: cell?.status, projected: cell?.projected });
          expect([words, value, cell?.value]).toSatisfy(() =>
            isSame(words.join(), value, cell?.value ?? null),
          );
          seen.add(marks.reason);
        }
      }
    }),
    { numRuns: 400 },
  );
  expect([...seen].sort()).toEqual([null, ...REASONS].sort());
});
