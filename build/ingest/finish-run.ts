/**
 * Finishes a run whose rows were read: writes its files, compares it with the last good run, and decides its status. A run
 * that differs suspiciously is held for an operator.
 *
 * Whole provider: rows or countries drop by more than the definition allows. Each series: the newest observed year goes
 * back, the median changes tenfold, or a stated unit changes. A first run and new series pass; a series that vanished and
 * came back is compared with what it was.
 *
 * Years ahead of the clock: also a first run is held when upstream sends figures for them, does not flag them, and the
 * definition has no rule that tells forecasts from observations. What an operator accepted is not held again.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Curated } from '../../data/curated/curated.ts';
import { writeFlushed } from '../../data/runtime/durable-files.ts';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { ReadFile, RunRecord } from '../../data/schema/lake.ts';
import {
  changedSeries,
  FETCHES,
  knownSources,
  type LakeRun,
  type LakeWriter,
  OBSERVATIONS,
  type ProviderLake,
  type RunSources,
  recordSources,
  type SeriesFacts,
  type SeriesFile,
  writeRevisions,
  yearsWithoutRule,
} from '../lake/lake.ts';
import { fetchedFile, newestModification } from '../upstream/upstream.ts';
import { findLostPlaces, findUnusedSettings } from './definition-gaps.ts';
import type { ProviderReader } from './provider-reader.ts';

/** DuckDB's memory limit in one ingestion; several may run in parallel. */
export const MEMORY_MB = 512;

/** The fields of a run record that are known when the run ends. */
export type Outcome = Partial<RunRecord> & Pick<RunRecord, 'status'>;

const fetchesFile = z.object({
  /** Digest of what the run depends on besides upstream files. */
  inputs: z.string(),
  /** Digest of the definition and the curated tables. */
  definition: z.string(),
  files: z.array(fetchedFile),
});
type Fetches = z.infer<typeof fetchesFile>;

/** The upstream files that a run read; null when unknown. */
export async function readFetches(run: LakeRun): Promise<Fetches | null> {
  const text = await readFile(join(run.directory, FETCHES), 'utf8').catch(() => 'null');
  return fetchesFile.safeParse(JSON.parse(text)).data ?? null;
}

export interface CompletedRead {
  run: {
    id: string;
    directory: string;
    definition: ProviderDefinition;
    curated: Curated;
    lake: ProviderLake;
  };
  reader: ProviderReader;
  writer: LakeWriter;
  /** Whether it read the starter data, which hold some of the series only. */
  isStarter: boolean;
  /** The last good run. */
  previous: LakeRun | null;
  bytes: number;
  /** Years after it have not begun. */
  currentYear: number;
  fetches: Fetches;
  /** The upstream files that were read. */
  files: readonly ReadFile[];
}

interface PreviousRun {
  run: LakeRun;
  series: SeriesFile;
  /** Its series, and those that vanished before it. */
  known: SeriesFile;
}

/** Writes the files of a run and compares it with the last good one. */
export async function finishRun(reading: CompletedRead): Promise<Outcome> {
  const { run, reader, writer, previous, currentYear, fetches } = reading;
  const { definition, lake, directory } = run;
  const before = previous && {
    run: previous,
    series: await lake.series(previous),
    known: await lake.knownSeries(previous),
  };
  const carried = before ? await carryOver(reading, before) : [];
  const seen = await writer.finish(
    join(directory, OBSERVATIONS),
    before && carried.length > 0 ? { file: before.run.observations, slugs: carried } : null,
  );
  await lake.describe(directory, reader.catalogue, reader.series, reader.aggregates);
  await lake.rememberVanished(directory, previous, reader.series);
  await writeFlushed(join(directory, FETCHES), JSON.stringify(fetches));
  const sources = await recordSources(lake, run, previous, reading.files, reader.files, carried);
  const facts = collectFacts(reading, sources, carried, seen);
  // Starter data are a selection of another day: no later run counts as a revision of them.
  if (before && !before.run.record.starter) return compare(reading, before, facts);
  const reason = yearsAheadReason(definition.id, {}, reader.series, currentYear);
  return { ...facts, base_run: null, ...judge(reason) };
}

/** The status of a run by why it is held. */
const judge = (reason: string | null): Pick<RunRecord, 'reason' | 'status'> => ({
  reason,
  status: reason === null ? 'succeeded' : 'suspicious',
});

type Facts = ReturnType<typeof collectFacts>;

