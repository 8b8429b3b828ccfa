/**
 * Lakes of multiples of Gapminder for the scale bench. Each copy has every series under a slug of its own.
 *
 * Exact copies would correlate perfectly with each other, unlike real statistics. So each copy permutes the series of
 * three fifths of the countries, equally for all its series: relations within a copy stay, relations across copies
 * vanish. Values, texts and ranks keep realistic sizes. A word added to names distinguishes copies. Copies are
 * distributed over three providers. The result is deterministic.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, listValue } from '@duckdb/node-api';
import { parse } from 'csv-parse/sync';
import { loadCurated } from '../../../data/curated/curated.ts';
import type { CatalogueEntry, RunRecord } from '../../../data/schema/lake.ts';

const PROVIDERS = ['gapminder', 'gapminder-b', 'gapminder-c'] as const;
/** Percentage of countries whose series are permuted. */
const TRADED_SHARE = 60;
/** Curated files that are copied unchanged. */
const CURATED = [
  'countries.csv',
  'topics.yaml',
  'places.csv',
  'packs.yaml',
  'collectors.csv',
  'groups.csv',
  'search-words.csv',
];
const RUN_ID = '20261121T000000Z';

const sql = (name: string): string => readFileSync(join(import.meta.dirname, `${name}.sql`), 'utf8');
const prefixOf = (copy: number): string => `v${String(copy).padStart(2, '0')}_`;
const providerOf = (copy: number): (typeof PROVIDERS)[number] =>
  PROVIDERS[copy % PROVIDERS.length] ?? PROVIDERS[0];
const copiesOf = (provider: string, copies: number): number[] =>
  Array.from({ length: copies }, (_, copy) => copy).filter((copy) => providerOf(copy) === provider);

/** A lake run of the real Gapminder, read once. */
interface Original {
  directory: string;
  observations: string;
  catalogue: CatalogueEntry[];
  series: Record<string, { digest: string }>;
  record: RunRecord;
}

async function readOriginal(lakeDir: string): Promise<Original> {
  const home = join(lakeDir, 'gapminder');
  const run = join(home, (await readFile(join(home, 'current'), 'utf8')).trim());
  const json = async (name: string) => JSON.parse(await readFile(join(run, name), 'utf8'));
  return {
    directory: run,
    observations: join(run, 'observations.parquet'),
    catalogue: await json('catalogue.json'),
    series: await json('series.json'),
    record: await json('run.json'),
  };
}

export class Replicator {
  readonly #directory: string;
  readonly #original: Original;
  readonly #instance: DuckDBInstance;
  readonly #duck: DuckDBConnection;
  /** Number of copies in `#directory`. */
  #made = 0;

  private constructor(
    directory: string,
    original: Original,
    instance: DuckDBInstance,
    duck: DuckDBConnection,
  ) {
    this.#directory = directory;
    this.#original = original;
    this.#instance = instance;
    this.#duck = duck;
  }

  /** @param lakeDir holds a run of Gapminder @param directory receives the single copies, made on demand */
  static async open(lakeDir: string, directory: string): Promise<Replicator> {
    await mkdir(directory, { recursive: true });
    const instance = await DuckDBInstance.create(':memory:', { threads: '2', memory_limit: '2GB' });
    return new Replicator(directory, await readOriginal(lakeDir), instance, await instance.connect());
  }

  close(): void {
    this.#duck.closeSync();
    this.#instance.closeSync();
  }

