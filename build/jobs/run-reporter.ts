/**
 * Mirrors runs to Redis, where operators see them: the record, how far it is, the lines of its log, and once a second
 * that its process lives. The same beat looks whether somebody wants a run to end.
 *
 * The lake is the truth and this is its shadow: writing never delays a run and failing to write never fails one. What
 * was missed while Redis was away is made good by `backfill`, which the worker does at its start.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import type { ExcludedIndicator } from '../../data/schema/excluded-indicator.ts';
import { type BuildRun, LOG_LINES_KEPT, RUNS_KEPT, SNAPSHOT_SUBJECT } from '../../data/schema/jobs.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { BuildObserver, ProgressEvent } from '../runtime/progress.ts';

const BEAT_MS = 1_000;
/** So many waiting lines of a log are written before the beat. */
const LINES_AT_ONCE = 200;

interface Active {
  subject: string;
  runId: string;
  /** Progress that is not yet written. */
  news: ProgressEvent | null;
}

type Said = Pick<RunRecord, 'run_id' | 'status' | 'started_at'>;

export class RunReporter implements BuildObserver {
  readonly #redis: RedisClient;
  readonly #now: () => number;
  readonly #active = new Map<string, Active>();
  readonly #cancels = new Map<string, AbortController>();
  readonly #beat: NodeJS.Timeout;
  #lines: { subject: string; runId: string; line: string }[] = [];
  #work: Promise<unknown> = Promise.resolve();

  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#now = now;
    this.#beat = setInterval(() => void this.flush(), BEAT_MS);
    this.#beat.unref();
  }

  onRun(record: RunRecord): void {
    this.#tell(record.provider_id, record);
  }

  onBuild(build: BuildRun): void {
    this.#tell(SNAPSHOT_SUBJECT, build);
  }

  onExcluded(indicators: readonly ExcludedIndicator[]): void {
    void this.#then(() => this.#redis.set(redisKeys.excluded, JSON.stringify(indicators)));
  }

  onProgress(event: ProgressEvent): void {
    const [, subject = SNAPSHOT_SUBJECT] = event.task.split(' ');
    const active = this.#active.get(subject);
    if (active) active.news = event;
  }

  /** Takes lines of a log; those that name their run are kept with it. */
  write(line: string): void {
    const said = JSON.parse(line) as { run?: unknown; provider?: unknown };
    if (typeof said.run !== 'string') return;
    const subject = typeof said.provider === 'string' ? said.provider : SNAPSHOT_SUBJECT;
    this.#lines.push({ subject, runId: said.run, line: line.trim() });
    if (this.#lines.length >= LINES_AT_ONCE) void this.flush();
  }

  /** Aborts when somebody asks for the end of the subject's run. Asked for anew, it stands for the next run. */
  signalFor(subject: string): AbortSignal {
    const known = this.#cancels.get(subject);
    if (known && !known.signal.aborted) return known.signal;
    const controller = new AbortController();
    this.#cancels.set(subject, controller);
    return controller.signal;
  }

  /** Writes what is new and looks who is to end. Settles when Redis has it, or is away. */
  flush(): Promise<unknown> {
    return this.#then(async () => {
      await this.#writeNews();
      await this.#obeyCancels();
    });
  }

  /** Tells of runs that Redis does not know: what ran while it was away. */
  async backfill(records: readonly RunRecord[]): Promise<void> {
    for (const record of records.slice(-RUNS_KEPT)) {
      const score = await this.#redis.zscore(redisKeys.runsOf(record.provider_id), record.run_id);
      const key = redisKeys.run(record.provider_id, record.run_id);
      if (score === null || !(await this.#redis.hexists(key, 'ended'))) this.onRun(record);
    }
    await this.#work;
  }

  async close(): Promise<void> {
    clearInterval(this.#beat);
    await this.flush();
  }

  #tell(subject: string, said: Said): void {
    const runId = said.run_id;
    const isRunning = said.status === 'running';
    if (isRunning) this.#active.set(subject, { subject, runId, news: null });
    else if (this.#active.get(subject)?.runId === runId) this.#active.delete(subject);
    void this.#then(async () => {
      if (!isRunning) await this.#writeNews();
      await this.#writeRun(subject, said, isRunning);
    });
  }

  async #writeRun(subject: string, said: Said, isRunning: boolean): Promise<void> {
    const key = redisKeys.run(subject, said.run_id);
    const started = Date.parse(said.started_at);
    const state = {
      said: JSON.stringify(said),
      heard_at_ms: this.#now(),
      ...(isRunning ? {} : { ended: 1 }),
    };
    const write = this.#redis
      .pipeline()
      .hset(key, state)
      .zadd(redisKeys.runsOf(subject), started, said.run_id)
      .zadd(redisKeys.runs, started, `${subject}/${said.run_id}`);
    if (!isRunning) write.hdel(key, 'progress').del(redisKeys.runCancel(subject, said.run_id));
    await write.exec();
    if (!isRunning) await this.#forgetOld(subject);
  }

  /** Retention: the oldest runs of a subject go, with their logs. */
  async #forgetOld(subject: string): Promise<void> {
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

  async #writeNews(): Promise<void> {
    const write = this.#redis.pipeline();
    for (const { subject, line, runId } of this.#lines.splice(0)) {
      const key = redisKeys.runLog(subject, runId);
      write.rpush(key, line).ltrim(key, -LOG_LINES_KEPT, -1);
    }
    for (const active of this.#active.values()) {
      const { subject, runId, news } = active;
      active.news = null;
      const progress = news && { progress: JSON.stringify(news) };
      write.hset(redisKeys.run(subject, runId), { heard_at_ms: this.#now(), ...progress });
    }
    if (write.length > 0) await write.exec();
  }

  async #obeyCancels(): Promise<void> {
    for (const { subject, runId } of [...this.#active.values()]) {
      const by = await this.#redis.get(redisKeys.runCancel(subject, runId));
      if (by !== null) this.#cancels.get(subject)?.abort(new Error(`cancelled by ${by}`));
    }
  }

  /** One after the other, so that a later word is never overtaken by an earlier one. */
  #then(work: () => Promise<unknown>): Promise<unknown> {
    this.#work = this.#work.then(work).catch(() => {});
    return this.#work;
  }
}
