/** Faults in a copy of the curated data: cells of overlay tables, and concepts. */
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';

type Cells = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** Sets cells of `overlay/<provider>.csv`, by slug; adds rows and columns that are missing. */
export async function setOverlay(curatedDir: string, provider: string, cells: Cells): Promise<void> {
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

/** Lists two series as one concept, the first preferred. */
export async function linkTwins(
  curatedDir: string,
  pairs: readonly (readonly [string, string])[],
): Promise<void> {
  for (const [at, [from, to]] of pairs.entries()) {
    const id = `false-twins-${at}`;
    const members = [from, to].map((one) => `${id},${one},,${DEVIATIONS.join(' ')},Linked by mistake.\n`);
    await appendFile(join(curatedDir, 'concepts.csv'), `${id},False twins,economy,none,${from},\n`);
    await appendFile(join(curatedDir, 'concept-series.csv'), members.join(''));
    for (const [one, cells] of [
      [from, { preferred: '' }],
      [to, { preferred: '', featured: '' }],
    ] as const)
      await setOverlay(curatedDir, providerOf(one), new Map([[slugOf(one), cells]]));
  }
}

const DEVIATIONS = ['topic', 'higher_is_better', 'projected_from'];
const providerOf = (id: string): string => id.slice(0, id.indexOf('.'));
const slugOf = (id: string): string => id.slice(id.indexOf('.') + 1);