function collectFacts(
  reading: CompletedRead,
  sources: RunSources,
  carried: string[],
  seen: ReadonlySet<string>,
) {
  const { run, reader, bytes, fetches, isStarter } = reading;
  const { definition, curated } = run;
  const lost = findLostPlaces(reader.rejects.samples('unknown_place'), seen, curated);
  const unused = isStarter
    ? []
    : findUnusedSettings(definition, curated, reader.catalogue, [...reader.failed.keys()]);
  const rowsOf = (slugs: readonly string[]): number =>
    slugs.reduce((sum, slug) => sum + (reader.series[slug]?.rows ?? 0), 0);
  return {
    rows_read: reader.rowsRead,
    empty_cells: reader.emptyCells,
    rows_written: rowsOf(Object.keys(reader.series)),
    indicators: reader.catalogue.length,
    countries: seen.size,
    bytes,
    vintage: reader.vintage ?? newestModification(fetches.files),
    rejects: reader.rejects.summary(),
    failed_indicators: [...reader.failed].map(([slug, failed]) => ({ slug, ...failed })),
    newest_year: reader.newestYear,
    ...(reader.outOfBounds.length > 0 ? { out_of_bounds: reader.outOfBounds } : {}),
    ...(reader.unreadable.length > 0 ? { unreadable: reader.unreadable } : {}),
    sources,
    ...(lost.length > 0 ? { lost_places: lost } : {}),
    ...(unused.length > 0 ? { unused_settings: unused } : {}),
    ...(carried.length > 0 ? { carried_indicators: carried, rows_carried: rowsOf(carried) } : {}),
  } satisfies Partial<RunRecord>;
}

