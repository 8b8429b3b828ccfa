/**
 * Work that runs apart from the gateway, and what is known of it while it runs: the shapes that whoever asks for it
 * (the operator area), whoever does it (the worker, the command line) and whoever looks at it agree on.
 *
 * Two queues, so that a change of the catalogue never waits behind a night: `ingest` reads providers, `publish` builds
 * and points. A *run* is one ingestion of one provider, or one build of a snapshot; runs from a queue, from the schedule
 * and from the command line are told of alike, under keys that `redis-keys.ts` names.
 */
import { z } from 'zod';
import { type runRecord, runStatus } from './lake.ts';
import { timestamp } from './records.ts';
import { manifest } from './snapshot.ts';

export const INGEST_QUEUE = 'ingest';
export const PUBLISH_QUEUE = 'publish';

/** Who asked: an operator's address, or null for the schedule. */
const by = z.string().nullable().default(null);

/** What each job carries, by its name. */
export const JOBS = {
  /** Ingests one provider, then publishes when its figures changed. `force` reads again what has not changed. */
  ingest: z.object({ provider: z.string(), force: z.boolean().default(false), by }),
  /** Takes a held run as good, then publishes. */
  accept: z.object({ provider: z.string(), run: z.string(), by }),
  /** Ingests what is due (`all`: everything), then publishes once. */
  nightly: z.object({ all: z.boolean().default(false), by }),
  /** Builds and publishes from the lake with the operators' changes of the moment. */
  rebuild: z.object({ by }),
  /** Serves an earlier snapshot; null is the one before. */
  rollback: z.object({ to: z.string().nullable().default(null), by }),
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

/** What became of a job; `busy` when another process was at it already. */
export const jobResult = z.object({
  outcome: z.enum([...runStatus.options, 'busy']),
  /** A sentence for the operator; null where the outcome says all. */
  reason: z.string().nullable(),
});
export type JobResult = z.infer<typeof jobResult>;

/** How far a run is. */
export const runProgress = z.object({
  /** `ingest gapminder`, `build`. */
  task: z.string(),
  /** What is being done: `reading`, `materialise`, ... */
  step: z.string(),
  done: z.number(),
  /** Null while nobody knows. */
  total: z.number().nullable(),
  /** What is counted: `indicators`, `files`. */
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
  /** Milliseconds by step. */
  steps_ms: z.record(z.string(), z.number()),
});
export type BuildRun = z.infer<typeof buildRun>;

/** The subject of a run that builds; every other subject is a provider's id. */
export const SNAPSHOT_SUBJECT = 'snapshot';

/** A run as Redis knows it. */
export interface StoredRun {
  /** A provider's id, or `SNAPSHOT_SUBJECT`. */
  subject: string;
  run_id: string;
  status: z.infer<typeof runStatus>;
  started_at: string;
  finished_at: string | null;
  reason: string | null;
  /** Of a running one. */
  progress: RunProgress | null;
  /** Of an ingestion. */
  record: z.infer<typeof runRecord> | null;
  /** Of a build. */
  build: BuildRun | null;
}

/** A run that has not been heard of for so long is taken for crashed. */
export const SILENT_RUN_MS = 30_000;
/** Runs kept per subject; log lines kept per run. */
export const RUNS_KEPT = 100;
export const LOG_LINES_KEPT = 500;
