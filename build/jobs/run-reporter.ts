/**
 * Reports runs to Redis, where operators see them: record, progress, log lines and a heartbeat every second.
 * The heartbeat also checks whether an operator cancelled a run.
 *
 * The lake holds the truth. Reporting never delays a run, and a failed write never fails one. `backfill`, called when
 * a worker starts, adds what was missed while Redis was away.
 */
import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import { loadCurated } from '../../data/curated/curated.ts';
import { LockHeldError, withLock } from '../../data/runtime/file-lock.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import {
  type BuildRun,
  type ExcludedIndicator,
  LOG_LINES_KEPT,
  RUNS_KEPT,
  type RunProgress,
  SNAPSHOT_SUBJECT,
} from '../../data/schema/jobs.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import type { OperatorReport } from '../../data/schema/quality.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { ProviderLake } from '../lake/lake.ts';
import type { BuildObserver } from '../runtime/progress.ts';

const HEARTBEAT_MS = 1_000;
/** This many buffered log lines are written without waiting for the heartbeat. */
const MAX_BUFFERED_LINES = 200;

interface ActiveRun {
  subject: string;
  runId: string;
  /** Progress not yet written. */
  pending: RunProgress | null;
}

type ReportedRun = Pick<RunRecord, 'run_id' | 'status' | 'started_at'>;

