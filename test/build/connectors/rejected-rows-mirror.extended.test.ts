/**
 * Every figure in a provider's files is in the lake or counted as rejected by reason. Expectations are counted with
 * csv-parse alone; for the World Bank and the WHO, some of whose series fail, by reason and by series.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, expect, it } from 'vitest';
import { describeWithMirror } from '../../mirror.ts';
import { overlayBounds } from '../../overlay-bounds.ts';
import { buildMirror, runOf, type SharedBuild } from '../../shared-builds.ts';
import {
  type ExpectedRow,
  type ExpectedRows,
  expectRows,
  withoutEmptyCells,
} from '../fakes/expected-rows.ts';
import { readWho } from '../fakes/who-gho-files.ts';
import { readWorldBank } from '../fakes/world-bank-files.ts';

const table = (file: string): string[][] =>
  parse(readFileSync(file, 'utf8'), { bom: true, relax_column_count: true });

const filesBelow = (directory: string, suits: (path: string) => boolean): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.csv') && suits(path))
    .map((path) => join(directory, path));

/** The number of rows below the headers. */
const countFileRows = (files: string[]): number =>
  files.reduce((sum, file) => sum + table(file).length - 1, 0);

/** The number of cells of all files; a forecast column and its observed column count once. */
const countCells = (directory: string, keys: number, joined: RegExp): number =>
  filesBelow(directory, () => true).reduce((sum, file) => {
    const [header = [], ...rows] = table(file);
    return sum + rows.length * header.slice(keys).filter((column) => !joined.test(column)).length;
  }, 0);

const COUNTS: Record<string, (mirror: string) => number> = {
  gapminder: (mirror) =>
    countFileRows(
      filesBelow(join(mirror, 'gapminder'), (path) =>
        // The values of income_mountains are no numbers.
        /ddf--datapoints--(?!income_mountains--).*--by--geo--time\.csv$/.test(path),
      ),
    ),
  undp: (mirror) =>
    countFileRows(filesBelow(join(mirror, 'undp-hdi'), (path) => path.startsWith('ddf--datapoints'))),
  imf: (mirror) =>
    countFileRows(filesBelow(join(mirror, 'imf-weo'), (path) => path.startsWith('ddf--datapoints'))),
  unicef: (mirror) => countFileRows(filesBelow(join(mirror, 'sdmx', 'unicef', 'data'), () => true)),
  owid: (mirror) => countCells(join(mirror, 'owid', 'grapher'), 3, /\(Projected\)$/),
  'owid-datasets': (mirror) => countCells(join(mirror, 'owid', 'owid-datasets'), 2, /_(upper|lower)$/),
};

const countRows = (series: ReadonlyMap<string, readonly unknown[]>): number =>
  [...series.values()].reduce((sum, rows) => sum + rows.length, 0);

/** The expected outcome of each row. */
const EXPECTED: Record<string, (mirror: string) => { expected: ExpectedRows; read: number; empty: number }> =
  {
    'world-bank': (mirror) => {
      const series = readWorldBank(mirror);
      const bounds = {
        ...Object.fromEntries(overlayBounds('world-bank')),
        'EN.ATM.CO2E.PC.DS57': [-1, 200] as [number, number],
      };
      const expected = expectRows(series, ['iso3', 'worldbank'], bounds);
      const kept = new Map<string, ExpectedRow[]>();
      const cellOf = ({ iso3: place, year, value }: ExpectedRow) => ({
        place,
        year,
        isEmpty: value === null,
      });
      for (const [slug, rows] of expected.kept) kept.set(slug, withoutEmptyCells(rows, cellOf));
      const empty = countRows(expected.kept) - countRows(kept);
      return { expected: { ...expected, kept }, read: countRows(series), empty };
    },
    'who-gho': (mirror) => {
      const series = readWho(mirror);
      return { expected: expectRows(series, ['iso3', 'who']), read: countRows(series), empty: 0 };
    },
  };

describeWithMirror('rejected rows', (mirror) => {
  let built: SharedBuild;
  beforeAll(async () => {
    built = await buildMirror(mirror);
  });

  it.each(Object.keys(COUNTS))('%s: every figure is in the lake or counted by reason', async (provider) => {
    const run = await runOf(built, provider);
    const rejected = Object.values(run.rejects).reduce((sum, reject) => sum + (reject?.rows ?? 0), 0);
    expect(run.failed_indicators).toEqual([]);
    expect(run.rows_read).toBe(COUNTS[provider]?.(mirror));
    expect(run.rows_written + rejected + (run.empty_cells ?? 0)).toBe(run.rows_read);
  });

  it.each(Object.keys(EXPECTED))(
    '%s: every reason and every failed series has the exact row count',
    async (provider) => {
      const run = await runOf(built, provider);
      const { expected, read, empty } = EXPECTED[provider]?.(mirror) ?? {};
      const rejected = Object.entries(run.rejects).map(([reason, reject]) => [reason, reject?.rows ?? 0]);
      expect(Object.fromEntries(rejected)).toEqual(Object.fromEntries(expected?.rejected ?? []));
      expect(Object.fromEntries(run.failed_indicators.map(({ slug, rows }) => [slug, rows]))).toEqual(
        Object.fromEntries(expected?.failed ?? []),
      );
      expect(run.rows_written).toBe(countRows(expected?.kept ?? new Map()));
      expect(run.rows_read).toBe(read);
      expect(run.empty_cells).toBe(empty);
    },
  );
});
