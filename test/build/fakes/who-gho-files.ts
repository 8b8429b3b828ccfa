/**
 * An independent reading of the WHO's exports in the mirror: rows by series, according to the definition's `pin` and
 * `split`.
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

/** Texts that the exports display for a missing figure. */
const GAPS = new Set(['', 'no data', 'not available', 'not applicable', '…', '...', '.', '-', '–']);
const figure = (text: string | undefined): number | null => (text ? Number(text) : null);

function findExclusion(row: Row, pins: Pins, split: readonly string[]): FileRow['excluded'] {
  if (row.PUBLISHSTATE?.startsWith('VOID')) return 'withdrawn';
  const isOther = Object.entries(pins).some(
    ([dimension, kept]) =>
      row[dimension] && !split.includes(dimension) && ![kept].flat().includes(row[dimension]),
  );
  if (isOther) return 'other_dimension';
  return row.COUNTRY ? undefined : 'aggregate_place';
}

/** Where the numeric column is empty, the displayed text may still be a number, such as a warning size of `30`. */
function valueShown(shown: string): number | string | null {
  if (GAPS.has(shown.toLowerCase())) return null;
  return /^\d+(\.\d+)?$/.test(shown) ? Number(shown) : shown;
}

function readRow(row: Row, excluded: FileRow['excluded']): FileRow {
  const shown = (row['Display Value'] ?? '').trim();
  const read: FileRow = {
    place: row.COUNTRY ?? '',
    year: row.YEAR ?? '',
    value: row.Numeric ? Number(row.Numeric) : valueShown(shown),
    low: figure(row.Low),
    high: figure(row.High),
  };
  return excluded ? { ...read, excluded } : read;
}

/** All rows by slug. */
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
      rows.push(readRow(row, findExclusion(row, pins, split)));
      series.set(slug, rows);
    }
  }
  return series;
}
