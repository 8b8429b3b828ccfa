/**
 * What all charts share. A chart is drawn into a box by a pure function and knows nothing of where it is shown; `frame.ts`
 * makes a picture of it.
 *
 * Every colour is both a class and a presentation attribute `color`, and marks are drawn in `currentColor`: pictures that
 * stand alone need no stylesheet, and pages change the colours by class. Nothing has a style attribute, which the security
 * policy refuses.
 */
import { escapedXml } from '../../api/encoders/documents/xml.ts';
import { figureText } from '../figures.ts';

export interface Box {
  width: number;
  height: number;
  /** Height of letters. */
  font: number;
  /** Of the picture, unique on its page: ids of its parts begin with it. */
  id: string;
}

export interface Drawing {
  /** The chart in words, for those who do not see it. */
  description: string;
  body(box: Box): string;
}

export const INK = '#1f2428';
export const FAINT = '#575f66';
export const RULE = '#d9dad5';
/** Of series, in their order: told apart by colour-blind people, and dark enough for text on white. */
export const SERIES_COLOURS = ['#0072b2', '#b85000', '#007a57', '#ab4f86', '#8a6d00', '#3d4a52'] as const;
export const SERIES_MAX = SERIES_COLOURS.length;

/** Marks of one colour. The stylesheet of pages knows the class. */
export const coloured = (className: string, colour: string, marks: string): string =>
  marks === '' ? '' : `<g class="${className}" color="${colour}">${marks}</g>`;

export const series = (at: number, marks: string): string =>
  coloured(`c${at}`, SERIES_COLOURS[at % SERIES_MAX] ?? INK, marks);

interface TextOptions {
  size: number;
  anchor?: 'start' | 'middle' | 'end';
  isBold?: boolean;
  /** Stands out from marks below it. */
  hasHalo?: boolean;
}

/** In the colour of the group. @param y of the base line */
export function textAt(
  x: number,
  y: number,
  content: string,
  { size, anchor = 'start', isBold, hasHalo }: TextOptions,
): string {
  const anchored = anchor === 'start' ? '' : ` text-anchor="${anchor}"`;
  const bold = isBold ? ' font-weight="600"' : '';
  const halo = hasHalo ? ' class="halo" stroke="#fff" stroke-width="3" paint-order="stroke"' : '';
  return `<text x="${Math.round(x)}" y="${Math.round(y)}" font-size="${size}"${anchored}${bold}${halo} fill="currentColor">${escapedXml(content)}</text>`;
}

export const titleOf = (text: string): string => `<title>${escapedXml(text)}</title>`;

/** `77.9 years`, `5.1 %` */
export const measureText = (value: number, unit: string | null): string =>
  unit === null ? figureText(value) : `${figureText(value)} ${unit}`;

const NARROW = /[iljtfrI.,:;'|()[\] ]/;
const WIDE = /[mwMW@%]/;
const CAPITAL = /[A-Z0-9]/;

/** How wide a text is in a wide sans-serif font, at most: nothing here can measure it. */
export function textWidth(text: string, size: number): number {
  let ems = 0;
  for (const letter of text)
    ems += NARROW.test(letter) ? 0.38 : WIDE.test(letter) ? 0.97 : CAPITAL.test(letter) ? 0.7 : 0.61;
  return ems * size;
}

/** The text as far as it fits, with an ellipsis where it does not. */
export function shortened(text: string, size: number, width: number): string {
  if (textWidth(text, size) <= width) return text;
  let length = text.length;
  while (length > 1 && textWidth(`${text.slice(0, length)}…`, size) > width) length -= 1;
  return `${text.slice(0, length).trimEnd()}…`;
}

/** Lines of whole words; the last one is shortened where the text needs more lines than there are. */
export function wrapped(text: string, size: number, width: number, linesMax: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && textWidth(longer, size) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  lines.push(line);
  if (lines.length <= linesMax) return lines;
  const rest = lines.slice(linesMax - 1).join(' ');
  return [...lines.slice(0, linesMax - 1), shortened(rest, size, width)];
}
