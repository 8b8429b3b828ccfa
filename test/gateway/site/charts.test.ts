/** Histories as lines, figures of a year on a map and as bars, two indicators against each other. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { barChart } from '../../../gateway/site/charts/bars.ts';
import { shortened, textWidth } from '../../../gateway/site/charts/drawing.ts';
import { lineChart, sparkline } from '../../../gateway/site/charts/lines.ts';
import { WORLD, worldMap } from '../../../gateway/site/charts/map.ts';
import { type Pair, pairFigures, scatterChart } from '../../../gateway/site/charts/scatter.ts';
import type { Point } from '../../../gateway/site/series.ts';
import { COUNTRIES, countryOf, history, point, yearOf } from './chart-figures.ts';
import { unescaped } from './page-text.ts';
import { isInRange, legendIn, mapIn } from './read-charts.ts';

const BOX = { width: 760, height: 400, font: 13, id: 'chart' };
const years = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
const rising = (from: number, to: number) => years(from, to).map((year) => point(year, year - 1950));
const found = (pattern: RegExp, svg: string): string[] =>
  [...svg.matchAll(pattern)].map(([, first = '']) => first);

test('a text is shortened to as many letters as fit, however long it is', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), fc.integer({ min: 40, max: 300 }), (text, width) => {
      const cut = shortened(text, 12, width);
      if (cut === text) return;
      const kept = text.slice(0, cut.length);
      expect(textWidth(cut, 12)).toBeLessThanOrEqual(width);
      expect(textWidth(`${kept}…`, 12) > width || kept.trimEnd() !== kept).toBe(true);
    }),
  );
  // One letter at a time took minutes.
  expect(shortened('number of deaths '.repeat(20_000), 12, 100)).toBe('number of dea…');
});

describe('a line', () => {
  const drawn = (points: readonly Point[]): string => lineChart([history('PER', points)], null).body(BOX);
  const strokes = (svg: string): string[] => found(/(<path[^>]*stroke-width="2"[^>]*>)/g, svg);

  test('breaks where years are missing', () => {
    expect(strokes(drawn([...rising(1990, 1995), ...rising(2000, 2003)]))).toHaveLength(2);
  });

  test('joins figures of every fifth year where that is their rhythm', () => {
    const svg = drawn([1990, 1995, 2000, 2010].map((year) => point(year, 1)));
    expect([strokes(svg).length, svg.match(/<circle/g)?.length]).toEqual([1, 1]);
  });

  test('is dashed from the last measured figure on', () => {
    const projected = rising(2023, 2025).map((each) => ({ ...each, projected: true }));
    const paths = strokes(drawn([...rising(2018, 2022), ...projected]));
    expect(paths.map((path) => path.includes('stroke-dasharray'))).toEqual([false, true]);
    const ends = paths.map((path) => found(/(\d+,\d+)/g, path));
    expect(ends[1]?.[0]).toBe(ends[0]?.at(-1));
  });

  test('has a band where there are bounds', () => {
    const bounded = rising(1990, 1995).map((each) => ({
      ...each,
      ciLo: each.value - 2,
      ciHi: each.value + 2,
    }));
    expect(drawn(bounded)).toContain('fill-opacity');
    expect(drawn(rising(1990, 1995))).not.toContain('fill-opacity');
  });

  test('of a single year is a dot, and of one value lies in the middle of an axis', () => {
    expect(drawn([point(2020, 5)])).toContain('<circle');
    expect(drawn([point(2020, 5)])).not.toContain('NaN');
  });
});

describe('a chart of lines', () => {
  test('names each country once, and says in words what it shows', () => {
    const chart = lineChart(
      [history('PER', rising(1990, 2020)), history('KEN', rising(2000, 2019))],
      'years',
      true,
    );
    expect(chart.description).toBe(
      'Peru rose from 40 in 1990 to 70 years in 2020. Kenya rose from 50 in 2000 to 69 years in 2019.',
    );
    expect(found(/>(Peru|Kenya)</g, chart.body(BOX))).toEqual(['Peru', 'Kenya']);
  });

  test('of a series that may only be shown says when it began to rise or fall, not from what', () => {
    const chart = lineChart(
      [
        history(
          'PER',
          rising(1990, 2020)
            .toReversed()
            .map(({ value }, at) => point(1990 + at, value)),
        ),
      ],
      'years',
    );
    expect(chart.description).toBe('Peru fell from 1990 to 40 years in 2020.');
  });

  test('without axes says in words what rose, and its extremes', () => {
    const said = (heights: (number | null)[]) =>
      /aria-label="([^"]+)"/.exec(String(sparkline({ from: 1990, heights })))?.[1];
    expect(said([10, null, 99, 0, 50])).toBe('Rose from 1990 to 1994, highest in 1992, lowest in 1993');
    expect(said([99, 50, 0])).toBe('Fell from 1990 to 1992');
    expect(said([50])).toBe('One figure, of 1990');
  });

  test('has names that never overlap, stay beside the lines and keep their order', () => {
    const six = COUNTRIES.slice(0, 6).map(({ iso3 }) => iso3);
    const values = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(values, (ends) => {
        const lines = ends.map((end, at) => history(six[at] ?? '', [point(2000, 0), point(2001, end)]));
        const svg = lineChart(lines, null).body(BOX);
        const placed = found(/<g class="c\d".*?<text x="\d+" y="(-?\d+)"/g, svg).map(Number);
        const sorted = placed.toSorted((a, b) => a - b);
        for (const [at, y] of sorted.entries()) {
          expect(y).toBeGreaterThanOrEqual(BOX.font);
          expect(y).toBeLessThanOrEqual(BOX.height - BOX.font);
          if (at > 0) expect(y - (sorted[at - 1] ?? 0)).toBeGreaterThanOrEqual(BOX.font);
        }
        const fromTop = ends.map((_, at) => at).sort((a, b) => (placed[a] ?? 0) - (placed[b] ?? 0));
        expect(fromTop.map((at) => ends[at])).toEqual(ends.toSorted((a, b) => b - a));
      }),
    );
  });
});

describe('the geometry of maps', () => {
  test('has every country as a shape or a dot within the map', () => {
    for (const { iso3 } of COUNTRIES)
      expect([iso3, iso3 in WORLD.shapes !== iso3 in WORLD.dots]).toEqual([iso3, true]);
    expect(Object.keys(WORLD.shapes).length + Object.keys(WORLD.dots).length).toBe(COUNTRIES.length);
    for (const [x, y] of Object.values(WORLD.dots))
      expect([x > 0, x < WORLD.width, y > 0, y < WORLD.height]).toEqual([true, true, true, true]);
  });

  test('has dots that do not cover each other', () => {
    const dots = Object.values(WORLD.dots);
    for (const [at, [x, y]] of dots.entries())
      for (const [otherX, otherY] of dots.slice(at + 1))
        expect(Math.hypot(x - otherX, y - otherY)).toBeGreaterThan(6);
  });
});

describe('a map', () => {
  const box = { width: WORLD.width, height: WORLD.height, font: 12, id: 'map' };
  const options = { unit: '%', outlines: '/assets/world.svg', hasTitles: true };
  const year = yearOf((_, at) => (at % 7 === 2 ? null : ((at * 7919) % 1000) / 10));
  const map = worldMap(year, options);
  const svg = map.body(box);
  const rangesOf = ({ legend }: typeof map) =>
    legendIn(
      legend
        .map(
          ({ className, text }) => `<span class="swatch ${className}"></span>${text.replace('<', '&lt;')}<`,
        )
        .join(''),
    );

  test('shows each country in the class that the legend gives its value, and says the value', () => {
    const [shapes, ranges] = [mapIn(svg), rangesOf(map)];
    expect(ranges).toHaveLength(6);
    for (const { country, value } of year.figures) {
      const { className, title } = shapes.get(country.iso3) ?? {};
      const range = ranges.find((one) => one.className === className);
      expect([country.name, range && isInRange(value, range)]).toEqual([country.name, true]);
      expect(title).toMatch(/: [\d.]+ %$/);
    }
    const silent = worldMap(year, { ...options, hasTitles: false }).body(box);
    expect(silent).not.toContain('<title>');
  });

  test('hatches countries without a figure, and says so', () => {
    const shapes = mapIn(svg);
    for (const { iso3 } of year.missing) expect([iso3, shapes.get(iso3)?.className]).toEqual([iso3, 'none']);
    expect(map.legend.at(-1)?.text).toBe('No figure');
    expect(map.description).toContain(`${year.missing.length} have none`);
  });

  test('has one to six classes, ascending, each with a value', () => {
    const value = fc.oneof(
      fc.integer({ min: -50, max: 1000 }),
      fc.double({ min: 0, max: 1e12, noNaN: true }),
    );
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 220 }), (values) => {
        const drawn = worldMap(
          yearOf((_, at) => values[at] ?? null),
          options,
        );
        const classes = drawn.legend.filter(({ className }) => className !== 'none');
        const used = new Set([...mapIn(drawn.body(box)).values()].map(({ className }) => className));
        expect(classes.length).toBeLessThanOrEqual(6);
        expect(new Set(classes.map(({ className }) => className)).size).toBe(classes.length);
        const bounds = rangesOf(drawn).flatMap(({ from, to }) => [from, to]);
        expect(bounds).toEqual(bounds.toSorted((a, b) => a - b));
        if (classes[0]?.className.startsWith('s'))
          expect(classes.filter(({ className }) => !used.has(className))).toEqual([]);
      }),
    );
  });

  test('has about as many countries in each class, however skewed the values are', () => {
    const skewed = worldMap(
      yearOf((_, at) => Math.exp(at / 10)),
      options,
    );
    const sizes = Map.groupBy(mapIn(skewed.body(box)).values(), ({ className }) => className);
    expect(sizes.size).toBe(6);
    for (const members of sizes.values())
      expect(Math.abs(members.length - COUNTRIES.length / 6)).toBeLessThan(COUNTRIES.length / 30);
  });

  test('has classes that part at zero where values lie on both sides of it', () => {
    const parted = worldMap(
      yearOf((_, at) => at / 10 - 8),
      options,
    );
    expect(parted.legend.map(({ className }) => className)).toEqual(['d0', 'd1', 'd2', 'd3', 'd4', 'd5']);
    expect(rangesOf(parted)[2]?.to).toBe(0);
  });
});

describe('bars', () => {
  const falling = yearOf((_, at) => 400 - at);
  const names = (svg: string): string[] => found(/text-anchor="end"[^>]*>([^<]+)</g, svg).map(unescaped);
  const rects = (values: readonly number[]): [number, number][] => {
    const shown = yearOf((_, at) => values[at] ?? null);
    const svg = barChart(shown, { unit: null }).body(BOX);
    return [...svg.matchAll(/<rect x="(\d+)"[^>]*width="(\d+)"/g)].map(([, x, width]) => [
      Number(x),
      Number(width),
    ]);
  };

  test('show the first countries of the list, as many as fit', () => {
    const shown = names(barChart(falling, { unit: null }).body(BOX));
    expect(shown.length).toBeGreaterThan(10);
    expect(shown).toEqual(falling.figures.slice(0, shown.length).map(({ country }) => country.name));
  });

  test('are in proportion to the values, and grow to the left of zero for negative ones', () => {
    const [first = 0, second = 0, third = 0] = rects([100, 50, 25]).map(([, width]) => width);
    expect(Math.abs(second - first / 2)).toBeLessThanOrEqual(1);
    expect(Math.abs(third - first / 4)).toBeLessThanOrEqual(1);
    const [above = [0, 0], below = [0, 0]] = rects([5, -5]);
    expect(below[0] + below[1]).toBe(above[0]);
  });

  test('stand around a country, which is marked', () => {
    const middle = falling.figures[100]?.country;
    const svg = barChart(falling, { unit: null, around: middle?.iso3 }).body(BOX);
    const shown = names(svg);
    expect(Math.abs(shown.indexOf(middle?.name ?? '') - shown.length / 2)).toBeLessThanOrEqual(1);
    expect(svg.match(/class="c1"/g)).toHaveLength(1);
    const last = falling.figures.at(-1)?.country;
    expect(names(barChart(falling, { unit: null, around: last?.iso3 }).body(BOX)).at(-1)).toBe(last?.name);
  });
});

describe('a scatter chart', () => {
  const across = yearOf((_, at) => (at % 5 === 0 ? null : Math.exp(at / 30)));
  const up = yearOf((_, at) => (at % 7 === 0 ? null : 50 + (at % 40)));
  const pairs = pairFigures(across, up);
  const drawn = (chosen: readonly string[] = []): string =>
    scatterChart(pairs, { across: 'A', up: 'B', chosen, hasTitles: true }).body(BOX);

  test('has a logarithmic axis for skewed values only', () => {
    const labels = (anchor: string): number[] =>
      found(new RegExp(`text-anchor="${anchor}"[^>]*>([\\d,]+)<`, 'g'), drawn()).map((text) =>
        Number(text.replaceAll(',', '')),
      );
    const below = labels('middle');
    for (const [at, label] of below.slice(1).entries())
      expect(label / (below[at] ?? 1)).toBeGreaterThanOrEqual(2);
    const values = labels('end');
    expect(new Set(values.slice(1).map((value, at) => value - (values[at] ?? 0))).size).toBe(1);
  });

  test('shortens a name that fits on neither side of its dot', () => {
    const middle = ['VCT', 'KEN', 'BRA'].map((code, at) => ({ country: countryOf(code), x: at, y: at }));
    const [long, ...others] = middle;
    const placed = [{ ...(long as Pair), x: 1.2 }, ...others, { ...(others[0] as Pair), x: 0 }];
    const narrow = { width: 300, height: 300, font: 14, id: 'chart' };
    const svg = scatterChart(placed, { across: 'A', up: 'B', chosen: ['VCT'], hasTitles: true }).body(narrow);
    const [, x, isLeft, name = ''] =
      /<text x="(\d+)"[^>]*?( text-anchor="end")? font-weight="600"[^>]*>([^<]+)</.exec(svg) ?? [];
    expect(name).toMatch(/^Saint Vin.*…$/);
    const room = isLeft ? Number(x) : narrow.width - Number(x);
    expect(textWidth(name, narrow.font)).toBeLessThanOrEqual(room + 1);
  });
});
