/** Pictures for link previews that are no charts: of the service, and of a country. 1,200 × 630. */
import type { CountryRecord } from '../../../data/schema/records.ts';
import { coloured, FAINT, INK, RULE, shortened, textAt, titleElement, wrapped } from './drawing.ts';
import { ACCENT, SANS, SERIF, SIZES, WORDMARK } from './frame.ts';
import { DOT_RADIUS, WORLD } from './map.ts';

const { width: WIDTH, height: HEIGHT } = SIZES.card;
const MARGIN = 60;
const PAPER = '#f7f7f4';

const document = (title: string, background: string, content: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="${SANS}" role="img">` +
  `${titleElement(title)}<rect width="${WIDTH}" height="${HEIGHT}" fill="${background}"/>${content}</svg>\n`;

const inSerif = (colour: string, texts: readonly string[]): string =>
  `<g font-family="${SERIF}">${coloured('ink', colour, texts.join(''))}</g>`;

/** A large title over the world. @param line below it */
export function titleCard(title: string, line: string): string {
  const lines = wrapped(title, 60, WIDTH - 2 * MARGIN, 3);
  const texts = lines.map((text, at) =>
    textAt(MARGIN, HEIGHT - 120 - (lines.length - 1 - at) * 70, text, { size: 60, isBold: true }),
  );
  const world = `<g transform="translate(80 40) scale(1.1)" fill="#1d7089">${Object.values(WORLD.shapes)
    .map((path) => `<path d="${path}"/>`)
    .join('')}</g>`;
  const name = textAt(MARGIN, 110, WORDMARK, { size: 44, isBold: true });
  const below = textAt(MARGIN, HEIGHT - 60, shortened(line, 28, WIDTH - 2 * MARGIN), { size: 28 });
  return document(
    title,
    ACCENT,
    world + inSerif('#ffffff', [...texts, name]) + coloured('faint', '#d5e8ee', below),
  );
}

const ROWS_MAX = 4;
const TEXT_WIDTH = 600;

/** @param figures with unit and year in their texts */
export function countryCard(
  country: CountryRecord,
  figures: readonly { name: string; text: string }[],
): string {
  const { name, region, income_group } = country;
  const lines = wrapped(name, 56, TEXT_WIDTH, 2);
  const heading = lines.map((text, at) => textAt(MARGIN, 110 + at * 62, text, { size: 56, isBold: true }));
  const top = 110 + (lines.length - 1) * 62;
  const place = [region, income_group].filter((part) => part !== null).join(' · ');
  const rows = figures.slice(0, ROWS_MAX).map((figure, at) => {
    const y = top + 110 + at * 78;
    const label = textAt(MARGIN, y, shortened(figure.name, 22, TEXT_WIDTH), { size: 22 });
    const value = textAt(MARGIN, y + 34, shortened(figure.text, 30, TEXT_WIDTH), { size: 30, isBold: true });
    return coloured('faint', FAINT, label) + coloured('ink', INK, value);
  });
  const below =
    textAt(MARGIN, top + 46, place, { size: 24 }) +
    textAt(MARGIN, HEIGHT - 36, 'Sources and licences on the page of the country', { size: 18 });
  const wordmark = textAt(WIDTH - MARGIN, HEIGHT - 36, WORDMARK, { size: 28, anchor: 'end', isBold: true });
  const content =
    locator(country) +
    inSerif(INK, heading) +
    inSerif(ACCENT, [wordmark]) +
    coloured('faint', FAINT, below) +
    rows.join('');
  return document(name, PAPER, content);
}

/** Where the card shows it. */
const LOCATOR = { x: 700, y: 60, width: 440, height: 490 };
/** Units of the map that are shown at least, on each side. */
const SURROUNDINGS_MIN = 150;

/** Where the country lies. */
function locator({ iso3 }: CountryRecord): string {
  const { x, y, width, height } = LOCATOR;
  const bounds = findBounds(iso3);
  if (bounds === null) return '';
  const [left, top, right, bottom] = bounds;
  const size = Math.max(SURROUNDINGS_MIN, (right - left) * 1.2, ((bottom - top) * 1.2 * width) / height);
  const shown = { width: size, height: (size * height) / width };
  const from = { x: (left + right - shown.width) / 2, y: (top + bottom - shown.height) / 2 };
  const shapes = Object.entries(WORLD.shapes).map(
    ([code, path]) => `<path d="${path}" fill="${code === iso3 ? ACCENT : '#cfd6d6'}"/>`,
  );
  const dot = WORLD.dots[iso3];
  const mark = dot ? `<circle cx="${dot[0]}" cy="${dot[1]}" r="${DOT_RADIUS}" fill="${ACCENT}"/>` : '';
  const box = [from.x, from.y, shown.width, shown.height].map(Math.round).join(' ');
  return (
    `<svg x="${x}" y="${y}" width="${width}" height="${height}" viewBox="${box}" stroke="${PAPER}" stroke-width="0.5">` +
    `${shapes.join('')}${mark}</svg><rect x="${x}" y="${y}" width="${width}" height="${height}" fill="none" stroke="${RULE}"/>`
  );
}

type Bounds = [left: number, top: number, right: number, bottom: number];

/** Null for a country that the map does not know. */
function findBounds(iso3: string): Bounds | null {
  const [dot, path] = [WORLD.dots[iso3], WORLD.shapes[iso3]];
  if (dot) return [...dot, ...dot];
  return path === undefined ? null : boundsOfPath(path);
}

/** @param path of relative lines, as in `world.json` */
function boundsOfPath(path: string): Bounds {
  const bounds: Bounds = [Infinity, Infinity, -Infinity, -Infinity];
  for (const ring of path.split('M').slice(1)) {
    const numbers = (ring.match(/-?\d+/g) ?? []).map(Number);
    let [x, y] = [0, 0];
    for (let at = 0; at < numbers.length; at += 2) {
      x += numbers[at] ?? 0;
      y += numbers[at + 1] ?? 0;
      bounds[0] = Math.min(bounds[0], x);
      bounds[1] = Math.min(bounds[1], y);
      bounds[2] = Math.max(bounds[2], x);
      bounds[3] = Math.max(bounds[3], y);
    }
  }
  return bounds;
}