  /** Fills `<varDir>/lake` and `<varDir>/data` with `copies` copies. */
  async fill(varDir: string, copies: number): Promise<{ rows: number; series: number }> {
    for (; this.#made < copies; this.#made += 1) await this.#makeCopy(this.#made);
    await this.#curate(join(varDir, 'data'), copies);
    for (const provider of PROVIDERS) {
      const own = copiesOf(provider, copies);
      if (own.length > 0) await this.#run(join(varDir, 'lake', provider), provider, own);
    }
    const { rows_written: rows, indicators: series } = this.#original.record;
    return { rows: rows * copies, series: series * copies };
  }

  #file(copy: number): string {
    return join(this.#directory, `${prefixOf(copy)}.parquet`);
  }

  async #makeCopy(copy: number): Promise<void> {
    const original = this.#original.observations;
    await this.#duck.run(sql('traded'), { original, copy, share: TRADED_SHARE });
    await this.#duck.run(sql('copy'), { original, prefix: prefixOf(copy), file: this.#file(copy) });
  }

  async #run(home: string, provider: string, copies: readonly number[]): Promise<void> {
    const { catalogue, series, record, directory: original } = this.#original;
    const directory = join(home, RUN_ID);
    await mkdir(directory, { recursive: true });
    const files = listValue(copies.map((copy) => this.#file(copy)));
    await this.#duck.run(sql('gather'), { files, file: join(directory, 'observations.parquet') });
    const entries = copies.flatMap((copy) => catalogue.map((entry) => renamed(entry, copy)));
    const facts = copies.flatMap((copy) =>
      Object.entries(series).map(([slug, one]) => [
        prefixOf(copy) + slug,
        { ...one, digest: digestOf(one, copy) },
      ]),
    );
    const run: RunRecord = {
      ...record,
      run_id: RUN_ID,
      provider_id: provider,
      rows_written: record.rows_written * copies.length,
      indicators: record.indicators * copies.length,
      sources: record.sources && { ...record.sources, run_id: RUN_ID },
    };
    if (record.sources !== undefined)
      await cp(join(original, 'sources.parquet'), join(directory, 'sources.parquet'));
    await writeFile(join(directory, 'catalogue.json'), JSON.stringify(entries));
    await writeFile(join(directory, 'series.json'), JSON.stringify(Object.fromEntries(facts)));
    await writeFile(join(directory, 'run.json'), JSON.stringify(run));
    await writeFile(join(home, 'current'), RUN_ID);
  }

  /** Writes curated data in which each copy is curated like its original. */
  async #curate(dir: string, copies: number): Promise<void> {
    await mkdir(join(dir, 'providers'), { recursive: true });
    await mkdir(join(dir, 'overlay'), { recursive: true });
    for (const name of CURATED) await cp(join('data', name), join(dir, name));
    const definition = await readFile('data/providers/gapminder.yaml', 'utf8');
    const [head = '', ...rows] = (await readFile('data/overlay/gapminder.csv', 'utf8')).trimEnd().split('\n');
    for (const provider of PROVIDERS) {
      const own = copiesOf(provider, copies);
      const overlay = own.flatMap((copy) => rows.map((row) => prefixOf(copy) + row));
      await writeFile(
        join(dir, 'providers', `${provider}.yaml`),
        definition.replace('id: gapminder', `id: ${provider}`),
      );
      await writeFile(join(dir, 'overlay', `${provider}.csv`), `${[head, ...overlay].join('\n')}\n`);
    }
    await writeConcepts(dir, copies);
    await writeMeasures(dir, copies);
    await writeTerritories(dir, copies);
    const [, ...links] = (await readFile('data/links.csv', 'utf8')).trimEnd().split('\n');
    const within = links.filter((link) =>
      link
        .split(',')
        .slice(0, 2)
        .every((id) => id.startsWith('gapminder.')),
    );
    const copied = Array.from({ length: copies }, (_, copy) =>
      within.map((link) => link.replaceAll('gapminder.', `${providerOf(copy)}.${prefixOf(copy)}`)),
    );
    await writeFile(join(dir, 'links.csv'), `${['from,to,relation', ...copied.flat()].join('\n')}\n`);
  }
}

