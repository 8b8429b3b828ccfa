/**
 * Ranks as the build writes them, compared with an independent count; and their intervals, compared with the definition
 * read word by word, and with the published method on figures of PISA.
 */
import { readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { ndtr, ndtri } from 'cephes';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifyFigures } from '../../../build/editions/verify.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import { query } from '../parquet-readers.ts';
import { build, type Figure, publish, type Ranked, type Series } from './rank-builder.ts';

const pisa: { iso3: string; subject: string; score: number; error: number }[] = parse(
  readFileSync(join(import.meta.dirname, 'pisa-2018.csv')),
  {
    columns: true,
    cast: (cell, { column }) => (column === 'score' || column === 'error' ? Number(cell) : cell),
  },
);
const COUNTRIES = [...new Set(pisa.map(({ iso3 }) => iso3))].sort();

const intervals = (rows: readonly Ranked[] = []) =>
  Object.fromEntries(rows.map(({ iso3, rank_lo, rank, rank_hi }) => [iso3, [rank_lo, rank, rank_hi]]));

/** A figure with equal margins. */
const figure = (iso3: string, value: number, margin: number): Figure => ({
  iso3,
  value,
  low: value - margin,
  high: value + margin,
});

/** The definition of docs/quality.md, by country: each year by itself, and each country in one year only. */
const define = (series: Series): Record<string, (number | null)[]> =>
  Object.assign(
    {},
    ...[...Map.groupBy(series.figures, ({ year }) => year).values()].map((figures) =>
      defineYear({ ...series, figures }),
    ),
  );

function defineYear({
  level,
  higherIsBetter = true,
  noRank = false,
  figures,
}: Series): Record<string, (number | null)[]> {
  const sign = higherIsBetter ? 1 : -1;
  const ranked = figures.filter(({ value }) => value !== null && !noRank);
  const scoreOf = (one: Figure): number => sign * (one.value ?? 0);
  const testable = ranked.filter(
    ({ value, low, high }) =>
      level !== null && low !== null && high !== null && low <= (value ?? 0) && (value ?? 0) <= high,
  );
  const marginOf = (one: Figure, side: 'better' | 'worse'): number => {
    const bound = (side === 'better') === higherIsBetter ? one.high : one.low;
    return Math.abs((bound ?? 0) - (one.value ?? 0));
  };
  /** The p-value of the hypothesis that `a` is not better than `b`. */
  const pValue = (a: Figure, b: Figure): number => {
    const difference = scoreOf(a) - scoreOf(b);
    if (difference <= 0) return difference < 0 ? 1 - pValue(b, a) : 0.5;
    // The quantile, as a multiple of the declared one, at which the margin of the difference equals it.
    const marginAt = (factor: number): number =>
      Math.hypot(
        grow(marginOf(a, 'worse'), marginOf(a, 'better'), factor),
        grow(marginOf(b, 'better'), marginOf(b, 'worse'), factor),
      );
    if (marginAt(50) < difference) return 0;
    let [low, high] = [0, 50];
    for (let step = 0; step < 80; step += 1) {
      const middle = (low + high) / 2;
      if (marginAt(middle) < difference) low = middle;
      else high = middle;
    }
    return ndtr(-high * -ndtri((1 - (level ?? 0)) / 2));
  };
  return Object.fromEntries(
    figures.map((own) => {
      if (!ranked.includes(own)) return [own.iso3, [null, null, null]];
      const rank = 1 + ranked.filter((other) => scoreOf(other) > scoreOf(own)).length;
      if (!testable.includes(own)) return [own.iso3, [null, rank, null]];
      const others = testable.filter((other) => other !== own);
      const tests = others
        .flatMap((other) => [
          { side: 'better', p: pValue(other, own) },
          { side: 'worse', p: pValue(own, other) },
        ])
        .sort((a, b) => a.p - b.p);
      // Holm: the i-th smallest p-value is compared with the error shared among the hypotheses from it on.
      const kept = tests.findIndex(({ p }, i) => p > ((1 - (level ?? 0)) / (tests.length - i)) * (1 + 1e-9));
      const decided = tests.slice(0, kept === -1 ? tests.length : kept);
      const count = (side: string): number => decided.filter((test) => test.side === side).length;
      return [own.iso3, [1 + count('better'), rank, ranked.length - count('worse')]];
    }),
  );
}

