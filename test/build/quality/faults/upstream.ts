/** The files of DDFcsv providers and the labels that `data/` gives their series, as tables that faults change. */
import { appendFile, cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { z } from 'zod';

export interface Row {
  place: string;
  year: number;
  /** As upstream writes it. */
  text: string;
}
/** What `data/` says of a series: the row of its overlay table. */
export interface Label {
  name: string;
  unit: string;
  description: string;
  projected_from: string;
}
type Setting = keyof Label | 'topic' | 'higher_is_better' | 'featured' | 'preferred';

const PROVIDERS = [
  { id: 'gapminder', folder: 'gapminder', key: ['geo', 'time'], concepts: 'ddf--concepts.csv', name: 'name' },
  {
    id: 'imf',
    folder: 'imf-weo',
    key: ['country', 'year'],
    concepts: 'ddf--concepts--continuous.csv',
    name: 'subject_descriptor',
  },
] as const;
export const PROVIDER_IDS = PROVIDERS.map(({ id }) => id);

const packageFile = z.looseObject({
  resources: z.array(
    z.looseObject({
      path: z.string(),
      schema: z.looseObject({ primaryKey: z.union([z.string(), z.array(z.string())]) }),
    }),
  ),
});
const records = z.array(z.record(z.string(), z.string()));
const cellsFile = z.array(z.array(z.string()));

export interface UpstreamSeries {
  id: string;
  provider: (typeof PROVIDERS)[number];
  slug: string;
  file: string;
  rows: readonly Row[];
  label: Label;
}

/** What a fault does to the files. A series without rows is not there any more. */
export interface Edit {
  series: string;
  rows?: readonly Row[];
  label?: Partial<Record<Setting, string>>;
  /** Another series that is listed as the same statistic. */
  linked?: string;
}

async function readTable(file: string): Promise<Record<string, string>[]> {
  return records.parse(parse(await readFile(file, 'utf8'), { columns: true, relax_column_count: true }));
}

async function readSeries(mirror: string, curatedDir: string): Promise<UpstreamSeries[]> {
  const series: UpstreamSeries[] = [];
  for (const provider of PROVIDERS) {
    const folder = join(mirror, provider.folder);
    const { resources } = packageFile.parse(
      JSON.parse(await readFile(join(folder, 'datapackage.json'), 'utf8')),
    );
    const overlay = await readTable(join(curatedDir, 'overlay', `${provider.id}.csv`));
    const concepts = await readTable(join(folder, provider.concepts));
    for (const { path, schema } of resources) {
      const slug = /ddf--datapoints--(.+)--by--/.exec(path)?.[1];
      if (slug === undefined || String(schema.primaryKey) !== String(provider.key)) continue;
      const settings = overlay.find((one) => one.slug === slug);
      const concept = concepts.find((one) => one.concept === slug);
      const [header = [], ...cells] = cellsFile.parse(parse(await readFile(join(folder, path), 'utf8')));
      const [place, year, value] = [...provider.key, slug].map((column) => header.indexOf(column));
      series.push({
        id: `${provider.id}.${slug}`,
        provider,
        slug,
        file: join(provider.folder, path),
        label: {
          name: settings?.name || (concept?.[provider.name] ?? slug),
          unit: settings?.unit ?? '',
          description: settings?.description ?? '',
          projected_from: settings?.projected_from ?? '',
        },
        rows: cells.map((row) => ({
          place: row[place ?? 0] ?? '',
          year: Number(row[year ?? 1]),
          text: row[value ?? 2] ?? '',
        })),
      });
    }
  }
  return series;
}

export class Upstream {
  readonly #mirror: string;
  readonly #curatedDir: string;
  readonly series: ReadonlyMap<string, UpstreamSeries>;

  private constructor(mirror: string, curatedDir: string, series: readonly UpstreamSeries[]) {
    this.#mirror = mirror;
    this.#curatedDir = curatedDir;
    this.series = new Map(series.map((one) => [one.id, one]));
  }

  static async open(mirror: string, curatedDir: string): Promise<Upstream> {
    return new Upstream(mirror, curatedDir, await readSeries(mirror, curatedDir));
  }

  /** Writes the files of the providers into `target`, and the curated data into `curatedTarget`, with the edits. */
  async write(target: string, curatedTarget: string, edits: readonly Edit[]): Promise<void> {
    await rm(target, { recursive: true, force: true });
    await rm(curatedTarget, { recursive: true, force: true });
    for (const { folder } of PROVIDERS)
      await cp(join(this.#mirror, folder), join(target, folder), { recursive: true });
    await cp(this.#curatedDir, curatedTarget, { recursive: true });
    for (const { series: id, rows } of edits) {
      const series = this.series.get(id);
      if (!series || rows === undefined) continue;
      if (rows.length === 0) await this.#removeSeries(target, series);
      else
        await writeFile(
          join(target, series.file),
          stringify([
            [...series.provider.key, series.slug],
            ...rows.map(({ place, year, text }) => [place, year, text]),
          ]),
        );
    }
    for (const { id } of PROVIDERS) {
      const ofProvider = edits.filter(({ series }) => series.startsWith(`${id}.`));
      await this.#writeLabels(join(curatedTarget, 'overlay', `${id}.csv`), ofProvider);
    }
    for (const [at, { series, linked }] of edits.entries())
      if (linked !== undefined) await linkSeries(curatedTarget, `false-twins-${at}`, series, linked);
  }

  async #removeSeries(target: string, { file, provider }: UpstreamSeries): Promise<void> {
    const path = join(target, provider.folder, 'datapackage.json');
    const described = packageFile.parse(JSON.parse(await readFile(path, 'utf8')));
    const resources = described.resources.filter((one) => join(provider.folder, one.path) !== file);
    await writeFile(path, JSON.stringify({ ...described, resources }));
    await rm(join(target, file));
  }

  async #writeLabels(file: string, edits: readonly Edit[]): Promise<void> {
    const rows = await readTable(file);
    for (const { series, label } of edits) {
      const slug = series.slice(series.indexOf('.') + 1);
      const row = rows.find((one) => one.slug === slug);
      if (row) Object.assign(row, label);
    }
    await writeFile(file, stringify(rows, { header: true }));
  }
}

/** Lists two series as one concept, the first preferred. */
async function linkSeries(curatedDir: string, id: string, preferred: string, other: string): Promise<void> {
  const deviates = 'topic higher_is_better projected_from featured';
  const members = [preferred, other].map((one) => `${id},${one},,${deviates},Linked by mistake.\n`);
  await appendFile(join(curatedDir, 'concepts.csv'), `${id},False twins,economy,none,${preferred},\n`);
  await appendFile(join(curatedDir, 'concept-series.csv'), members.join(''));
}
