/** What the service says of itself: what is served, since when, the last night, and how available it was. */
import type { Logger } from 'pino';
import { isReady, type RedisClient } from '../../../data/runtime/redis.ts';
import { RunStore } from '../../../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../../data/schema/jobs.ts';
import { freshnessOf, type Snapshot, type Snapshots } from '../snapshot/snapshot.ts';
import { AvailabilityLog, type DayOfAvailability, DEFINITION, share } from './availability.ts';
import { type ReadinessParts, readiness } from './readiness.ts';

/** What was read is used for this long. */
const FRESH_MS = 15_000;
/** Runs that are looked at for the newest one that has ended. */
const RUNS_READ = 5;
const RECENT_DAYS = 30;

export interface ServedEdition {
  edition: string;
  published_at: string;
  indicators: number;
  countries: number;
  observations: number | null;
  /** Number of editions that still answer. */
  editions: number;
  first_published_at: string;
}

export interface LastNight {
  state: StoredRun['status'];
  started_at: string;
  finished_at: string | null;
  /** Ids of providers whose last run is held for an operator, or failed. Their earlier figures are served. */
  held: string[];
  failed: string[];
}

export interface ProviderStatus {
  provider_id: string;
  name: string;
  is_served: boolean;
  /** Null while only starter data are loaded. */
  loaded_at: string | null;
  rows: number | null;
  newest_year: number | null;
}

export interface MeasuredAvailability {
  definition: string;
  /** The first measured minute. */
  since: string | null;
  /** Between 0 and 1; null while nothing is measured. */
  last_30_days: number | null;
  last_year: number | null;
  /** Oldest first, at most 366. */
  days: DayOfAvailability[];
}

export interface ServiceStatus {
  checked_at: string;
  is_ready: boolean;
  /** Why not every call can be answered, a sentence each. */
  causes: string[];
  /** Null while no edition is served. */
  served: ServedEdition | null;
  /** Null where this service builds nothing itself, or Redis does not answer. */
  last_night: LastNight | null;
  providers: ProviderStatus[];
  /** Null while Redis does not answer. */
  availability: MeasuredAvailability | null;
}

export interface ServiceStatusParts extends ReadinessParts {
  snapshots: Snapshots;
  /** Where runs and availability are recorded; not the connection of paid requests. Without it, neither is told. */
  redis: RedisClient | null;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
}

export class ServiceStatusReader {
  readonly #parts: ServiceStatusParts;
  #kept: { until_ms: number; status: Promise<ServiceStatus> } | null = null;

  constructor(parts: ServiceStatusParts) {
    this.#parts = parts;
  }

  /** At most some seconds old. Rejects when the files of the served edition cannot be read. */
  read(): Promise<ServiceStatus> {
    const now_ms = this.#parts.now();
    if (this.#kept === null || now_ms >= this.#kept.until_ms) {
      const status = this.#read(now_ms);
      this.#kept = { until_ms: now_ms + FRESH_MS, status };
      status.catch(() => {
        this.#kept = null;
      });
    }
    return this.#kept.status;
  }

  async #read(now_ms: number): Promise<ServiceStatus> {
    const { snapshots, redis, now, log } = this.#parts;
    const snapshot = snapshots.current();
    const { causes } = await readiness(this.#parts);
    const providers = snapshot ? await providersOf(snapshot) : [];
    const recorded = redis !== null && isReady(redis) ? redis : null;
    const unreadable = (error: unknown): null => {
      log.debug({ err: error }, 'status cannot be read from Redis');
      return null;
    };
    const [availability, last_night] = await Promise.all([
      recorded && availabilityOf(new AvailabilityLog(recorded, now)).catch(unreadable),
      recorded && lastNight(new RunStore(recorded, now), providers).catch(unreadable),
    ]);
    return {
      checked_at: new Date(now_ms).toISOString(),
      is_ready: causes.length === 0,
      causes,
      served: snapshot && (await servedBy(snapshot)),
      last_night,
      providers,
      availability,
    };
  }
}

async function servedBy(snapshot: Snapshot): Promise<ServedEdition> {
  const { id, generatedAt, countries, editions } = snapshot;
  const { indicators } = await snapshot.wholeCatalogue();
  const entry = editions.chain.find(({ edition }) => edition === id);
  return {
    edition: id,
    published_at: generatedAt,
    indicators: indicators.size,
    countries: countries.length,
    observations: entry?.counts.observations ?? null,
    editions: editions.chain.length,
    first_published_at: editions.chain[0]?.published_at ?? generatedAt,
  };
}

async function providersOf(snapshot: Snapshot): Promise<ProviderStatus[]> {
  const freshness = await freshnessOf(snapshot);
  const { indicators } = await snapshot.wholeCatalogue();
  const served = new Set([...indicators.values()].map(({ record }) => record.provider.id));
  return freshness.map((each) => ({
    provider_id: each.provider_id,
    name: each.name,
    is_served: served.has(each.provider_id),
    loaded_at: each.last_ok_finished_at,
    rows: each.last_ok_rows,
    newest_year: each.latest_data_year,
  }));
}

async function availabilityOf(log: AvailabilityLog): Promise<MeasuredAvailability> {
  const { since_ms, days } = await log.read();
  return {
    definition: DEFINITION,
    since: since_ms === null ? null : new Date(since_ms).toISOString(),
    last_30_days: share(days.slice(-RECENT_DAYS)),
    last_year: share(days),
    days,
  };
}

/** The newest build, and what the newest runs of providers ended with. */
async function lastNight(runs: RunStore, providers: readonly ProviderStatus[]): Promise<LastNight | null> {
  const newest = async (subject: string): Promise<StoredRun | undefined> => {
    const { runs: listed } = await runs.list({ subject, limit: RUNS_READ });
    return listed.find(({ status }) => status !== 'running' && status !== 'cancelled');
  };
  const build = await newest(SNAPSHOT_SUBJECT);
  if (build === undefined) return null;
  const ended = await Promise.all(providers.map(({ provider_id }) => newest(provider_id)));
  const endedAs = (wanted: StoredRun['status']): string[] =>
    ended.flatMap((run) => (run?.status === wanted ? [run.subject] : []));
  return {
    state: build.status,
    started_at: build.started_at,
    finished_at: build.finished_at,
    held: endedAs('suspicious'),
    failed: endedAs('failed'),
  };
}
