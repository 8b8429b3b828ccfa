/** Rankings as bars, and two indicators against each other. */
import { describe, expect, test } from 'vitest';
import { barChart } from '../../../gateway/site/charts/bars.ts';
import { textWidth } from '../../../gateway/site/charts/drawing.ts';
import { type Pair, pairsOf, scatterChart } from '../../../gateway/site/charts/scatter.ts';
import { countryOf, yearOf } from './chart-figures.ts';

const BOX = { width: 760, height: 400, font: 13, id: 'chart' };
const falling = yearOf((_, at) => 400 - at);
const names = (svg: string): string[] =>
  [...svg.matchAll(/text-anchor="end"[^>]*>([^<]+)</g)].map(([, name]) => String(name));

describe('bars', () => {
  test('show the first countries of the list, as many as fit', () => {
    const shown = names(barChart(falling, { unit: null }).body(BOX));
    expect(shown.length).toBeGreaterThan(10);
    expect(shown).toEqual(falling.figures.slice(0, shown.length).map(({ country }) => country.name));
  });

  test('are in proportion to the values', () => {
    const svg = barChart(
      yearOf((_, at) => (at < 3 ? ([100, 50, 25][at] ?? 0) : null)),
      { unit: null },
    ).body(BOX);
    const [first = 0, second = 0, third = 0] = [...svg.matchAll(/<rect [^>]*width="(\d+)"/g)].map(
      ([, width]) => Number(width),
    );
    expect(Math.abs(second - first / 2)).toBeLessThanOrEqual(1);
    expect(Math.abs(third - first / 4)).toBeLessThanOrEqual(1);
  });

  test('stand around a country, which is marked', () => {
    const middle = falling.figures[100]?.country;
    const svg = barChart(falling, { unit: null, around: middle?.iso3 }).body(BOX);
    const shown = names(svg);
    const at = shown.indexOf(middle?.name ?? '');
    expect(Math.abs(at - shown.length / 2)).toBeLessThanOrEqual(1);
    expect(svg.match(/class="c1"/g)).toHaveLength(1);
    const last = falling.figures.at(-1)?.country;
    expect(names(barChart(falling, { unit: null, around: last?.iso3 }).body(BOX)).at(-1)).toBe(last?.name);
  });

  test('of negative values grow to the left of zero', () => {
    const svg = barChart(
      yearOf((_, at) => (at < 2 ? ([5, -5][at] ?? 0) : null)),
      { unit: null },
    ).body(BOX);
    const [above, below] = [...svg.matchAll(/<rect x="(\d+)"[^>]*width="(\d+)"/g)].map(([, x, width]) => [
      Number(x),
      Number(x) + Number(width),
    ]);
    expect(below?.[1]).toBe(above?.[0]);
  });
});

describe('a scatter chart', () => {
  const across = yearOf((_, at) => (at % 5 === 0 ? null : Math.exp(at / 30)));
  const up = yearOf((_, at) => (at % 7 === 0 ? null : 50 + (at % 40)));
  const pairs = pairsOf(across, up);

  test('has a dot for each country that has both figures', () => {
    const both = across.figures.filter(({ country }) =>
      up.figures.some((other) => other.country === country),
    );
    expect(pairs.map(({ country }) => country)).toEqual(both.map(({ country }) => country));
    const svg = scatterChart(pairs, { across: 'A', up: 'B', chosen: [] }).body(BOX);
    expect(svg.match(/<circle/g)).toHaveLength(both.length);
  });

  test('has a logarithmic axis for skewed values only', () => {
    const svg = scatterChart(pairs, { across: 'A', up: 'B', chosen: [] }).body(BOX);
    const labels = [...svg.matchAll(/text-anchor="middle"[^>]*>([^<]+)</g)].map(([, text]) =>
      Number(text?.replaceAll(',', '')),
    );
    for (const [at, label] of labels.slice(1).entries())
      expect(label / (labels[at] ?? 1)).toBeGreaterThanOrEqual(2);
    const values = [...svg.matchAll(/text-anchor="end"[^>]*>([\d,]+)</g)].map(([, text]) => Number(text));
    const steps = values.slice(1).map((value, at) => value - (values[at] ?? 0));
    expect(new Set(steps).size).toBe(1);
  });

  test('names chosen countries, which have a colour of their own', () => {
    const chosen = [pairs[3], pairs[40]].map((pair) => pair?.country.iso3 ?? '');
    const svg = scatterChart(pairs, { across: 'A', up: 'B', chosen }).body(BOX);
    for (const [at, code] of chosen.entries()) {
      const name = pairs.find(({ country }) => country.iso3 === code)?.country.name;
      expect(svg).toMatch(new RegExp(`class="c${at}"[^>]*><circle[^>]*/><text[^>]*>${name}<`));
    }
  });

  test('shortens a name that fits on neither side of its dot', () => {
    const middle = ['VCT', 'KEN', 'BRA'].map((code, at) => ({ country: countryOf(code), x: at, y: at }));
    const [long, ...others] = middle;
    const placed = [{ ...(long as Pair), x: 1.2 }, ...others, { ...(others[0] as Pair), x: 0 }];
    const narrow = { width: 300, height: 300, font: 14, id: 'chart' };
    const svg = scatterChart(placed, { across: 'A', up: 'B', chosen: ['VCT'] }).body(narrow);
    const [, x, isLeft, name = ''] =
      /<text x="(\d+)"[^>]*?( text-anchor="end")? font-weight="600"[^>]*>([^<]+)</.exec(svg) ?? [];
    expect(name).toMatch(/^Saint Vin.*…$/);
    const room = isLeft ? Number(x) : narrow.width - Number(x);
    expect(textWidth(name, narrow.font)).toBeLessThanOrEqual(room + 1);
  });
});
