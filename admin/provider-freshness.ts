/** Reads the curated providers and tells whether each is as fresh as its cadence requires. */
import { loadCurated } from '../data/curated/curated.ts';
import type { RunStore } from '../data/runtime/run-store.ts';
import type { ProviderDefinition } from '../data/schema/curated.ts';
import type { StoredRun } from '../data/schema/jobs.ts';
import { DAY_MS } from '../data/schema/redis-keys.ts';

const MAX_RUNS = 50;

/** Days that a provider may go without a successful run; the first pattern that its cadence matches counts. */
const CADENCE_DAYS: readonly [RegExp, number][] = [
  [/hour|daily|day/i, 2],
  [/week/i, 9],
  [/month/i, 35],
  [/quarter/i, 100],
  [/fixed|once/i, Number.POSITIVE_INFINITY],
];
/** Yearly or unknown cadence. */
const DEFAULT_DAYS = 380;

export interface ProviderFreshness {
  id: string;
  name: string;
  cadence: string | null;
  state: 'fresh' | 'late' | 'never';
  last_ok_ms: number | null;
  age_ms: number | null;
  rows: number | null;
  newest_year: number | null;
  running: StoredRun | null;
}

/** Returns a reader that loads the curated definitions once and again only after a failure. */
export function providerReader(curatedDir: string): () => Promise<ReadonlyMap<string, ProviderDefinition>> {
  let reading: Promise<ReadonlyMap<string, ProviderDefinition>> | null = null;
  return () => {
    reading ??= loadCurated(curatedDir).then(
      ({ providers }) => providers,
      (error: unknown) => {
        reading = null;
        throw error;
      },
    );
    return reading;
  };
}

export async function freshness(
  { id, name, cadence }: ProviderDefinition,
  runs: RunStore,
  now_ms: number,
): Promise<ProviderFreshness> {
  const { runs: latest } = await runs.list({ subject: id, limit: MAX_RUNS });
  const good = latest.find(({ status }) => status === 'succeeded' || status === 'unchanged') ?? null;
  const last_ok_ms = good?.finished_at ? Date.parse(good.finished_at) : null;
  const age_ms = last_ok_ms === null ? null : now_ms - last_ok_ms;
  const days = CADENCE_DAYS.find(([words]) => words.test(cadence ?? ''))?.[1] ?? DEFAULT_DAYS;
  return {
    id,
    name,
    cadence,
    state: age_ms === null ? 'never' : age_ms > days * DAY_MS ? 'late' : 'fresh',
    last_ok_ms,
    age_ms,
    rows: good?.record?.rows_written ?? null,
    newest_year: good?.record?.newest_year ?? null,
    running: latest.find(({ status }) => status === 'running') ?? null,
  };
}

/** Freshness of all enabled providers; of samples only while no other provider was ever read. */
export async function listProviderFreshness(
  providers: ReadonlyMap<string, ProviderDefinition>,
  runs: RunStore,
  now_ms: number,
): Promise<ProviderFreshness[]> {
  const enabled = [...providers.values()].filter((provider) => provider.enabled);
  const all = await Promise.all(
    enabled.map(async (provider) => ({ provider, facts: await freshness(provider, runs, now_ms) })),
  );
  const isReal = ({ provider, facts }: (typeof all)[number]) => !provider.sample && facts.state !== 'never';
  const shown = all.some(isReal) ? all.filter(({ provider }) => !provider.sample) : all;
  return shown.map(({ facts }) => facts);
}
