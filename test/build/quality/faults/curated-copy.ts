/** Faults in a copy of the curated data: cells of overlay tables, and links. */
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';

/** Sets cells of `overlay/<provider>.csv`, by slug; adds rows and columns that are missing. */
export async function setOverlay(
  curatedDir: string,
  provider: string,
  cells: ReadonlyMap<string, Readonly<Record<string, string>>>,
): Promise<void> {
  const file = join(curatedDir, 'overlay', `${provider}.csv`);
  const text = await readFile(file, 'utf8').catch(() => 'slug\n');
  const rows: Record<string, string>[] = parse(text, {
    columns: true,
    bom: true,
    trim: true,
    skip_empty_lines: true,
  });
  for (const [slug, set] of cells) {
    const row = rows.find((one) => one.slug === slug);
    if (row) Object.assign(row, set);
    else rows.push({ slug, ...set });
  }
  const columns = [...new Set(['slug', ...headerOf(text), ...rows.flatMap((row) => Object.keys(row))])];
  await writeFile(file, stringify(rows, { header: true, columns }));
}

const headerOf = (text: string): string[] => (text.split('\n')[0] ?? '').trim().split(',');

/** Links two series as one concept. */
export async function linkTwins(
  curatedDir: string,
  pairs: readonly (readonly [string, string])[],
): Promise<void> {
  const lines = pairs.map(([from, to]) => `${from},${to},same_concept\n`);
  await appendFile(join(curatedDir, 'links.csv'), lines.join(''));
}
