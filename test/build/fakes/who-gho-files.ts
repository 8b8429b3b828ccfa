/**
 * The WHO's exports in the mirror, sorted into series by a plain reading of the definition's `pin` and `split`: a row
 * of another code than the pinned ones is of another part of the population, each code of a split dimension is a series
 * under its own slug, the pinned one under the bare slug.
 */
import { readFileSync } from 'node:fs';
import { parse as parseYaml } from 'yaml';
import type { FileRow } from './expected-rows.ts';
import { mirrorRows } from './who-gho.ts';

type Row = Record<string, string>;
type Pins = Record<string, string | string[]>;
interface Indicator {
  code: string;
  pin?: Pins;
  split?: string | string[];
}

/** Texts that the exports show for a figure that there is none of. */
const GAPS = new Set(['', 'no data', 'not available', 'not applicable', '…', '...', '.', '-', '–']);
const figure = (text: string | undefined): number | null => (text ? Number(text) : null);

function asideOf(row: Row, pins: Pins, split: readonly string[]): FileRow['aside'] {
  if (row.PUBLISHSTATE?.startsWith('VOID')) return 'withdrawn';
  const isOther = Object.entries(pins).some(
    ([dimension, kept]) =>
      row[dimension] && !split.includes(dimension) && ![kept].flat().includes(row[dimension]),
  );
  if (isOther) return 'other_dimension';
  return row.COUNTRY ? undefined : 'aggregate_place';
}

/** Where the numeric column is empty, what is shown may be a number all the same: the size of warnings, `30`. */
function valueShown(shown: string): number | string | null {
  if (GAPS.has(shown.toLowerCase())) return null;
  return /^\d+(\.\d+)?$/.test(shown) ? Number(shown) : shown;
}

function readRow(row: Row, aside: FileRow['aside']): FileRow {
  const shown = (row['Display Value'] ?? '').trim();
  const read: FileRow = {
    place: row.COUNTRY ?? '',
    year: row.YEAR ?? '',
    value: row.Numeric ? Number(row.Numeric) : valueShown(shown),
    low: figure(row.Low),
    high: figure(row.High),
  };
  return aside ? { ...read, aside } : read;
}

/** Every row of every export, by the slug of its series. */
export function readWho(mirror: string): Map<string, FileRow[]> {
  const { pin, indicators } = parseYaml(readFileSync('data/providers/who-gho.yaml', 'utf8')).source as {
    pin: Pins;
    indicators: (string | Indicator)[];
  };
  const { rowsOf } = mirrorRows(mirror);
  const series = new Map<string, FileRow[]>();
  for (const one of indicators) {
    const { code, ...own }: Indicator = typeof one === 'string' ? { code: one } : one;
    const pins = { ...pin, ...own.pin };
    const split = [own.split ?? []].flat();
    for (const row of rowsOf(code) ?? []) {
      const parts = split.flatMap((name) =>
        row[name] && ![pins[name]].flat().includes(row[name]) ? row[name] : [],
      );
      const slug = [code, ...parts].join('_');
      const rows = series.get(slug) ?? [];
      rows.push(readRow(row, asideOf(row, pins, split)));
      series.set(slug, rows);
    }
  }
  return series;
}
