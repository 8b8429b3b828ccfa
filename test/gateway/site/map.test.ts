/** Maps: every country is on them, in the class of its figure. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classify, classOf, outlinesFile, WORLD, worldMap } from '../../../gateway/site/charts/map.ts';
import { COUNTRIES, countryOf, yearOf } from './chart-figures.ts';

const BOX = { width: WORLD.width, height: WORLD.height, font: 12, id: 'map' };
const OUTLINES = '/assets/world.svg';

/** By country, the class of the group that its shape or dot stands in. */
function classesIn(svg: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, className, marks] of svg.matchAll(
    /<g class="(\w+)" color="[^"]+" fill="[^"]+"[^>]*>(.*?)<\/g>/g,
  ))
    for (const [, name] of String(marks).matchAll(/<title>(.*?): /g))
      found.set(String(name), String(className));
  return found;
}

describe('the geometry', () => {
  test('has every country as a shape or a dot, and a shape within the map', () => {
    for (const { iso3 } of COUNTRIES)
      expect([iso3, iso3 in WORLD.shapes !== iso3 in WORLD.dots]).toEqual([iso3, true]);
    expect(Object.keys(WORLD.shapes).length + Object.keys(WORLD.dots).length).toBe(COUNTRIES.length);
    for (const [x, y] of Object.values(WORLD.dots)) {
      expect(x).toBeGreaterThan(0);
      expect(x).toBeLessThan(WORLD.width);
      expect(y).toBeGreaterThan(0);
      expect(y).toBeLessThan(WORLD.height);
    }
  });

  test('has dots that do not cover each other', () => {
    const dots = Object.values(WORLD.dots);
    for (const [at, [x, y]] of dots.entries())
      for (const [otherX, otherY] of dots.slice(at + 1))
        expect(Math.hypot(x - otherX, y - otherY)).toBeGreaterThan(6);
  });

  test('is in one file that a map refers to by country', () => {
    const file = outlinesFile();
    const { body } = worldMap(
      yearOf((_, at) => at),
      { unit: null, outlines: OUTLINES, hasTitles: false },
    );
    const used = [...body(BOX).matchAll(/href="\/assets\/world\.svg#([A-Z]{3})"/g)].map(([, code]) =>
      String(code),
    );
    expect(used.length).toBeGreaterThan(150);
    for (const code of used) expect(file).toContain(`<path id="${code}" d="M`);
  });
});

describe('a map', () => {
  const year = yearOf((_, at) => (at % 7 === 2 ? null : ((at * 7919) % 1000) / 10));
  const map = worldMap(year, { unit: '%', outlines: OUTLINES, hasTitles: true });
  const svg = map.body(BOX);

  test('shows each country in the class that the legend gives its value', () => {
    const classes = classesIn(svg);
    const ranges = map.legend.slice(0, -1).map(({ className, text }) => {
      const numbers = (text.match(/[\d.]+/g) ?? []).map(Number);
      if (text.startsWith('below')) return { className, from: -Infinity, to: numbers[0] as number };
      return { className, from: numbers[0] as number, to: numbers[1] ?? Infinity };
    });
    expect(ranges.length).toBe(6);
    for (const { country, value } of year.figures) {
      const expected = ranges.find(({ from, to }) => value >= from && value < to);
      expect([country.name, classes.get(escaped(country.name))]).toEqual([country.name, expected?.className]);
    }
  });

  test('hatches countries without a figure, and says so', () => {
    const classes = classesIn(svg);
    for (const { name } of year.missing) expect([name, classes.get(escaped(name))]).toEqual([name, 'none']);
    expect(map.legend.at(-1)?.text).toBe('No figure');
    expect(map.description).toContain(`${year.missing.length} have none`);
  });

  test('says the figure of each country where it may', () => {
    expect(svg).toContain(`<title>${year.figures[0]?.country.name}: `);
    const silent = worldMap(year, { unit: '%', outlines: OUTLINES, hasTitles: false }).body(BOX);
    expect(silent).not.toContain('<title>');
  });

  test('shows countries of the edition only', () => {
    const peru = countryOf('PER');
    const without = {
      ...year,
      figures: year.figures.filter(({ country }) => country !== peru),
      missing: year.missing.filter((country) => country !== peru),
    };
    const drawn = worldMap(without, { unit: null, outlines: OUTLINES, hasTitles: true }).body(BOX);
    expect(drawn).not.toMatch(/#PER|Peru/);
  });

  test('has no style attribute', () => expect(svg).not.toMatch(/\sstyle=/));
});

/** As in XML. */
const escaped = (name: string): string => name.replaceAll('&', '&amp;').replaceAll("'", '&#39;');

describe('classes', () => {
  test('are one to six, each with a value, ascending, with readable bounds', () => {
    const value = fc.oneof(
      fc.integer({ min: -50, max: 1000 }),
      fc.double({ min: 0, max: 1e12, noNaN: true }),
    );
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 220 }), (values) => {
        const classes = classify(values);
        const used = new Set(values.map((each) => classOf(each, classes)));
        expect(classes.colours.length).toBe(classes.bounds.length + 1);
        expect(classes.colours.length).toBeLessThanOrEqual(6);
        expect(new Set(classes.colours).size).toBe(classes.colours.length);
        expect([...classes.bounds]).toEqual(classes.bounds.toSorted((a, b) => a - b));
        if (classes.colours[0]?.className.startsWith('s')) expect(used.size).toBe(classes.colours.length);
      }),
    );
  });

  test('hold about as many countries each, however skewed the values are', () => {
    const values = COUNTRIES.map((_, at) => Math.exp(at / 10));
    const classes = classify(values);
    const sizes = Map.groupBy(values, (each) => classOf(each, classes));
    for (const members of sizes.values())
      expect(Math.abs(members.length - values.length / 6)).toBeLessThan(values.length / 30);
  });

  test('part at zero where values lie on both sides of it', () => {
    const { bounds, colours } = classify(COUNTRIES.map((_, at) => at / 10 - 8));
    expect(bounds).toContain(0);
    expect(colours.map(({ className }) => className)).toEqual(['d0', 'd1', 'd2', 'd3', 'd4', 'd5']);
  });
});