/** Carries over the series that failed in this run. Returns their slugs. */
async function carryOver({ run: { lake }, reader }: CompletedRead, before: PreviousRun): Promise<string[]> {
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

async function compare(reading: CompletedRead, before: PreviousRun, facts: Facts): Promise<Outcome> {
  const { run, reader, currentYear } = reading;
  const { definition, directory, lake } = run;
  const changed = changedSeries(before.series, reader.series);
  if (changed.length === 0 && (await addsNothing(reading, before))) {
    const known = await knownSources(lake, before.run);
    const sources = known.digest === facts.sources.digest ? known : facts.sources;
    const { failed_indicators } = facts;
    return { ...facts, ...unchanged(before.run, facts.bytes, sources), failed_indicators };
  }
  const revisions = await writeRevisions(lake, before.run, directory, changed);
  const reasons = [
    (await isCorrection(reading, before))
      ? null
      : holdReason(
          definition.gates,
          { record: before.run.record, series: before.known },
          { record: facts, series: reader.series },
          currentYear,
        ),
    yearsAheadReason(definition.id, before.known, reader.series, currentYear),
  ];
  const reason = reasons.filter((one) => one !== null).join(' ') || null;
  return { ...facts, base_run: before.run.record.run_id, revisions, ...judge(reason) };
}

/**
 * Whether a run with equal observations adds nothing: the catalogue, the inputs and the validators for conditional
 * requests are the same, or upstream has no validators.
 */
async function addsNothing(
  { run: { lake }, reader, fetches }: CompletedRead,
  before: PreviousRun,
): Promise<boolean> {
  const catalogue = JSON.stringify(bySlug(await lake.catalogue(before.run)));
  if (catalogue !== JSON.stringify(bySlug(reader.catalogue))) return false;
  const known = await readFetches(before.run);
  if (known?.inputs !== fetches.inputs) return false;
  const hasValidators = fetches.files.every((file) => file.validator !== null);
  return !hasValidators || JSON.stringify(known) === JSON.stringify(fetches);
}

/** Whether only the definition changed: no file that both runs read is another one. A person wants that difference. */
async function isCorrection({ fetches }: CompletedRead, before: PreviousRun): Promise<boolean> {
  const known = await readFetches(before.run);
  if (known === null || known.definition === fetches.definition) return false;
  const validators = new Map(known.files.map(({ reference, validator }) => [reference, validator]));
  return fetches.files.every(({ reference, validator }) => {
    const earlier = validators.get(reference);
    return earlier === undefined || (earlier !== null && earlier === validator);
  });
}

const bySlug = <Item extends { slug: string }>(items: readonly Item[]): Item[] =>
  items.toSorted((a, b) => (a.slug < b.slug ? -1 : 1));

/** The outcome of an unchanged run repeats the counts of the last good one. */
export function unchanged(previous: LakeRun, bytes: number, sources: RunSources): Outcome {
  const { rows_written, indicators, countries, vintage, failed_indicators, lost_places } = previous.record;
  return {
    status: 'unchanged',
    rows_written,
    indicators,
    countries,
    vintage,
    failed_indicators,
    bytes,
    sources,
    ...(lost_places ? { lost_places } : {}),
  };
}

const MEDIAN_FACTOR = 10;
/** The reason names this many series and counts the rest. */
const MAX_NAMED = 5;

interface RunFacts {
  record: Pick<RunRecord, 'rows_written' | 'countries'>;
  series: SeriesFile;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function checkDrop(what: string, before: number, after: number, allowed: number): string[] {
  if (before === 0) return [];
  const share = 1 - after / before;
  if (share <= allowed) return [];
  return [`${what} fell by ${percent(share)} (${before} to ${after}; ${percent(allowed)} is allowed)`];
}

/** Whether only the clock kept the newest observed year of a run from being later, or nothing did. */
const isDecidedByClock = ({ ahead }: SeriesFacts, currentYear: number): boolean =>
  yearsWithoutRule(ahead, currentYear).length > 0;

/** Why one series is suspicious, or null. */
function checkSeries(before: SeriesFacts, after: SeriesFacts, currentYear: number): string | null {
  const hasGoneBack =
    before.newest_year !== null && (after.newest_year === null || after.newest_year < before.newest_year);
  if (hasGoneBack && !isDecidedByClock(before, currentYear)) {
    return `newest year went back from ${before.newest_year} to ${after.newest_year ?? 'none'}`;
  }
  if (before.unit !== null && before.unit !== after.unit) {
    return `unit changed from "${before.unit}" to "${after.unit ?? ''}"`;
  }
  const ratio = Math.abs((after.median ?? 0) / (before.median ?? 0));
  if (before.median && after.median && (ratio >= MEDIAN_FACTOR || ratio <= 1 / MEDIAN_FACTOR)) {
    return `median went from ${before.median} to ${after.median}`;
  }
  return null;
}

/** Why a run is held, as a sentence for the operator; null when it passes. */
export function holdReason(
  gates: ProviderDefinition['gates'],
  before: RunFacts,
  after: RunFacts,
  currentYear: number,
): string | null {
  const whole = [
    ...checkDrop('rows', before.record.rows_written, after.record.rows_written, gates.max_row_drop),
    ...checkDrop('countries', before.record.countries, after.record.countries, gates.max_country_drop),
  ];
  const single = Object.entries(after.series).flatMap(([slug, facts]) => {
    const previous = before.series[slug];
    const suspicion = previous && checkSeries(previous, facts, currentYear);
    return suspicion ? [`${slug}: ${suspicion}`] : [];
  });
  if (whole.length + single.length === 0) return null;
  return `Held against the last good run: ${[...whole, ...nameSome(single)].join('; ')}.`;
}

/** The first reasons, and the number of the others. */
function nameSome(reasons: readonly string[]): string[] {
  const more = reasons.length - MAX_NAMED;
  return more > 0 ? [...reasons.slice(0, MAX_NAMED), `and ${more} more series`] : [...reasons];
}

/**
 * Why a run is held because of figures ahead of the clock, as a sentence that names the settings to make; null when it
 * passes.
 * @param before the series of the last good run, whose years ahead were accepted
 */
export function yearsAheadReason(
  providerId: string,
  before: SeriesFile,
  after: SeriesFile,
  currentYear: number,
): string | null {
  const found = Object.entries(after).flatMap(([slug, { ahead }]) => {
    const years = yearsWithoutRule(ahead, currentYear);
    const [first, last] = [years.at(0), years.at(-1)];
    const accepted = yearsWithoutRule(before[slug]?.ahead ?? null, currentYear).at(-1) ?? currentYear;
    if (first === undefined || last === undefined || last <= accepted) return [];
    return [first === last ? `${slug} (${first})` : `${slug} (${first} to ${last})`];
  });
  if (found.length === 0) return null;
  return (
    `Held because of years after ${currentYear} that upstream does not flag as projected: ` +
    `${nameSome(found).join('; ')}. ` +
    'Set `projected_from` to the first forecast year, or `future_years` to `projected` or `observed`: ' +
    `for single series in overlay/${providerId}.csv, for all in providers/${providerId}.yaml. ` +
    'Accepting the run serves them as projected.'
  );
}
