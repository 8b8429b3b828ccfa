/** Faults in a copy of the curated data: cells of overlay tables, and links. */
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { loadCurated } from '../../../../data/curated/curated.ts';

/**
 * Sets cells of `overlay/<provider>.csv`, by slug; adds rows and columns that are missing. Curated data that contradict a
 * concept do not load, so a series that contradicts its twins leaves them first.
 */
export async function setOverlay(curatedDir: string, provider: string, cells: Cells): Promise<void> {
  for (const [slug, set] of cells)
    if (OF_CONCEPTS.some((setting) => setting in set))
      await dissolveConcept(curatedDir, `${provider}.${slug}`);
  await writeCells(curatedDir, provider, cells);
}

type Cells = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** Settings that a series takes from its concept. */
const OF_CONCEPTS = ['topic', 'higher_is_better', 'projected_from', 'preferred', 'featured'];

async function writeCells(curatedDir: string, provider: string, cells: Cells): Promise<void> {
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
      await writeCells(curatedDir, providerOf(one), new Map([[slugOf(one), cells]]));
  }
}

const DEVIATIONS = ['topic', 'higher_is_better', 'projected_from'];
const providerOf = (id: string): string => id.slice(0, id.indexOf('.'));
const slugOf = (id: string): string => id.slice(id.indexOf('.') + 1);

/** Series that nobody has reviewed: those of the concept keep its settings in their overlay rows. */
async function dissolveConcept(curatedDir: string, indicator: string): Promise<void> {
  const { concepts } = await loadCurated(curatedDir);
  const own = concepts.of(indicator)?.concept;
  if (own === undefined) return;
  for (const { series } of concepts.members.get(own.id) ?? []) {
    const cells = Object.entries(concepts.settingsOf(series.indicator)).map(([setting, value]) => [
      setting,
      value === null ? 'none' : String(value),
    ]);
    // What a row says already is the same, or what deviates.
    await writeCells(
      curatedDir,
      providerOf(series.indicator),
      new Map([[slugOf(series.indicator), Object.fromEntries(cells)]]),
    );
  }
  await keepRows(join(curatedDir, 'concepts.csv'), ({ id }) => id !== own.id);
  await keepRows(join(curatedDir, 'concept-series.csv'), ({ concept }) => concept !== own.id);
}

async function keepRows(file: string, isKept: (row: Record<string, string>) => boolean): Promise<void> {
  const text = await readFile(file, 'utf8');
  const rows: Record<string, string>[] = parse(text, { columns: true });
  await writeFile(file, stringify(rows.filter(isKept), { header: true, columns: headerOf(text) }));
}
