/** Histories as lines: gaps, projections, bounds, names. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { spread } from '../../../gateway/site/charts/drawing.ts';
import { standAlone } from '../../../gateway/site/charts/frame.ts';
import { lineChart, usualStep, yearRuns } from '../../../gateway/site/charts/lines.ts';
import { history, point } from './chart-figures.ts';

const BOX = { width: 760, height: 400, font: 13, id: 'lines' };
const years = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
const rising = (from: number, to: number) => years(from, to).map((year) => point(year, year - 1950));

describe('a line', () => {
  test('breaks where years are missing', () => {
    const points = [...rising(1990, 1995), ...rising(2000, 2003)];
    expect(yearRuns(points, 1).map((run) => run.points.map(({ year }) => year))).toEqual([
      years(1990, 1995),
      years(2000, 2003),
    ]);
    const svg = lineChart([history('PER', points)], null).body(BOX);
    expect(svg.match(/stroke-width="2"/g)).toHaveLength(2);
  });

  test('joins figures of every fifth year where that is their rhythm', () => {
    const points = [1990, 1995, 2000, 2010].map((year) => point(year, 1));
    expect(usualStep([points])).toBe(5);
    expect(yearRuns(points, 5).map((run) => run.points.map(({ year }) => year))).toEqual([
      [1990, 1995, 2000],
      [2010],
    ]);
  });

  test('is dashed from the last measured figure on', () => {
    const points = [
      ...rising(2018, 2022),
      ...rising(2023, 2025).map((each) => ({ ...each, projected: true })),
    ];
    const runs = yearRuns(points, 1);
    expect(runs.map(({ isProjected, points: run }) => [isProjected, run[0]?.year, run.at(-1)?.year])).toEqual(
      [
        [false, 2018, 2022],
        [true, 2022, 2025],
      ],
    );
    const paths = lineChart([history('PER', points)], null)
      .body(BOX)
      .match(/<path[^>]*stroke-width="2"[^>]*>/g);
    expect(paths?.map((path) => path.includes('stroke-dasharray'))).toEqual([false, true]);
  });

  test('has a band where there are bounds', () => {
    const points = rising(1990, 1995).map((each) => ({
      ...each,
      ciLo: each.value - 2,
      ciHi: each.value + 2,
    }));
    expect(lineChart([history('PER', points)], null).body(BOX)).toContain('fill-opacity');
    expect(lineChart([history('PER', rising(1990, 1995))], null).body(BOX)).not.toContain('fill-opacity');
  });

  test('is rounded to whole units', () => {
    const points = rising(1960, 2020).map((each) => ({ ...each, value: Math.sin(each.year) * 12.345 }));
    const drawn = lineChart([history('PER', points)], null).body(BOX);
    for (const [, path] of drawn.matchAll(/ d="([^"]+)"/g)) expect(path).not.toContain('.');
  });

  test('of a single year is a dot, and of one value lies in the middle of an axis', () => {
    const svg = lineChart([history('PER', [point(2020, 5)])], null).body(BOX);
    expect(svg).toContain('<circle');
    expect(svg).not.toContain('NaN');
  });
});

describe('a chart of lines', () => {
  test('names each country once, and says in words what it shows', () => {
    const chart = lineChart(
      [history('PER', rising(1990, 2020)), history('KEN', rising(2000, 2019))],
      'years',
    );
    expect(chart.description).toBe(
      'Peru: 1990 to 2020, 70 years in 2020. Kenya: 2000 to 2019, 69 years in 2019.',
    );
    const svg = chart.body(BOX);
    expect(svg.match(/>Peru</g)).toHaveLength(1);
    expect(svg.match(/>Kenya</g)).toHaveLength(1);
  });

  test('that stands alone has title, unit, years, source and licence in it and for screen readers', () => {
    const labels = { title: 'Life & death', subtitle: 'years, 1990–2020', source: 'World Bank (CC BY 4.0)' };
    const drawing = lineChart([history('PER', rising(1990, 2020))], 'years');
    const svg = standAlone({ drawing, labels }, 'wide');
    expect(svg).toContain('role="img" aria-labelledby="picture-title" aria-describedby="picture-text"');
    expect(svg).toContain('<title id="picture-title">Life &amp; death (years, 1990–2020)</title>');
    expect(svg).toMatch(/<desc id="picture-text">Peru: .* Source: World Bank \(CC BY 4\.0\)<\/desc>/);
    for (const text of [
      '>Life &amp; death<',
      '>years, 1990–2020<',
      '>Source: World Bank (CC BY 4.0)<',
      '>Almanac<',
    ])
      expect(svg).toContain(text);
    expect(svg).not.toMatch(/\sstyle=|NaN|undefined/);
  });
});

describe('labels', () => {
  test('never overlap, stay within their room and keep their order', () => {
    const places = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(places, (wanted) => {
        const room = { distance: 16, from: 10, to: 380 };
        const placed = spread(wanted, room);
        const sorted = placed.toSorted((a, b) => a - b);
        for (const [at, place] of sorted.entries()) {
          expect(place).toBeGreaterThanOrEqual(room.from - 1e-9);
          expect(place).toBeLessThanOrEqual(room.to + 1e-9);
          if (at > 0) expect(place - (sorted[at - 1] ?? 0)).toBeGreaterThanOrEqual(room.distance - 1e-9);
        }
        const byPlace = wanted.map((_, at) => at).sort((a, b) => (placed[a] ?? 0) - (placed[b] ?? 0));
        expect(byPlace.map((at) => wanted[at])).toEqual(wanted.toSorted((a, b) => a - b));
      }),
    );
  });

  test('stay where they are wanted when there is room', () => {
    expect(spread([100, 50, 200], { distance: 16, from: 0, to: 400 })).toEqual([100, 50, 200]);
  });
});
