/** The figures of one upstream file, whatever its layout: a CSV, a gzipped CSV, or a zip with one CSV. */
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { openZip, ZIP_LIMITS } from '../../build/connectors/zip.ts';
import { zipOf } from '../build/fakes/zip.ts';

const YEAR_COLUMN = /^(time|year|time_period)$/i;
const YEAR = /^(1[89]|20)\d\d$/;
/** SDMX names its columns, and has numbers in others, too. */
const SDMX_FIGURES = ['OBS_VALUE', 'LOWER_BOUND', 'UPPER_BOUND'];
const STATUS = 'OBS_STATUS';
/** Rows that are looked at to tell which columns hold figures. */
const LOOKED_AT = 200;

export class FigureTable {
  readonly file: string;
  /** Everything above the first row with a figure. */
  readonly head: string[][];
  readonly rows: string[][];
  /** The columns with figures. */
  readonly figures: readonly number[];
  /** The column with the status of an observation; -1 without one. */
  readonly status: number;
  /** Whether years are columns, so that a row holds many figures. */
  readonly isWide: boolean;
  readonly #entry: string;

  private constructor(file: string, cells: string[][], entry: string) {
    const at = Math.max(
      0,
      cells.findIndex((row) => row.length > 2),
    );
    const header = cells[at] ?? [];
    this.file = file;
    this.#entry = entry;
    this.head = cells.slice(0, at + 1);
    this.rows = cells.slice(at + 1);
    this.status = header.indexOf(STATUS);
    this.isWide = header.filter((name) => YEAR.test(name)).length > 10;
    this.figures = this.#findFigures(header);
  }

  static async read(file: string): Promise<FigureTable> {
    const { text, entry } = await readText(file);
    const cells = parse(text, { bom: true, relax_column_count: true, skip_empty_lines: true });
    return new FigureTable(file, cells, entry);
  }

  #findFigures(header: readonly string[]): number[] {
    const columns = [...header.keys()];
    const named = (column: number): string => header[column] ?? '';
    if (this.status >= 0) return columns.filter((column) => SDMX_FIGURES.includes(named(column)));
    if (this.isWide) return columns.filter((column) => YEAR.test(named(column)));
    if (!header.some((name) => YEAR_COLUMN.test(name))) return [];
    const looked = this.rows.slice(0, LOOKED_AT);
    return columns.filter((column) => {
      const texts = looked.map((row) => row[column] ?? '').filter((text) => text !== '');
      const isNumeric = texts.length > 0 && texts.every((text) => Number.isFinite(Number(text)));
      return isNumeric && !YEAR_COLUMN.test(named(column));
    });
  }

  /** Names a row by its cells without figures and status. */
  keyOf(row: readonly string[]): string {
    return row.filter((_, column) => column !== this.status && !this.figures.includes(column)).join('|');
  }

  /** Writes the file with a modification time, by which a mirror tells changes. */
  async write(time_ms: number): Promise<void> {
    const text = stringify([...this.head, ...this.rows]);
    const bytes = this.file.endsWith('.gz')
      ? gzipSync(text, { level: 1 })
      : this.file.endsWith('.zip')
        ? zipOf([{ name: this.#entry, body: text }])
        : text;
    await writeFile(this.file, bytes);
    await utimes(this.file, time_ms / 1000, time_ms / 1000);
  }
}

async function readText(file: string): Promise<{ text: string; entry: string }> {
  const bytes = await readFile(file);
  if (!file.endsWith('.zip')) {
    const plain = file.endsWith('.gz') ? gunzipSync(bytes) : bytes;
    return { text: plain.toString('utf8'), entry: basename(file) };
  }
  const archive = await openZip(Readable.from([bytes]), ZIP_LIMITS);
  try {
    const [entry, ...others] = archive.names;
    if (entry === undefined || others.length > 0) return { text: '', entry: '' };
    return { text: await text(Readable.from(archive.stream(entry))), entry };
  } finally {
    await archive.close();
  }
}