/** A margin at a multiple of the declared quantile: the longer one of a shifted log-normal distribution. */
function grow(margin: number, opposite: number, factor: number): number {
  // The logarithm, as a power minus 1 would lose all digits where the margins are nearly equal.
  const skew = Math.log(opposite === 0 ? 10 : Math.min(10, margin / opposite));
  return margin <= opposite ? factor * margin : (margin * Math.expm1(skew * factor)) / Math.expm1(skew);
}

const anyMargin = fc.oneof(fc.constantFrom(0, 1, 1, 2, 3), fc.double({ min: 0.01, max: 5, noNaN: true }));
const anyFigures = fc
  .uniqueArray(fc.constantFrom(...COUNTRIES), { minLength: 1, maxLength: 12 })
  .chain((places) =>
    fc.tuple(
      ...places.map((iso3) =>
        fc.record({
          iso3: fc.constant(iso3),
          year: fc.constantFrom(2018, 2018, 2017),
          value: fc.option(
            fc.oneof(fc.integer({ min: -9, max: 9 }), fc.double({ min: -9, max: 9, noNaN: true })),
            { freq: 8 },
          ),
          below: fc.option(
            fc.oneof({ weight: 9, arbitrary: anyMargin }, { weight: 1, arbitrary: fc.constant(-1) }),
            { freq: 8 },
          ),
          above: fc.option(anyMargin, { freq: 8 }),
        }),
      ),
    ),
  )
  .map((all) =>
    all.map(
      ({ iso3, year, value, below, above }): Figure => ({
        iso3,
        year,
        value: value === null ? null : value + 0,
        low: below === null ? null : (value ?? 0) - below,
        high: above === null ? null : (value ?? 0) + above,
      }),
    ),
  );
const anySeries = fc.record({
  level: fc.constantFrom(0.6, 0.8, 0.9, 0.95, 0.99, null),
  higherIsBetter: fc.boolean(),
  noRank: fc.constantFrom(false, false, false, true),
  figures: anyFigures,
});

/** Series of one build: each build opens a database, which takes longer than many series. */
const MANY = { minLength: 25, maxLength: 30 };
/** Shrinking a failure would take a build for each attempt. */
const noShrinking = (numRuns: number) => ({ numRuns, endOnFailure: true });

const anyValue = fc.option(
  fc
    .oneof(
      { weight: 3, arbitrary: fc.integer({ min: -2, max: 2 }) },
      { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
    )
    // SQL text has no negative zero.
    .map((value) => value + 0),
);
const anyYears = fc
  .uniqueArray(
    fc.record({
      iso3: fc.constantFrom(...COUNTRIES.slice(0, 7)),
      year: fc.integer({ min: 2000, max: 2004 }),
      value: anyValue,
    }),
    { selector: ({ iso3, year }) => `${iso3} ${year}`, minLength: 1, maxLength: 35 },
  )
  .map((all) => all.map((one): Figure => ({ ...one, low: null, high: null })));

/** 1 + the number of countries with a better value. */
function countRank(figures: readonly Figure[], iso3: string, year: number, better: 1 | -1): number | null {
  const own = figures.find((one) => one.iso3 === iso3 && one.year === year)?.value ?? null;
  const rivals = figures.filter((one) => one.year === year).map(({ value }) => value);
  return own === null ? null : 1 + rivals.filter((one) => one !== null && better * one > better * own).length;
}

function countRanks({ figures, higherIsBetter }: Series) {
  const rank = (iso3: string, year: number) => countRank(figures, iso3, year, higherIsBetter ? 1 : -1);
  return figures
    .map(({ iso3, year = 0, value }) => {
      const [now, before] = [rank(iso3, year), rank(iso3, year - 1)];
      const rank_delta_1y = now === null || before === null ? null : before - now;
      return { iso3, year, value, rank: now, rank_delta_1y };
    })
    .sort((a, b) => (a.iso3 < b.iso3 ? -1 : a.iso3 > b.iso3 ? 1 : a.year - b.year));
}

it('ranks and their changes equal an independent count for any values, highest or lowest first', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyYears, { minLength: 15, maxLength: 20 }), async (all) => {
      const series = all.flatMap((figures) =>
        [true, false].map((higherIsBetter): Series => ({ level: null, higherIsBetter, figures })),
      );
      const published = await publish(series);
      const ranks = published.map((rows) =>
        rows.map(({ iso3, year, value, rank, rank_delta_1y }) => ({
          iso3,
          year,
          value,
          rank,
          rank_delta_1y,
        })),
      );
      expect(ranks).toEqual(series.map(countRanks));
    }),
    noShrinking(4),
  );
});

