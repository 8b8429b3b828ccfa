/**
 * The end of a run, after the last row was read: its files, what it changed against the last good run, and the verdict
 * whether it may take that run's place.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { FETCHES, type LakeRun, OBSERVATIONS, type ProviderLake, REVISIONS } from '../lake/lake.ts';
import type { LakeWriter } from '../lake/lake-writer.ts';
import { changedSeries, writeRevisions } from '../lake/revisions.ts';
import type { SeriesFile } from '../lake/series-facts.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { writeFlushed } from '../runtime/durable-files.ts';
import { fetchedFile, newestModification } from '../upstream/upstream.ts';
import type { ProviderReader } from './provider-reader.ts';
import { holdReason } from './quality-gates.ts';

/** Bound of DuckDB's memory in an ingestion; several may run side by side. */
export const MEMORY_MB = 512;

/** What a run came to; the record is made of it. */
export type Outcome = Partial<RunRecord> & Pick<RunRecord, 'status'>;

const fetchesFile = z.object({
  /** Digest of what the run was made with besides the upstream files. */
  inputs: z.string(),
  files: z.array(fetchedFile),
});
type Fetches = z.infer<typeof fetchesFile>;

/** What a run read upstream; null when that is not known. */
export async function readFetches(run: LakeRun): Promise<Fetches | null> {
  const text = await readFile(join(run.directory, FETCHES), 'utf8').catch(() => 'null');
  return fetchesFile.safeParse(JSON.parse(text)).data ?? null;
}

export interface FinishedReading {
  definition: ProviderDefinition;
  lake: ProviderLake;
  /** The directory of the run. */
  directory: string;
  reader: ProviderReader;
  writer: LakeWriter;
  /** The last good run. */
  previous: LakeRun | null;
  bytes: number;
  fetches: Fetches;
}

interface Before {
  run: LakeRun;
  series: SeriesFile;
}

/** Writes the files of a run and compares it with the last good one. */
export async function finishRun(reading: FinishedReading): Promise<Outcome> {
  const { lake, directory, reader, writer, previous, fetches } = reading;
  const before = previous && { run: previous, series: await lake.series(previous) };
  const carried = before ? await carryFailed(reading, before) : [];
  await writer.finish(
    join(directory, OBSERVATIONS),
    reader.countries,
    reader.statuses,
    before && carried.length > 0 ? { file: before.run.observations, slugs: carried } : null,
  );
  await lake.describe(directory, reader.catalogue, reader.series);
  await writeFlushed(join(directory, FETCHES), JSON.stringify(fetches));
  const facts = factsOf(reading, carried);
  return before ? compare(reading, before, facts) : { ...facts, status: 'succeeded' };
}

type Facts = ReturnType<typeof factsOf>;

function factsOf({ reader, bytes, fetches }: FinishedReading, carried: string[]) {
  const rowsOf = (slugs: readonly string[]): number =>
    slugs.reduce((sum, slug) => sum + (reader.series[slug]?.rows ?? 0), 0);
  return {
    rows_read: reader.rowsRead,
    rows_written: rowsOf(Object.keys(reader.series)),
    indicators: reader.catalogue.length,
    countries: reader.countryCount,
    bytes,
    vintage: reader.vintage ?? newestModification(fetches.files),
    rejects: reader.rejects.summary(),
    failed_indicators: [...reader.failed].map(([slug, failed]) => ({ slug, ...failed })),
    newest_year: reader.newestYear,
    ...(carried.length > 0 ? { carried_indicators: carried, rows_carried: rowsOf(carried) } : {}),
  } satisfies Partial<RunRecord>;
}

/** Keeps the last good rows of series that failed this time. Returns their slugs. */
async function carryFailed({ lake, reader }: FinishedReading, before: Before): Promise<string[]> {
  const entries = new Map((await lake.catalogue(before.run)).map((entry) => [entry.slug, entry]));
  const carried: string[] = [];
  for (const slug of [...reader.failed.keys()].sort()) {
    const entry = entries.get(slug);
    const facts = before.series[slug];
    if (!entry || !facts) continue;
    reader.catalogue.push(entry);
    reader.series[slug] = facts;
    carried.push(slug);
  }
  return carried;
}

async function compare(reading: FinishedReading, before: Before, facts: Facts): Promise<Outcome> {
  const { definition, directory, lake, reader } = reading;
  const changed = changedSeries(before.series, reader.series);
  if (changed.length === 0 && (await isSameEdition(reading, before))) {
    return { ...facts, ...unchanged(before.run, facts.bytes) };
  }
  const duck = await DuckSession.open({
    scratch: join(lake.directory, '.scratch-revisions'),
    memoryMb: MEMORY_MB,
  });
  try {
    const revisions = await writeRevisions(
      duck,
      {
        previous: before.run.observations,
        current: join(directory, OBSERVATIONS),
        file: join(directory, REVISIONS),
      },
      changed,
    );
    const reason = holdReason(
      definition.gates,
      { record: before.run.record, series: before.series },
      { record: facts, series: reader.series },
    );
    return { ...facts, revisions, reason, status: reason === null ? 'succeeded' : 'suspicious' };
  } finally {
    await duck.close();
  }
}

/**
 * Whether a run with the same figures adds nothing to the last good one: the catalogue is the same, and so is what the
 * next run would ask upstream with. New validators are worth keeping; an upstream without any has none to keep.
 */
async function isSameEdition({ lake, reader, fetches }: FinishedReading, before: Before): Promise<boolean> {
  const catalogue = JSON.stringify(bySlug(await lake.catalogue(before.run)));
  if (catalogue !== JSON.stringify(bySlug(reader.catalogue))) return false;
  const known = await readFetches(before.run);
  if (known?.inputs !== fetches.inputs) return false;
  const canBeAsked = fetches.files.every((file) => file.validator !== null);
  return !canBeAsked || JSON.stringify(known) === JSON.stringify(fetches);
}

const bySlug = <Item extends { slug: string }>(items: readonly Item[]): Item[] =>
  items.toSorted((a, b) => (a.slug < b.slug ? -1 : 1));

/** An unchanged run stands for the figures of the last good one. */
export function unchanged(previous: LakeRun, bytes: number): Outcome {
  const { rows_written, indicators, countries, vintage, newest_year } = previous.record;
  return {
    status: 'unchanged',
    rows_written,
    indicators,
    countries,
    vintage,
    bytes,
    ...(newest_year === undefined ? {} : { newest_year }),
  };
}
