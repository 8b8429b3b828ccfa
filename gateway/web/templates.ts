/**
 * What templates of all rooms are given: how numbers, times, sizes and money read, columns and cells of tables, bar charts
 * and QR codes. Guarantees:
 *
 * - Every value is a pure function of its arguments; times are UTC, and what is not there is a dash.
 * - Only what comes out of `html` is put into a page unescaped; all else is escaped by the template.
 * - Colour is never the only sign of a direction, and a chart says in words what it shows.
 *
 * The macros in `views/parts.njk` are the other half: they know the names of the filters here and the classes in `styles/`.
 * Nothing here knows the rooms that use it. Fields, links and downloads are in `forms.ts`.
 */
import nunjucks from 'nunjucks';
import { encode } from 'uqr';
import { DAY_MS, MINUTE_MS } from '../../data/schema/redis-keys.ts';
import type { SortLink } from './forms.ts';

export type Html = nunjucks.runtime.SafeString;

/** Marks a text as HTML, which templates do not escape. */
export const html = (text: string): Html => new nunjucks.runtime.SafeString(text);

const HOUR_MS = 60 * MINUTE_MS;

const integers = new Intl.NumberFormat('en');
const number = (value: number | null): string => (value === null ? '–' : integers.format(value));

/** `+5` and `−5`: colour is never the only sign of direction. */
const signed = (value: number): string =>
  value > 0 ? `+${integers.format(value)}` : value < 0 ? `−${integers.format(-value)}` : '0';

/** `2026-11-21 12:00:20 UTC`; a dash for null and 0. */
export function formatMoment(ms: number | null): string {
  if (ms === null || !Number.isFinite(ms) || ms === 0) return '–';
  const iso = new Date(ms).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** The same as a `<time>` element. */
function moment(ms: number | null): Html | string {
  const text = formatMoment(ms);
  return ms === null || text === '–'
    ? text
    : html(`<time datetime="${new Date(ms).toISOString()}">${text}</time>`);
}

/** `3 min`, `5 h`, `12 days`. */
function span(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < MINUTE_MS) return `${Math.max(0, Math.round(ms / 1000))} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return `${Math.floor(ms / DAY_MS)} days`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

function bytes(size: number): string {
  let rest = size;
  let unit = 0;
  while (rest >= 1000 && unit < UNITS.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? rest : rest.toFixed(1)} ${UNITS[unit] ?? ''}`;
}

/** `59.00 EUR` from an amount in minor units. */
const money = (minor: number, currency: string): string => `${(minor / 100).toFixed(2)} ${currency}`;

/** The changed fields of two flat records: `name: before → after`. */
function difference(before: Record<string, unknown>, after: Record<string, unknown>): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const text = (value: unknown): string =>
    value === undefined || value === null || value === '' ? '–' : String(value);
  return names
    .filter((name) => before[name] !== after[name])
    .map((name) =>
      name in before
        ? `${name}: ${text(before[name])} → ${text(after[name])}`
        : `${name}: ${text(after[name])}`,
    )
    .join('; ');
}

interface TableColumn {
  label: string;
  /** Numbers, or long text that may break anywhere; empty for others. */
  kind: 'figure' | 'wrap' | '';
  sort: SortLink | null;
}

/** A column as templates write it: `"Rows" | figure`, with the link of a `TableSort` as `"Rows" | figure(sorts.rows)`. */
const columnOf =
  (kind: TableColumn['kind']) =>
  (label: string, sort: SortLink | null = null): TableColumn => ({ label, kind, sort });

/** A text is a column that does not sort; falsy ones are left out. */
type ColumnInput = string | TableColumn | null | undefined | false;

const tableColumns = (columns: readonly ColumnInput[]): TableColumn[] =>
  columns.flatMap((column) => {
    if (!column) return [];
    return typeof column === 'string' ? columnOf('')(column) : column;
  });

/** Adds to each cell of a table body the class and the label of its column; cards show the label. */
function labelCells(body: Html, inputs: readonly ColumnInput[]): Html {
  const columns = tableColumns(inputs);
  let at = 0;
  const labelled = body.toString().replaceAll(/<(tr|td|th)\b/g, (tag, name) => {
    const column = name === 'tr' ? undefined : columns[at];
    at = name === 'tr' ? 0 : at + 1;
    if (!column) return tag;
    const kind = column.kind === '' ? '' : ` class="${column.kind}"`;
    const label = column.label.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
    return `${tag}${kind} data-label="${label}"`;
  });
  return html(labelled);
}

export const TEMPLATE_FILTERS = {
  number,
  signed,
  moment,
  span,
  bytes,
  money,
  difference,
  tableColumns,
  labelCells,
  figure: columnOf('figure'),
  wrap: columnOf('wrap'),
  column: columnOf(''),
} as const;

export interface Point {
  label: string;
  value: number;
}

const WIDTH = 600;
const HEIGHT = 100;
const BASELINE = 99;
const TOP = 4;
/** Share of a bar's slot that stays empty. */
const GAP = 0.25;
/** Keeps one request visible beside millions. */
const MIN_BAR_HEIGHT = 1.5;

/**
 * A bar chart that templates draw as inline SVG, with a summary as its text alternative.
 * @param id unique on its page; element ids are derived from it. @param points one a day or year, oldest first
 */
export function barChart(
  id: string,
  title: string,
  points: readonly Point[],
  period: 'days' | 'years' = 'days',
) {
  const max = Math.max(0, ...points.map(({ value }) => value));
  const total = points.reduce((sum, { value }) => sum + value, 0);
  const step = WIDTH / Math.max(1, points.length);
  const bars = points.map(({ label, value }, index) => {
    const height = value > 0 ? Math.max(MIN_BAR_HEIGHT, (value / max) * (BASELINE - TOP)) : 0;
    const [x, y] = [round(index * step + (step * GAP) / 2), round(BASELINE - height)];
    return { label, value, x, y, width: round(step * (1 - GAP)), height: round(height) };
  });
  const peak = points.find(({ value }) => value === max);
  const highest = `highest ${period === 'days' ? 'on' : 'in'} ${peak?.label ?? ''}: ${integers.format(max)}.`;
  // Sums over years mean nothing: the same countries have a value again.
  const sum = period === 'days' ? `${integers.format(total)} in ${points.length} days; ` : '';
  const summary = max === 0 ? `Nothing in ${points.length} ${period}.` : `${sum}${highest}`;
  return {
    id,
    title,
    summary,
    width: WIDTH,
    height: HEIGHT,
    baseline: BASELINE,
    bars,
    max,
    total,
    /** Labels of the first and last bar, and the value of the last one. */
    first: points[0]?.label ?? '',
    last: points.at(-1)?.label ?? '',
    today: points.at(-1)?.value ?? 0,
  };
}

export type Chart = ReturnType<typeof barChart>;

const round = (value: number): number => Math.round(value * 100) / 100;

/** White modules around a QR code, as its standard asks. */
const BORDER = 4;

/** A QR code as the path of an inline SVG, which a page may show without loading anything. */
export function qrCode(text: string) {
  const { size, data } = encode(text, { ecc: 'M', border: BORDER });
  const modules = data.flatMap((row, y) => row.map((isBlack, x) => (isBlack ? `M${x} ${y}h1v1h-1z` : '')));
  /** Modules per side, with the border, and the black ones, each one unit wide. */
  return { size, path: modules.join('') };
}

export type QrCode = ReturnType<typeof qrCode>;