describe('rank intervals', () => {
  it('equal the definition for any figures, years, margins and levels, and contain the rank', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anySeries, MANY), async (series) => {
        const published = await publish(series);
        expect(published.map(intervals)).toEqual(series.map(define));
        for (const { rank_lo, rank, rank_hi } of published.flat()) {
          if (rank_lo === null || rank === null || rank_hi === null) continue;
          expect(rank_lo).toBeLessThanOrEqual(rank);
          expect(rank_hi).toBeGreaterThanOrEqual(rank);
        }
      }),
      noShrinking(4),
    );
  });

  it('are the same in any unit, up to the ends of what a number holds', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(anySeries, fc.constantFrom(-1000, -700, 700, 1015)), MANY),
        async (pairs) => {
          // Powers of two lose no digit. Smaller ones than 2^-10 of the unit could not be halved at the lower end.
          const inUnit = ({ figures, ...rest }: Series, exponent: number): Series => {
            const scaled = (value: number | null) =>
              value === null ? null : (Math.round(value * 2 ** 10) / 2 ** 10) * 2 ** exponent + 0;
            return {
              ...rest,
              figures: figures.map(({ value, low, high, ...one }) => ({
                ...one,
                value: scaled(value),
                low: scaled(low),
                high: scaled(high),
              })),
            };
          };
          const plain = pairs.map(([series]) => inUnit(series, 0));
          const published = await publish([
            ...plain,
            ...pairs.map(([series, exponent]) => inUnit(series, exponent)),
          ]);
          expect(published.slice(pairs.length).map(intervals)).toEqual(
            published.slice(0, pairs.length).map(intervals),
          );
        },
      ),
      noShrinking(3),
    );
  });

  it('decide a difference that equals its margin, however the figures are rounded', async () => {
    const scales = [0.1, 1 / 3, 0.7, 1.1, 1e-6, 123.457, 1e9 / 7];
    const scaled = scales.flatMap((scale) =>
      [0, 0.1, 17].map((offset) => [
        figure('FRA', scale * (offset + 5), scale * 3),
        figure('DEU', scale * offset, scale * 4),
      ]),
    );
    const skewed: Figure[] = [
      { iso3: 'FRA', value: 2, low: 0, high: 2.01 },
      { iso3: 'DEU', value: 0, low: -0.01, high: 0 },
    ];
    const published = await publish([...scaled, skewed].map((figures) => ({ level: 0.6, figures })));
    expect(published.map(intervals)).toEqual(published.map(() => ({ FRA: [1, 1, 1], DEU: [2, 2, 2] })));
  });
});

describe('verification', () => {
  const series: Series = {
    level: 0.9,
    figures: [figure('FRA', 9, 1), figure('DEU', 5, 9), { ...figure('ITA', 1, 1), high: null }],
  };
  const verify = (change: string): Promise<void> =>
    build([series], async (out, indicators, duck) => {
      const file = join(out, observationsFile('p.s00'));
      await query(
        `COPY (SELECT * REPLACE (${change}) FROM read_parquet('${file}')) TO '${file}.new' (FORMAT parquet)`,
      );
      await rename(`${file}.new`, file);
      const coverage = { n_countries: 3, yr_min: 2018, yr_max: 2018, latest_year: 2018 };
      await verifyFigures(duck, out, indicators, new Map([['p.s00', { coverage, rows: 3 }]]), () => {});
    });

  it('accepts intervals as built', async () => {
    await verify('rank_lo AS rank_lo');
  });

  it.each([
    ['that does not contain its rank', '(rank + 1)::INTEGER AS rank_lo'],
    ['that begins before the first rank', 'rank_lo - rank_lo AS rank_lo'],
    ['beyond the countries with a value', 'rank_hi + 1 AS rank_hi'],
    ['that is missing', 'NULL::INTEGER AS rank_hi'],
    ['of a country without bounds', 'coalesce(rank_lo, 1) AS rank_lo'],
  ])('rejects an interval %s', async (_what, change) => {
    await expect(verify(change)).rejects.toThrow(/p\.s00: \d rows are wrong \(n_misbounded\)/);
  });
});

