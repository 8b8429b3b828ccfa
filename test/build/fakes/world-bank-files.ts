/** An independent reading of the World Bank's figures in the mirror: each series from the first edition that has it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { parse as parseYaml } from 'yaml';
import type { FileRow } from './expected-rows.ts';
import { textInZip } from './zip.ts';

const cell = (place = '', year = '', value = ''): FileRow => ({
  place,
  year,
  low: null,
  high: null,
  value: value === '' ? null : Number(value),
});

/** The long set: a file per series, `Country Name,Country Code,Year,Value`. */
function readLong(directory: string, names: readonly string[]): [string, FileRow[]][] {
  return names.map((name) => {
    const text = readFileSync(join(directory, name, 'data.csv'), 'utf8');
    const rows: string[][] = parse(text, { from_line: 2 });
    return [name.toUpperCase(), rows.map(([, code, year, value]) => cell(code, year, value))];
  });
}

/** A download, zipped or unpacked: a row per country and indicator, a column per year. */
function readWide(path: string): Map<string, FileRow[]> {
  const isZip = path.endsWith('.zip');
  const text = isZip ? textInZip(readFileSync(path), 'API_') : readFileSync(path, 'utf8');
  // From another database, so not the same series.
  const suffix = path.includes('co2_emissions') ? '.DS57' : '';
  const [header = [], ...rows]: string[][] = parse(text.slice(text.indexOf('"Country Name"')), {
    relax_column_count: true,
  });
  const series = new Map<string, FileRow[]>();
  for (const row of rows) {
    const code = (row[3] ?? '') + suffix;
    const cells = series.get(code) ?? [];
    for (const [at, year] of header.entries()) {
      if (/^\d{4}$/.test(year)) cells.push(cell(row[1], year, row[at]));
    }
    series.set(code, cells);
  }
  return series;
}

/** All rows by the World Bank's code. */
export function readWorldBank(mirror: string): Map<string, FileRow[]> {
  const directory = join(mirror, 'world-bank');
  const [long, downloads] = parseYaml(readFileSync('data/providers/world-bank.yaml', 'utf8')).mirror.source
    .parts;
  const series = new Map(readLong(join(directory, 'datahub-wdi-long', 'indicators'), long.source.each.names));
  for (const file of downloads.source.files as (string | { path: string })[]) {
    const own = readWide(join(directory, typeof file === 'string' ? file : file.path));
    for (const [code, cells] of own) if (!series.has(code)) series.set(code, cells);
  }
  return series;
}