export class RunReporter implements BuildObserver {
  readonly #redis: RedisClient;
  readonly #now: () => number;
  readonly #active = new Map<string, ActiveRun>();
  readonly #cancels = new Map<string, AbortController>();
  readonly #heartbeat: NodeJS.Timeout;
  #lines: { subject: string; runId: string; line: string }[] = [];
  #work: Promise<unknown> = Promise.resolve();

  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#now = now;
    this.#heartbeat = setInterval(() => void this.flush(), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  onRun(record: RunRecord): void {
    this.#report(record.provider_id, record);
  }

  onBuild(build: BuildRun): void {
    this.#report(SNAPSHOT_SUBJECT, build);
  }

  onExcluded(indicators: readonly ExcludedIndicator[]): void {
    void this.#enqueue(() => this.#redis.set(redisKeys.excluded, JSON.stringify(indicators)));
  }

  onQuality(report: OperatorReport): void {
    void this.#enqueue(() => this.#redis.set(redisKeys.quality, JSON.stringify(report)));
  }

  onProgress(event: RunProgress): void {
    const [, subject = SNAPSHOT_SUBJECT] = event.task.split(' ');
    const active = this.#active.get(subject);
    if (active) active.pending = event;
  }

  /** A log destination. Keeps the lines that name their run. */
  write(line: string): void {
    const { run, provider } = JSON.parse(line) as { run?: unknown; provider?: unknown };
    if (typeof run !== 'string') return;
    const subject = typeof provider === 'string' ? provider : SNAPSHOT_SUBJECT;
    this.#lines.push({ subject, runId: run, line: line.trim() });
    if (this.#lines.length >= MAX_BUFFERED_LINES) void this.flush();
  }

  /** A signal that aborts when the subject's run is cancelled. After an abort, a new call returns a signal for the next run. */
  signalFor(subject: string): AbortSignal {
    const known = this.#cancels.get(subject);
    if (known && !known.signal.aborted) return known.signal;
    const controller = new AbortController();
    this.#cancels.set(subject, controller);
    return controller.signal;
  }

  /** Writes what is pending and checks for cancellations. Resolves when Redis has it, or has failed. */
  flush(): Promise<unknown> {
    return this.#enqueue(async () => {
      await this.#writePending();
      await this.#checkCancels();
    });
  }

  /** Reports runs that Redis does not know or knows only as running. */
  async backfill(records: readonly RunRecord[]): Promise<void> {
    for (const record of records.slice(-RUNS_KEPT)) {
      const score = await this.#redis.zscore(redisKeys.runsOf(record.provider_id), record.run_id);
      const key = redisKeys.run(record.provider_id, record.run_id);
      if (score === null || !(await this.#redis.hexists(key, 'ended'))) this.onRun(record);
    }
    await this.#work;
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    await this.flush();
  }

  #report(subject: string, run: ReportedRun): void {
    const runId = run.run_id;
    const isRunning = run.status === 'running';
    if (isRunning) this.#active.set(subject, { subject, runId, pending: null });
    else if (this.#active.get(subject)?.runId === runId) this.#active.delete(subject);
    void this.#enqueue(async () => {
      if (!isRunning) await this.#writePending();
      await this.#writeRun(subject, run, isRunning);
    });
  }

  async #writeRun(subject: string, run: ReportedRun, isRunning: boolean): Promise<void> {
    const key = redisKeys.run(subject, run.run_id);
    const started = Date.parse(run.started_at);
    const state = {
      said: JSON.stringify(run),
      heard_at_ms: this.#now(),
      ...(isRunning ? {} : { ended: 1 }),
    };
    const write = this.#redis
      .pipeline()
      .hset(key, state)
      .zadd(redisKeys.runsOf(subject), started, run.run_id)
      .zadd(redisKeys.runs, started, `${subject}/${run.run_id}`);
    if (!isRunning) write.hdel(key, 'progress').del(redisKeys.runCancel(subject, run.run_id));
    await write.exec();
    if (!isRunning) await this.#deleteOldRuns(subject);
  }

  /** Deletes the oldest runs of a subject, with their logs. */
  async #deleteOldRuns(subject: string): Promise<void> {
    const old = await this.#redis.zrange(redisKeys.runsOf(subject), 0, String(-RUNS_KEPT - 1));
    if (old.length === 0) return;
    const write = this.#redis.pipeline();
    for (const runId of old) {
      write.del(redisKeys.run(subject, runId), redisKeys.runLog(subject, runId));
      write.zrem(redisKeys.runsOf(subject), runId);
      write.zrem(redisKeys.runs, `${subject}/${runId}`);
    }
    await write.exec();
  }

  async #writePending(): Promise<void> {
    const write = this.#redis.pipeline();
    for (const { subject, line, runId } of this.#lines.splice(0)) {
      const key = redisKeys.runLog(subject, runId);
      write.rpush(key, line).ltrim(key, -LOG_LINES_KEPT, -1);
    }
    for (const active of this.#active.values()) {
      const { subject, runId, pending } = active;
      active.pending = null;
      const progress = pending && { progress: JSON.stringify(pending) };
      write.hset(redisKeys.run(subject, runId), { heard_at_ms: this.#now(), ...progress });
    }
    if (write.length > 0) await write.exec();
  }

  async #checkCancels(): Promise<void> {
    for (const { subject, runId } of [...this.#active.values()]) {
      const by = await this.#redis.get(redisKeys.runCancel(subject, runId));
      if (by !== null) this.#cancels.get(subject)?.abort(new Error(`cancelled by ${by}`));
    }
  }

  /** Writes in order, so that an earlier state never overwrites a later one. */
  #enqueue(work: () => Promise<unknown>): Promise<unknown> {
    this.#work = this.#work.then(work).catch(() => {});
    return this.#work;
  }
}

/**
 * Recovers after a crash, when a worker starts, and when a job was lost with its worker: records interrupted runs as failed,
 * and reports to Redis the runs that it does not know.
 */
export async function recoverRuns(
  settings: Pick<Settings, 'LAKE_DIR' | 'CURATED_DIR'>,
  reporter: RunReporter,
  now: () => number,
  log: Logger,
): Promise<void> {
  const curated = await loadCurated(settings.CURATED_DIR);
  for (const id of curated.providers.keys()) {
    const lake = new ProviderLake(settings.LAKE_DIR, id);
    if (!existsSync(lake.directory)) continue;
    try {
      await withLock(lake.lockFile, `provider ${id}`, {}, () => lake.recover(now()));
    } catch (error) {
      // A held lock means that the run is alive.
      if (!(error instanceof LockHeldError))
        log.error({ err: error, provider: id }, 'runs cannot be recovered');
    }
    await reporter.backfill(await lake.records());
  }
}