/** The concepts of each copy, with the series of Gapminder only. */
async function writeConcepts(dir: string, copies: number): Promise<void> {
  const concepts: unknown[][] = [['id', 'name', 'topic', 'higher_is_better', 'preferred', 'projected_from']];
  const members: unknown[][] = [['concept', 'indicator', 'factor', 'deviates', 'reason']];
  const { concepts: originals } = await loadCurated('data');
  for (let copy = 0; copy < copies; copy += 1) {
    for (const all of originals.members.values()) {
      const own = all.filter(({ series }) => series.indicator.startsWith('gapminder.'));
      const [first] = own;
      if (first === undefined) continue;
      const { name, topic, higher_is_better, projected_from } = first.concept;
      const id = conceptOf(first.concept.id, copy);
      const preferred = seriesOf(first.series.indicator, copy);
      concepts.push([id, name, topic, String(higher_is_better ?? 'none'), preferred, projected_from]);
      for (const { series } of own)
        members.push([
          id,
          seriesOf(series.indicator, copy),
          series.factor,
          series.deviates.join(' '),
          series.reason,
        ]);
    }
  }
  await writeFile(join(dir, 'concepts.csv'), csvOf(concepts));
  await writeFile(join(dir, 'concept-series.csv'), csvOf(members));
}

const seriesOf = (id: string, copy: number): string =>
  id.replace('gapminder.', `${providerOf(copy)}.${prefixOf(copy)}`);

/** The first copy keeps its ids, by which rules name what they divide by. */
const conceptOf = (id: string, copy: number): string => (copy === 0 ? id : prefixOf(copy) + id);

const rowsOf = async (name: string): Promise<Record<string, string>[]> =>
  parse(await readFile(join('data', name)), { columns: true });

/** Rules as they are, and the rows of series and concepts for each copy; without those that divide by series of others. */
async function writeMeasures(dir: string, copies: number): Promise<void> {
  const { concepts } = await loadCurated('data');
  const isOwn = (id = ''): boolean =>
    id.includes('.')
      ? id.startsWith('gapminder.')
      : id === '' || (concepts.members.get(id) ?? []).some(({ series }) => isOwn(series.indicator));
  const copied = (id = '', copy: number): string =>
    id === '' || id.includes('.') ? seriesOf(id, copy) : conceptOf(id, copy);
  const rows = (await rowsOf('measures.csv')).filter((row) =>
    [row.subject, row.weight, row.per_head].every(isOwn),
  );
  const all = rows.flatMap((row) =>
    Array.from({ length: row.subject === '' ? 1 : copies }, (_, copy) => ({
      ...row,
      subject: copied(row.subject, copy),
      weight: copied(row.weight, copy),
      per_head: copied(row.per_head, copy),
    })),
  );
  await writeFile(join(dir, 'measures.csv'), csvOf([Object.keys(all[0] ?? {}), ...all.map(Object.values)]));
}

async function writeTerritories(dir: string, copies: number): Promise<void> {
  const all = (await rowsOf('territories.csv')).flatMap(({ provider = '', ...row }) => {
    if (provider === '*') return [{ provider, ...row }];
    if (provider === 'gapminder') return PROVIDERS.map((one) => ({ provider: one, ...row }));
    if (!provider.startsWith('gapminder.')) return [];
    return Array.from({ length: copies }, (_, copy) => ({ provider: seriesOf(provider, copy), ...row }));
  });
  await writeFile(
    join(dir, 'territories.csv'),
    csvOf([Object.keys(all[0] ?? {}), ...all.map(Object.values)]),
  );
}

const csvOf = (rows: readonly unknown[][]): string =>
  rows
    .map((cells) => `${cells.map((cell) => `"${String(cell ?? '').replaceAll('"', '""')}"`).join()}\n`)
    .join('');

const renamed = (entry: CatalogueEntry, copy: number): CatalogueEntry => ({
  ...entry,
  slug: prefixOf(copy) + entry.slug,
  name: copy === 0 ? entry.name : `${entry.name}, field ${copy}`,
});

const digestOf = ({ digest }: { digest: string }, copy: number): string =>
  createHash('sha256').update(`${digest} ${copy}`).digest('hex');
