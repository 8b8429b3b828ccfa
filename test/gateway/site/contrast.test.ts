/**
 * Colours of pictures against what is behind them, in both schemes and in pictures that stand alone, by the formulas of
 * WCAG 2.2: 4.5 for letters (1.4.3), 3 for lines, dots and outlines (1.4.11). Text of pages is checked in a browser.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { FAINT, INK, SERIES_COLOURS } from '../../../gateway/site/charts/drawing.ts';
import { DIVERGING, SEQUENTIAL } from '../../../gateway/site/charts/map.ts';
import { OTHERS_OPACITY } from '../../../gateway/site/charts/scatter.ts';

const TEXT_MIN = 4.5;
const GRAPHICS_MIN = 3;
const PAGES = new URL('../../../gateway/', import.meta.url);
const styles = ['web/styles/base.css', 'site/styles/charts.css'].map((file) =>
  readFileSync(new URL(file, PAGES), 'utf8'),
);

const COLOUR = '#[0-9a-f]{6}';
/** A custom property or a class, and its colours in the light and in the dark scheme. */
const COLOURS = new RegExp(
  `(?:--([\\w-]+):|\\.([csd]\\d) \\{\\s+color:) light-dark\\((${COLOUR}), (${COLOUR})\\);`,
  'g',
);

/** The colours as pages show them. */
function schemeOf(name: string, isDark: boolean) {
  const colours = new Map(
    styles.flatMap((style) =>
      [...style.matchAll(COLOURS)].map(
        ([, property, className, light, dark]) => [property ?? className, isDark ? dark : light] as const,
      ),
    ),
  );
  const colourOf = (property: string): string => {
    const colour = colours.get(property);
    if (colour === undefined) throw new Error(`no stylesheet has the colour ${property}`);
    return colour;
  };
  return {
    name,
    /** What pictures stand on. */
    grounds: [colourOf('sheet'), colourOf('paper')],
    ink: colourOf('ink'),
    faint: colourOf('faint'),
    series: SERIES_COLOURS.map((_, at) => colourOf(`c${at}`)),
    sequential: SEQUENTIAL.map(({ className }) => colourOf(className)),
    diverging: DIVERGING.map(({ className }) => colourOf(className)),
  };
}

const light = schemeOf('light', false);
const alone = {
  name: 'pictures that stand alone',
  grounds: ['#ffffff'],
  ink: INK,
  faint: FAINT,
  series: [...SERIES_COLOURS],
  sequential: SEQUENTIAL.map((colour) => colour.light),
  diverging: DIVERGING.map((colour) => colour.light),
};
const SCHEMES = [light, schemeOf('dark', true), alone];

const channels = (colour: string): number[] =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour)
    .map((channel) => channel / 255)
    .map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, bright = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
}

/** A colour that lets some of the ground through. */
function over(colour: string, ground: string, opacity: number): string {
  const behind = channels(ground);
  const mixed = channels(colour).map((channel, at) => channel * opacity + (behind[at] ?? 0) * (1 - opacity));
  return `#${mixed.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`;
}

const weakest = (colours: readonly string[], grounds: readonly string[]): number =>
  Math.min(...colours.flatMap((colour) => grounds.map((ground) => contrast(colour, ground))));

test('pages in the light scheme have the colours of pictures that stand alone', () => {
  expect(light).toEqual({ ...alone, name: 'light', grounds: light.grounds });
});

describe.each(SCHEMES)('$name', ({ grounds, ink, faint, series, sequential, diverging }) => {
  test('lines can be seen, and their names, which have their colour, be read', () => {
    expect(weakest(series, grounds)).toBeGreaterThanOrEqual(TEXT_MIN);
  });

  test('titles and labels of axes can be read', () => {
    expect(weakest([ink, faint], grounds)).toBeGreaterThanOrEqual(TEXT_MIN);
  });

  test('dots without a name can be seen', () => {
    for (const ground of grounds)
      expect(contrast(over(faint, ground, OTHERS_OPACITY), ground)).toBeGreaterThanOrEqual(GRAPHICS_MIN);
  });

  test('every country on a map can be seen: by its colour or by the outline around it', () => {
    for (const colour of [...sequential, ...diverging])
      for (const ground of grounds)
        expect(Math.max(contrast(colour, ground), contrast(faint, ground))).toBeGreaterThanOrEqual(
          GRAPHICS_MIN,
        );
  });

  test('classes of a map become darker or brighter step by step, away from zero where values have two sides', () => {
    const away = diverging.length / 2;
    for (const colours of [sequential, diverging.slice(0, away).toReversed(), diverging.slice(away)]) {
      const [first = '', second = ''] = colours;
      const grows = luminance(second) > luminance(first);
      for (const [at, colour] of colours.slice(1).entries()) {
        const before = colours[at] ?? '';
        expect(luminance(colour) > luminance(before)).toBe(grows);
        expect(contrast(colour, before)).toBeGreaterThan(1.25);
      }
    }
  });
});
