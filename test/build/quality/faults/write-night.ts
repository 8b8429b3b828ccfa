/**
 * Writes the night of the faults: a new good run of each provider that they touch, as ingestion writes it, and the
 * curated settings that they change. What they leave alone stays as it was.
 */
import { copyFile, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findLostPlaces } from '../../../../build/ingest/definition-gaps.ts';
import { LakeWriter } from '../../../../build/lake/lake-writer.ts';
import {
  type LakeRun,
  OBSERVATIONS,
  ProviderLake,
  REVISIONS,
  RUN_DATA,
} from '../../../../build/lake/provider-lake.ts';
import { changedSeries, writeRevisions } from '../../../../build/lake/revisions.ts';
import {
  factsOf,
  type ProjectionRule,
  type SeriesColumns,
  type SeriesFacts,
  type SeriesFile,
  UNSTATED,
  yearOf,
} from '../../../../build/lake/series-facts.ts';
import type { CatalogueEntry, RunRecord } from '../../../../data/schema/lake.ts';
import { formatTimestamp } from '../../../../data/schema/records.ts';
import { linkTwins, setOverlay } from './curated-copy.ts';
import type { Figure } from './figures.ts';
import type { GoodData, GoodSeries } from './good-data.ts';
import type { Changes } from './tools.ts';

const MEMORY_MB = 2_048;

/** What changes at one provider. */
interface ProviderChanges {
  figures: Map<string, Figure[]>;
  /** By slug. */
  catalogue: Map<string, Partial<CatalogueEntry>>;
  added: CatalogueEntry[];
  overlay: Map<string, Record<string, string>>;
  lost: string[];
}

/** Writes the changes of settings and curated labels into a copy of the curated data. */
export async function writeCurated(
  curatedDir: string,
  data: GoodData,
  changes: readonly Changes[],
): Promise<void> {
  for (const [id, { overlay }] of await byProvider(data, changes))
    if (overlay.size > 0) await setOverlay(curatedDir, id, overlay);
  await linkTwins(
    curatedDir,
    changes.flatMap(({ linked }) => (linked ? [linked] : [])),
  );
}

/**
 * Writes the changes of figures and upstream's labels into a lake that holds the good runs.
 * @param now milliseconds
 */
export async function writeLake(
  lakeDir: string,
  now: number,
  data: GoodData,
  changes: readonly Changes[],
): Promise<void> {
  for (const [id, provider] of await byProvider(data, changes)) {
    const isInLake = provider.figures.size + provider.catalogue.size + provider.added.length > 0;
    if (isInLake) await writeRun(lakeDir, now, data, id, provider);
  }
}

async function byProvider(
  data: GoodData,
  changes: readonly Changes[],
): Promise<Map<string, ProviderChanges>> {
  const providers = new Map<string, ProviderChanges>();
  const at = (id: string): ProviderChanges => {
    const known = providers.get(id) ?? {
      figures: new Map(),
      catalogue: new Map(),
      added: [],
      overlay: new Map(),
      lost: [],
    };
    providers.set(id, known);
    return known;
  };
  for (const { figures = {}, labels = {}, settings = {}, added, lost } of changes) {
    for (const [id, rows] of Object.entries(figures))
      at(data.get(id).providerId).figures.set(data.get(id).slug, rows);
    for (const [id, label] of Object.entries(labels))
      setLabel(data.get(id), label, at(data.get(id).providerId));
    for (const [id, cells] of Object.entries(settings)) {
      const { slug, providerId } = data.get(id);
      at(providerId).overlay.set(slug, { ...at(providerId).overlay.get(slug), ...cells });
    }
    if (added) await addSeries(data, added, at(data.get(added.like).providerId));
    if (lost) await losePlaces(data, lost, at(lost.provider));
  }
  return providers;
}

