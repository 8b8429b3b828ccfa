/** Reads the curated providers and tells whether runs and figures of each are as fresh as its cadence requires. */
import { loadCurated } from '../data/curated/curated.ts';
import type { ProviderDefinition } from '../data/schema/curated.ts';
import type { StoredRun } from '../data/schema/jobs.ts';
import { DAY_MS } from '../data/schema/redis-keys.ts';
import type { AdminArea } from './context.ts';
import type { DecisionStore } from './decision-store.ts';

const MAX_RUNS = 50;
/** Statistics of a year appear one to two years later; figures that end earlier than this are outdated. */
const MAX_DATA_AGE_YEARS = 3;

/** Days that a provider may go without a successful run; the first pattern that its cadence matches counts. */
const CADENCE_DAYS: readonly [RegExp, number][] = [
  [/hour|daily|day/i, 2],
  [/week/i, 9],
  [/month/i, 35],
  [/quarter/i, 100],
];
/** Yearly or unknown cadence. */
const DEFAULT_DAYS = 380;
/** Never published again, so neither runs nor figures can be too old. */
const FIXED_EDITION = /fixed|once/i;

/** `late`: no good run for too long. `outdated`: the runs are good, but the newest figure is too old. */
type FreshnessState = 'fresh' | 'late' | 'outdated' | 'never';

export type ProviderFreshness = ReturnType<typeof freshnessOf>;

/** A provider with its newest runs, newest first. */
export type ProviderRuns = Awaited<ReturnType<typeof listProviderRuns>>[number];

/** The oldest year in which figures may end; null when they may end in any. */
export function oldestFreshYear(cadence: string | null, now_ms: number): number | null {
  if (FIXED_EDITION.test(cadence ?? '')) return null;
  return new Date(now_ms).getUTCFullYear() - MAX_DATA_AGE_YEARS;
}

/**
 * Returns a reader of the definitions, enabled or not as operators decided. It loads the curated ones once, and again only
 * after a failure.
 */
export function providerReader(
  curatedDir: string,
  { providers: decisions }: Pick<DecisionStore, 'providers'>,
): () => Promise<ReadonlyMap<string, ProviderDefinition>> {
  let reading: Promise<ReadonlyMap<string, ProviderDefinition>> | null = null;
  const read = () => {
    reading ??= loadCurated(curatedDir).then(
      ({ providers }) => providers,
      (error: unknown) => {
        reading = null;
        throw error;
      },
    );
    return reading;
  };
  return async () => {
    const [definitions, decided] = await Promise.all([read(), decisions.all()]);
    return new Map(
      [...definitions].map(([id, definition]) => {
        const { enabled = definition.enabled } = decided.get(id) ?? {};
        return [id, { ...definition, enabled }];
      }),
    );
  };
}

/** When figures that end in this year became outdated. */
export const outdatedSince_ms = (newest_year: number): number =>
  Date.UTC(newest_year + MAX_DATA_AGE_YEARS + 1, 0, 1);

function stateOf(
  cadence: string | null,
  age_ms: number | null,
  newest_year: number | null,
  now_ms: number,
): FreshnessState {
  if (age_ms === null) return 'never';
  const oldest = oldestFreshYear(cadence, now_ms);
  if (oldest === null) return 'fresh';
  const days = CADENCE_DAYS.find(([words]) => words.test(cadence ?? ''))?.[1] ?? DEFAULT_DAYS;
  if (age_ms > days * DAY_MS) return 'late';
  return newest_year !== null && newest_year < oldest ? 'outdated' : 'fresh';
}

/** Whether the run read its upstream, or found it unchanged. The starter data are no upstream. */
const isLoad = ({ status, record }: StoredRun): boolean =>
  (status === 'succeeded' || status === 'unchanged') && !record?.starter;

function freshnessOf({ id, name, cadence }: ProviderDefinition, runs: readonly StoredRun[], now_ms: number) {
  const good = runs.find(isLoad) ?? null;
  const last_ok_ms = good?.finished_at ? Date.parse(good.finished_at) : null;
  const age_ms = last_ok_ms === null ? null : now_ms - last_ok_ms;
  const newest_year = good?.record?.newest_year ?? null;
  return {
    id,
    name,
    cadence,
    last_ok_ms,
    age_ms,
    newest_year,
    state: stateOf(cadence, age_ms, newest_year, now_ms),
    rows: good?.record?.rows_written ?? null,
    running: runs.find(({ status }) => status === 'running') ?? null,
  };
}

type Source = Pick<AdminArea, 'providers' | 'runs' | 'now'>;

/** @param isWanted by default those that are enabled */
export async function listProviderRuns(
  { providers, runs: store, now }: Source,
  isWanted = ({ enabled }: ProviderDefinition): boolean => enabled,
) {
  const definitions = [...(await providers()).values()].filter(isWanted);
  return Promise.all(
    definitions.map(async (definition) => {
      const { runs } = await store.list({ subject: definition.id, limit: MAX_RUNS });
      return { definition, runs, freshness: freshnessOf(definition, runs, now()) };
    }),
  );
}

export const listProviderFreshness = async (area: Source): Promise<ProviderFreshness[]> =>
  (await listProviderRuns(area)).map(({ freshness }) => freshness);