/**
 * Mean scores with standard errors of the OECD's members (OECD, PISA 2018 Database, as in the package csranks of the
 * method's authors, github.com/danielwilhelm/R-CS-ranks), and the interval that the package documents for one of them. The
 * OECD's own table of rank ranges was not at hand.
 */
describe('on PISA 2018', () => {
  const z = -ndtri(0.025);
  const of = (subject: string) => pisa.filter((row) => row.subject === subject);
  const asSeries = (subject: string): Series => ({
    level: 0.95,
    figures: of(subject).map(({ iso3, score, error }) => figure(iso3, score, z * error)),
  });

  it('contain the interval that csranks documents for the United Kingdom: 8 to 23, ranked 13', async () => {
    const [rows] = await publish([asSeries('mathematics')]);
    const [low, rank, high] = intervals(rows).GBR ?? [];
    expect(rank).toBe(13);
    expect(low).toBeLessThanOrEqual(8);
    expect(high).toBeGreaterThanOrEqual(23);
  });

  it.each(['mathematics', 'reading', 'science'])(
    'contain those of the bootstrap for all members: %s',
    async (subject) => {
      const [rows = []] = await publish([asSeries(subject)]);
      const figures = of(subject);
      const draws = normalDraws(DRAWS, figures.length);
      const widths = { ours: 0, bootstrap: 0 };
      figures.forEach(({ iso3 }, own) => {
        const [low, high] = bootstrapInterval(figures, own, draws);
        const [ourLow, , ourHigh] = intervals(rows)[iso3] ?? [];
        expect([iso3, ourLow ?? 99]).toEqual([iso3, expect.toSatisfy((rank: number) => rank <= low)]);
        expect([iso3, ourHigh ?? 0]).toEqual([iso3, expect.toSatisfy((rank: number) => rank >= high)]);
        widths.ours += (ourHigh ?? 0) - (ourLow ?? 0);
        widths.bootstrap += high - low;
      });
      // Holm's correction costs little: intervals are a tenth wider at most.
      expect(widths.ours).toBeLessThan(1.1 * widths.bootstrap);
    },
  );
});

const DRAWS = 2000;

/** The marginal confidence set of the paper: step-down, with the parametric bootstrap that csranks uses. */
function bootstrapInterval(
  figures: readonly { score: number; error: number }[],
  own: number,
  draws: readonly (readonly number[])[],
): [low: number, high: number] {
  const errorOf = (country: number): number => figures[country]?.error ?? 0;
  const scoreOf = (country: number): number => figures[country]?.score ?? 0;
  let open = figures
    .map((_, other) => other)
    .filter((other) => other !== own)
    .flatMap((other) => [
      { upper: own, lower: other },
      { upper: other, lower: own },
    ])
    .map((pair) => ({ ...pair, error: Math.hypot(errorOf(pair.upper), errorOf(pair.lower)) }));
  for (;;) {
    const maxima = draws.map((draw) =>
      Math.max(
        ...open.map(
          ({ upper, lower, error }) =>
            ((draw[upper] ?? 0) * errorOf(upper) - (draw[lower] ?? 0) * errorOf(lower)) / error,
        ),
      ),
    );
    const critical = maxima.sort((a, b) => a - b)[Math.ceil(0.95 * DRAWS) - 1] ?? 0;
    const rest = open.filter(
      ({ upper, lower, error }) => (scoreOf(upper) - scoreOf(lower)) / error <= critical,
    );
    if (rest.length === open.length) break;
    open = rest;
  }
  // Whoever is left may be above, or below.
  const mayBeBelow = open.filter(({ lower }) => lower === own).length;
  const mayBeAbove = open.filter(({ upper }) => upper === own).length;
  return [figures.length - mayBeBelow, 1 + mayBeAbove];
}

/** Standard normal draws, the same in every run. */
function normalDraws(rows: number, columns: number): number[][] {
  let state = 2024;
  const uniform = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return Array.from({ length: rows }, () => Array.from({ length: columns }, () => ndtri(uniform())));
}