/** A label changes where it stands: in the curated data, or else upstream. */
function setLabel(
  { slug, overlay }: GoodSeries,
  label: Partial<Record<'name' | 'unit' | 'description', string>>,
  provider: ProviderChanges,
): void {
  for (const field of ['name', 'unit', 'description'] as const) {
    const text = label[field];
    if (text === undefined) continue;
    if (overlay[field] === undefined)
      provider.catalogue.set(slug, { ...provider.catalogue.get(slug), [field]: text });
    else provider.overlay.set(slug, { ...provider.overlay.get(slug), [field]: text });
  }
}

async function addSeries(
  data: GoodData,
  { id, like, name }: NonNullable<Changes['added']>,
  provider: ProviderChanges,
): Promise<void> {
  const original = data.get(like);
  const slug = id.slice(original.providerId.length + 1);
  const { unit, topic, higher_is_better: direction } = original.record;
  provider.added.push({ ...original.entry, slug, name });
  provider.figures.set(slug, await data.figures(like));
  const higher = direction === null ? 'none' : String(direction);
  provider.overlay.set(slug, { name, unit: unit ?? '', topic, higher_is_better: higher });
}

async function losePlaces(
  data: GoodData,
  { provider: id, countries }: NonNullable<Changes['lost']>,
  provider: ProviderChanges,
): Promise<void> {
  const lost = new Set(countries);
  for (const series of data.series.values()) {
    if (series.providerId !== id) continue;
    const figures = await data.figures(series.id);
    provider.figures.set(
      series.slug,
      figures.filter(({ iso3 }) => !lost.has(iso3)),
    );
  }
  provider.lost.push(...countries);
}

async function writeRun(
  lakeDir: string,
  now: number,
  data: GoodData,
  id: string,
  provider: ProviderChanges,
): Promise<void> {
  const lake = new ProviderLake(lakeDir, id);
  const base = await lake.current();
  if (!base) throw new Error(`${id} has no good run`);
  const before = await lake.series(base);
  const { id: runId, directory } = await lake.begin(now);
  const written = await writeFigures(
    lake,
    base,
    directory,
    provider.figures,
    (slug) => ({
      projected_from: data.series.get(`${id}.${slug}`)?.projectedFrom ?? null,
      future_years: null,
    }),
    yearOf(now),
  );
  const catalogue = [...(await lake.catalogue(base)), ...provider.added].map((entry) => ({
    ...entry,
    ...provider.catalogue.get(entry.slug),
  }));
  const series: SeriesFile = { ...before };
  for (const { slug, unit } of catalogue) {
    const facts = written.get(slug)?.(unit) ?? before[slug];
    if (facts) series[slug] = { ...facts, unit };
  }
  for (const file of RUN_DATA) {
    const isKept = !([OBSERVATIONS, REVISIONS] as string[]).includes(file);
    if (isKept) await copyFile(join(base.directory, file), join(directory, file)).catch(ignoreMissing);
  }
  await lake.describe(directory, catalogue, series);
  const revisions = await writeRevisions({
    lake,
    base,
    changed: changedSeries(before, series),
    current: join(directory, OBSERVATIONS),
    file: join(directory, REVISIONS),
  });
  await lake.finish(directory, {
    ...withLostPlaces(base.record, provider, data, rowsOf(before) - rowsOf(series)),
    run_id: runId,
    status: 'succeeded',
    started_at: formatTimestamp(now),
    finished_at: formatTimestamp(now),
    rows_written: rowsOf(series),
    indicators: catalogue.length,
    base_run: base.record.run_id,
    revisions,
  });
}

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error;
};

const rowsOf = (series: SeriesFile): number => Object.values(series).reduce((sum, { rows }) => sum + rows, 0);

