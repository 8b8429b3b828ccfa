/** What the service says of itself: what is served, since when, the last night, and how available it was. */
import type { Logger } from 'pino';
import { isReady, type RedisClient } from '../../../data/runtime/redis.ts';
import { RunStore } from '../../../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../../data/schema/jobs.ts';
import { freshnessOf, type Snapshot, type Snapshots } from '../snapshot/snapshot.ts';
import { AvailabilityLog, DEFINITION, share } from './availability.ts';
import { type ReadinessParts, readiness } from './readiness.ts';

/** What was read is used for this long. */
const FRESH_MS = 15_000;
/** Runs that are looked at for the newest one that has ended. */
const RUNS_READ = 5;
const RECENT_DAYS = 30;

export interface ServiceStatusParts extends ReadinessParts {
  snapshots: Snapshots;
  /** Where runs and availability are recorded; not the connection of paid requests. Without it, neither is told. */
  redis: RedisClient | null;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
}

export type ServiceStatus = Awaited<ReturnType<typeof readStatus>>;

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
      const status = readStatus(this.#parts, now_ms);
      this.#kept = { until_ms: now_ms + FRESH_MS, status };
      status.catch(() => {
        this.#kept = null;
      });
    }
    return this.#kept.status;
  }
}

async function readStatus(parts: ServiceStatusParts, now_ms: number) {
  const { snapshots, redis, now, log } = parts;
  const snapshot = snapshots.current();
  const { causes } = await readiness(parts);
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
    /** Why not every call can be answered, a sentence each. */
    causes,
    /** Null while no edition is served. */
    served: snapshot && (await servedBy(snapshot)),
    /** Null where this service builds nothing itself, or Redis does not answer. */
    last_night,
    providers,
    /** Null while Redis does not answer. */
    availability,
  };
}

async function servedBy(snapshot: Snapshot) {
  const { id, generatedAt, countries, editions } = snapshot;
  const { indicators } = await snapshot.wholeCatalogue();
  const entry = editions.chain.find(({ edition }) => edition === id);
  return {
    edition: id,
    published_at: generatedAt,
    indicators: indicators.size,
    countries: countries.length,
    observations: entry?.counts.observations ?? null,
    /** Number of editions that still answer. */
    editions: editions.chain.length,
    first_published_at: editions.chain[0]?.published_at ?? generatedAt,
  };
}

async function providersOf(snapshot: Snapshot) {
  const freshness = await freshnessOf(snapshot);
  const { indicators } = await snapshot.wholeCatalogue();
  const served = new Set([...indicators.values()].map(({ record }) => record.provider.id));
  return freshness.map((each) => ({
    provider_id: each.provider_id,
    name: each.name,
    is_served: served.has(each.provider_id),
    /** Null while only starter data are loaded. */
    loaded_at: each.last_ok_finished_at,
    rows: each.last_ok_rows,
    newest_year: each.latest_data_year,
  }));
}

async function availabilityOf(log: AvailabilityLog) {
  const { since_ms, days } = await log.read();
  return {
    definition: DEFINITION,
    /** The first measured minute. */
    since: since_ms === null ? null : new Date(since_ms).toISOString(),
    /** Between 0 and 1; null while nothing is measured. */
    last_30_days: share(days.slice(-RECENT_DAYS)),
    last_year: share(days),
    /** Oldest first, at most 366. */
    days,
  };
}

/** The newest build, and what the newest runs of providers ended with. */
async function lastNight(runs: RunStore, providers: readonly { provider_id: string }[]) {
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
    /** Ids of providers whose last run is held for an operator, or failed. Their earlier figures are served. */
    held: endedAs('suspicious'),
    failed: endedAs('failed'),
  };
}
