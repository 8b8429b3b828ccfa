/**
 * Makes a picture of a drawing: for a page, which has title, legend and source in HTML around it, or to stand alone, with
 * all of that in the picture.
 */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { escapedXml } from '../../api/encoders/encoders.ts';
import { isSaidBy, yearsText } from '../figures.ts';
import { type Box, coloured, type Drawing, FAINT, INK, RULE, textAt, textWidth, wrapped } from './drawing.ts';
import { WORLD, type WorldMap } from './map.ts';

/** A drawing and what is to be said about it. */
export interface Picture {
  drawing: Drawing;
  labels: Labels;
}

/** What a picture says about what it shows. */
export interface Labels {
  title: string;
  /** Unit and years. */
  subtitle: string;
  /** Credit line and licence. */
  source: string;
}

type Named = Pick<IndicatorRecord, 'name' | 'unit' | 'attribution' | 'licence'>;

/** What is shown, and whose figures it takes. */
interface Credited {
  record: Named;
  credited: readonly Named[];
}

const creditText = ({ attribution, licence }: Named): string =>
  attribution.includes(licence) ? attribution : `${attribution} (${licence})`;

export function pictureLabels(
  { record, credited }: Credited,
  [from, to]: readonly [number | null, number | null],
): Labels {
  const { name, unit } = record;
  const years = from === null && to === null ? '' : yearsText(from, to);
  return {
    title: name,
    subtitle: [unit !== null && isSaidBy(unit, name) ? null : unit, years].filter(Boolean).join(', '),
    source: [...new Set(credited.map(creditText))].join('; '),
  };
}

type PageBox = Omit<Box, 'id'>;

/** Boxes of pages: all but maps are drawn for wide and for narrow screens, so that letters keep their size. */
const PAGE_BOXES = {
  map: { width: WORLD.width, height: WORLD.height, font: 12 },
  wide: { width: 760, height: 400, font: 13 },
  narrow: { width: 360, height: 320, font: 12 },
} as const satisfies Record<string, PageBox>;

/** @param id unique on the page */
export const pageMap = (drawing: WorldMap, labels: Labels, id: string): string =>
  inPage(drawing, labels, { ...PAGE_BOXES.map, id }, 'chart map', drawing.viewBox);

/** Two pictures, of which the stylesheet shows one. @param id unique on the page */
export const pageChart = (drawing: Drawing, labels: Labels, id: string): string =>
  inPage(drawing, labels, { ...PAGE_BOXES.wide, id }, 'chart wide') +
  inPage(drawing, labels, { ...PAGE_BOXES.narrow, id: `${id}-narrow` }, 'chart narrow');

/** One picture for a column of any page. @param id unique on the page */
export const cardChart = (drawing: Drawing, labels: Labels, id: string): string =>
  inPage(drawing, labels, { ...PAGE_BOXES.narrow, id }, 'chart');

function inPage(
  drawing: Drawing,
  labels: Labels,
  box: Box,
  className: string,
  viewBox = `0 0 ${box.width} ${box.height}`,
): string {
  return `<svg class="${className}" viewBox="${viewBox}" ${described(drawing, labels, box.id)}${drawing.body(box)}</svg>`;
}

/** The rest of the start tag, then title and description. */
function described({ description }: Drawing, { title, subtitle, source }: Labels, id: string): string {
  const text = subtitle === '' ? title : `${title}, ${subtitle}`;
  return (
    `role="img" aria-labelledby="${id}-title" aria-describedby="${id}-text">` +
    `<title id="${id}-title">${escapedXml(text)}</title>` +
    `<desc id="${id}-text">${escapedXml(`${description} Source: ${source}`)}</desc>`
  );
}

/** Sizes of pictures that stand alone; the card is what link previews show. */
export const SIZES = {
  wide: { width: 1_200, height: 675 },
  square: { width: 900, height: 900 },
  card: { width: 1_200, height: 630 },
} as const;
export type Size = keyof typeof SIZES;

/** What pictures that stand alone are set in: fonts of the viewer's machine, or those of `png.ts`. */
export const SANS = "'Source Sans 3', system-ui, sans-serif";
export const SERIF = 'Georgia, Gelasio, serif';

const MARGIN = 40;
const TITLE = 38;
const SUBTITLE = 22;
const SMALL = 17;
const ID = 'picture';
export const WORDMARK = 'Almanac';
export const ACCENT = '#0f5c73';

/** A whole SVG document. */
export function standAlone({ drawing, labels }: Picture, size: Size): string {
  const { width, height } = SIZES[size];
  const inner = width - 2 * MARGIN;
  const title = wrapped(labels.title, TITLE, inner, 2);
  const source = wrapped(
    `Source: ${labels.source}`,
    SMALL,
    inner - textWidth(WORDMARK, SUBTITLE) - MARGIN,
    2,
  );
  const top = MARGIN + title.length * TITLE * 1.15 + SUBTITLE * 1.9;
  const bottom = height - MARGIN / 2 - source.length * SMALL * 1.3 - SMALL;
  const box = { width: inner, height: Math.round(bottom - top), font: SMALL, id: ID };
  const heading = title.map((text, at) =>
    textAt(MARGIN, MARGIN + TITLE * (0.8 + at * 1.15), text, { size: TITLE, isBold: true }),
  );
  const below = textAt(MARGIN, top - SUBTITLE * 0.9, shortLine(labels.subtitle, inner), { size: SUBTITLE });
  const credit = source.map((text, at) =>
    textAt(MARGIN, bottom + SMALL * (2 + at * 1.3), text, { size: SMALL }),
  );
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${SANS}" ` +
    described(drawing, labels, ID) +
    `<rect width="${width}" height="${height}" fill="#fff"/>` +
    `<g font-family="${SERIF}">${coloured('ink', INK, heading.join(''))}${wordmark(width - MARGIN, bottom + SMALL * 2)}</g>` +
    coloured('faint', FAINT, below + credit.join('')) +
    coloured(
      'grid',
      RULE,
      `<path d="M${MARGIN} ${Math.round(bottom + SMALL * 0.6)}H${width - MARGIN}" stroke="currentColor"/>`,
    ) +
    `<g transform="translate(${MARGIN} ${Math.round(top)})">${coloured('ink', INK, drawing.body(box))}</g></svg>\n`
  );
}

const shortLine = (text: string, width: number): string => wrapped(text, SUBTITLE, width, 1)[0] ?? '';

const wordmark = (right: number, y: number): string =>
  coloured('ink', ACCENT, textAt(right, y, WORDMARK, { size: SUBTITLE, anchor: 'end', isBold: true }));
