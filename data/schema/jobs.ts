/**
 * Schemas of background jobs and their runs, shared by the operator area, the worker and the command line.
 *
 * There are two queues, so that a change of the catalogue never waits for a nightly run: `ingest` reads providers,
 * `publish` builds and publishes. A run is one ingestion of one provider or one build of a snapshot, whether it was started
 * by a queue, the schedule or the command line. `redis-keys.ts` names its keys.
 */
import { z } from 'zod';
import { type runRecord, runStatus } from './lake.ts';
import { qualityCounts } from './quality.ts';
import { timestamp } from './records.ts';
import { manifest } from './snapshot.ts';

export const INGEST_QUEUE = 'ingest';
export const PUBLISH_QUEUE = 'publish';

/** The operator's address, or null for the schedule. */
const by = z.string().nullable().default(null);

/** Payload schemas by job name. */
export const JOBS = {
  /** Ingests one provider, then publishes when its figures changed. `force` also reads unchanged files. */
  ingest: z.object({ provider: z.string(), force: z.boolean().default(false), by }),
  /** Accepts a held run, then publishes. */
  accept: z.object({ provider: z.string(), run: z.string(), by }),
  /** Ingests the providers that are due (`all`: every one), then publishes once. */
  nightly: z.object({ all: z.boolean().default(false), by }),
  /** Builds and publishes from the lake and the operators' current changes. */
  rebuild: z.object({ by }),
  /** Serves an earlier snapshot; null is the previous one. Everybody can read the reason. */
  rollback: z.object({
    to: z.string().nullable().default(null),
    reason: z.string().nullable().default(null),
    by,
  }),
} as const;
export type JobName = keyof typeof JOBS;
export type JobPayload<Name extends JobName> = z.infer<(typeof JOBS)[Name]>;

export const QUEUE_OF: Readonly<Record<JobName, string>> = {
  ingest: INGEST_QUEUE,
  accept: INGEST_QUEUE,
  nightly: INGEST_QUEUE,
  rebuild: PUBLISH_QUEUE,
  rollback: PUBLISH_QUEUE,
};

/** Result of a job; `busy` when another process holds the lock. */
export const jobResult = z.object({
  outcome: z.enum([...runStatus.options, 'busy']),
  /** A sentence for the operator; null where the outcome is enough. */
  reason: z.string().nullable(),
});
export type JobResult = z.infer<typeof jobResult>;

/** Progress of a run. */
export const runProgress = z.object({
  /** `ingest gapminder`, `build`. */
  task: z.string(),
  /** The current step: `reading`, `materialise`, ... */
  step: z.string(),
  done: z.number(),
  /** Null while unknown. */
  total: z.number().nullable(),
  /** The unit of `done` and `total`: `indicators`, `files`. */
  unit: z.string(),
  rows: z.number().optional(),
  bytes: z.number().optional(),
});
export type RunProgress = z.infer<typeof runProgress>;

/** One build of a snapshot. */
export const buildRun = z.object({
  run_id: z.string(),
  status: z.enum(['running', 'succeeded', 'failed', 'cancelled']),
  started_at: timestamp,
  finished_at: timestamp.nullable(),
  reason: z.string().nullable(),
  /** The snapshot that it published. */
  snapshot: z.string().nullable(),
  counts: manifest.shape.counts.nullable(),
  /** Absent unless it succeeded. */
  quality: qualityCounts.optional(),
  /** Milliseconds by step. */
  steps_ms: z.record(z.string(), z.number()),
});
export type BuildRun = z.infer<typeof buildRun>;

/** The subject of build runs; every other subject is a provider's id. */
export const SNAPSHOT_SUBJECT = 'snapshot';

/** A run as stored in Redis. */
export interface StoredRun {
  /** A provider's id, or `SNAPSHOT_SUBJECT`. */
  subject: string;
  run_id: string;
  status: z.infer<typeof runStatus>;
  started_at: string;
  finished_at: string | null;
  reason: string | null;
  /** Set while it runs. */
  progress: RunProgress | null;
  /** Null for a build. */
  record: z.infer<typeof runRecord> | null;
  /** Null for an ingestion. */
  build: BuildRun | null;
}

/** A run without a heartbeat for this long counts as crashed. */
export const SILENT_RUN_MS = 30_000;
/** Runs kept per subject; log lines kept per run. */
export const RUNS_KEPT = 100;
export const LOG_LINES_KEPT = 500;

/** Not redistributable; withheld by a quality decision; disabled by its overlay; without data; of a disabled provider. */
export const EXCLUSION_REASONS = [
  'not redistributable',
  'withheld',
  'curated away',
  'no figures',
  'provider off',
] as const;

/** An indicator in the lake that the last build did not publish. */
const excludedIndicator = z.object({
  id: z.string(),
  name: z.string(),
  unit: z.string(),
  topic: z.string(),
  provider: z.string(),
  why: z.enum(EXCLUSION_REASONS),
  /** Whose terms or which decision withhold it. Absent for other reasons. */
  detail: z.string().optional(),
});
export type ExcludedIndicator = z.output<typeof excludedIndicator>;

export const excludedIndicators = z.array(excludedIndicator);
