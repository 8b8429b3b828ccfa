/** The ranking of one year as bars: its first countries, or those around one of them. */
import { extent } from 'd3-array';
import { figureText } from '../figures.ts';
import type { CountryFigure, YearFigures } from '../series.ts';
import {
  type Box,
  coloured,
  type Drawing,
  FAINT,
  INK,
  linearScale,
  measureText,
  series,
  shortened,
  textAt,
  textWidth,
} from './drawing.ts';

interface BarOptions {
  unit: string | null;
  /** ISO3 of the country that the bars are around, and that is marked; default the first ones. */
  around?: string | undefined;
}

/** The most bars, also where there is room for more. */
const BARS_MAX = 20;
/** In heights of letters. */
const ROW_MIN = 1.7;
const ROW_MAX = 2.6;
/** Shares of a row and of the width. */
const THICKNESS = 0.72;
const NAMES_MAX = 0.36;

export function barChart({ figures }: YearFigures, { unit, around }: BarOptions): Drawing {
  const shown = windowAround(figures, around, BARS_MAX);
  const description =
    shown.length === 0
      ? 'No figures.'
      : `${shown.map((figure) => `${nameOf(figure)}: ${measureText(figure.value, unit)}`).join('; ')}.`;
  return { description, body: (box) => draw(figures, around, box) };
}

/** So many figures with the country in their middle, as far as there are others on both sides. */
function windowAround(
  figures: readonly CountryFigure[],
  around: string | undefined,
  count: number,
): readonly CountryFigure[] {
  const at = figures.findIndex(({ country }) => country.iso3 === around);
  const start = at < 0 ? 0 : Math.max(0, Math.min(at - Math.floor(count / 2), figures.length - count));
  return figures.slice(start, start + count);
}

const nameOf = ({ rank, country }: CountryFigure): string =>
  rank === null ? country.name : `${rank}. ${country.name}`;

function draw(figures: readonly CountryFigure[], around: string | undefined, box: Box): string {
  const { width, height, font } = box;
  const count = Math.min(BARS_MAX, Math.floor(height / font / ROW_MIN));
  const shown = windowAround(figures, around, count);
  if (shown.length === 0)
    return textAt(width / 2, height / 2, 'No figures', { size: font, anchor: 'middle' });
  const names = shown.map((figure) => shortened(nameOf(figure), font, NAMES_MAX * width));
  const left = Math.ceil(Math.max(...names.map((name) => textWidth(name, font))) + font / 2);
  const texts = Math.max(...shown.map(({ value }) => textWidth(figureText(value), font))) + font;
  const [low = 0, high = 0] = extent([0, ...shown.map(({ value }) => value)]);
  const x = linearScale([low, high], [left + (low < 0 ? texts : 0), width - (high > 0 ? texts : font)]);
  const row = Math.min(height / shown.length, font * ROW_MAX);
  const drawRow = ({ value, country }: CountryFigure, at: number): string => {
    const top = at * row;
    const isMarked = country.iso3 === around;
    const base = top + row / 2 + font / 3;
    const [zero, end] = [Math.round(x(0)), Math.round(x(value))];
    const bar = `<rect x="${Math.min(zero, end)}" y="${Math.round(top + (row * (1 - THICKNESS)) / 2)}" width="${Math.max(1, Math.abs(end - zero))}" height="${Math.round(row * THICKNESS)}" fill="currentColor"/>`;
    const anchor = value < 0 ? 'end' : 'start';
    const texts =
      textAt(left - font / 2, base, names[at] ?? '', { size: font, anchor: 'end', isBold: isMarked }) +
      textAt(end + (value < 0 ? -font : font) / 3, base, figureText(value), { size: font, anchor });
    return (
      series(isMarked ? 1 : 0, bar) + coloured(isMarked ? 'ink' : 'faint', isMarked ? INK : FAINT, texts)
    );
  };
  return shown.map(drawRow).join('');
}