/** Writes the replaced series and carries over the others. Returns the facts of the former, given their unit. */
async function writeFigures(
  lake: ProviderLake,
  base: LakeRun,
  directory: string,
  figures: ReadonlyMap<string, readonly Figure[]>,
  ruleOf: (slug: string) => ProjectionRule,
  currentYear: number,
): Promise<Map<string, (unit: string | null) => SeriesFacts>> {
  const countries: string[] = [];
  const statuses: (string | null)[] = [null];
  const facts = new Map<string, (unit: string | null) => SeriesFacts>();
  const carried = Object.keys(await lake.series(base)).filter((slug) => !figures.has(slug));
  const writer = await LakeWriter.open(join(lake.directory, '.scratch-faults'), MEMORY_MB);
  try {
    for (const [slug, rows] of [...figures].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const columns = columnsOf(rows, countries, statuses, currentYear);
      writer.add(slug, columns);
      facts.set(slug, (unit) => factsOf(columns, countries, statuses, unit, ruleOf(slug), currentYear));
    }
    await writer.finish(join(directory, OBSERVATIONS), countries, statuses, {
      file: base.observations,
      slugs: carried,
    });
  } finally {
    await writer[Symbol.asyncDispose]();
  }
  return facts;
}

/** The columns of a series as ingestion buffers them; new countries and statuses are added to the lists. */
function columnsOf(
  rows: readonly Figure[],
  countries: string[],
  statuses: (string | null)[],
  currentYear: number,
): SeriesColumns {
  const isUnstated = ({ projected, year }: Figure): boolean =>
    projected === null || (!projected && year > currentYear);
  const code = (list: (string | null)[], word: string | null): number => {
    const known = list.indexOf(word);
    return known >= 0 ? known : list.push(word) - 1;
  };
  const numbers = (of: (row: Figure) => number | null): Float64Array =>
    Float64Array.from(rows, (row) => of(row) ?? Number.NaN);
  return {
    rows: rows.length,
    country: Int32Array.from(rows, ({ iso3 }) => code(countries, iso3)),
    year: Int32Array.from(rows, ({ year }) => year),
    value: numbers(({ value }) => value),
    ciLo: numbers(({ ciLo }) => ciLo),
    ciHi: numbers(({ ciHi }) => ciHi),
    projected: Uint8Array.from(rows, (row) => (isUnstated(row) ? UNSTATED : Number(row.projected))),
    status: Int32Array.from(rows, ({ status }) => code(statuses, status)),
  };
}

/** The record of a run in which the lost countries have a name that the definition does not know. */
function withLostPlaces(
  record: RunRecord,
  { lost, figures }: ProviderChanges,
  { curated }: GoodData,
  rows: number,
): RunRecord {
  if (lost.length === 0) return record;
  const known = record.rejects.unknown_place ?? { rows: 0, samples: [], distinct: 0 };
  const names = lost.map((iso3) => curated.countries.find((one) => one.iso3 === iso3)?.name ?? iso3);
  const seen = new Set([...figures.values()].flat().map(({ iso3 }) => iso3));
  return {
    ...record,
    countries: record.countries - lost.length,
    lost_places: [...(record.lost_places ?? []), ...findLostPlaces(names, seen, curated)],
    rejects: {
      ...record.rejects,
      unknown_place: {
        rows: known.rows + rows,
        samples: [...names, ...known.samples].slice(0, 20),
        distinct: known.distinct + lost.length,
      },
    },
  };
}

/** Makes a lake of the current runs alone, each as the first of its provider. */
export async function copyAsFirstNight(
  lakeDir: string,
  target: string,
  providers: Iterable<string>,
): Promise<void> {
  for (const id of providers) {
    const run = await new ProviderLake(lakeDir, id).current();
    if (!run) continue;
    // The list of upstream files is of a run that is not copied.
    const { base_run: _base, revisions: _revisions, sources: _sources, ...record } = run.record;
    const directory = join(target, id, record.run_id);
    await mkdir(directory, { recursive: true });
    for (const file of RUN_DATA)
      if (file !== REVISIONS)
        await copyFile(join(run.directory, file), join(directory, file)).catch(ignoreMissing);
    await writeFile(join(directory, 'run.json'), JSON.stringify({ ...record, base_run: null }));
    await writeFile(join(target, id, 'current'), record.run_id);
  }
}

export const copyLake = (lakeDir: string, target: string): Promise<void> =>
  cp(lakeDir, target, { recursive: true });
