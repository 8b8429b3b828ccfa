/**
 * Stored runs: written by the worker and the command line (`build/jobs/run-reporter.ts`), read by operators. Redis may
 * keep fewer runs than the lake, never different ones.
 *
 * A run sends a heartbeat once a second. Without one for half a minute it is shown as failed: its process has ended.
 */
import { z } from 'zod';
import { buildRun, runProgress, SILENT_RUN_MS, SNAPSHOT_SUBJECT, type StoredRun } from '../schema/jobs.ts';
import { runRecord } from '../schema/lake.ts';
import { redisKeys } from '../schema/redis-keys.ts';
import type { RedisClient } from './redis.ts';

const CANCEL_KEPT_S = 86_400;
export const GONE = 'The process that ran it has ended.';

const logLine = z.looseObject({ time: z.string(), level: z.number(), msg: z.string().optional() });
/** One line of a run's log: `time` (ISO), `level` (pino's number), `msg` and other fields. */
export type RunLogLine = z.infer<typeof logLine>;

type ListedRuns = { subject?: string; offset?: number; limit?: number };

export class RunStore {
  readonly #redis: RedisClient;
  readonly #now: () => number;

  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#now = now;
  }

  /** Newest first. @param subject a provider's id, or `SNAPSHOT_SUBJECT`; without it, all. */
  async list({ subject, offset = 0, limit = 50 }: ListedRuns = {}) {
    const key = subject === undefined ? redisKeys.runs : redisKeys.runsOf(subject);
    const [total, members] = await Promise.all([
      this.#redis.zcard(key),
      this.#redis.zrevrange(key, offset, offset + limit - 1),
    ]);
    const runs = await Promise.all(
      members.map((member) => {
        const [of = '', id = ''] = subject === undefined ? member.split('/') : [subject, member];
        return this.get(of, id);
      }),
    );
    return { total, runs: runs.filter((run) => run !== null) };
  }

  /** Null for an unknown or expired run. */
  async get(subject: string, runId: string): Promise<StoredRun | null> {
    const stored = await this.#redis.hgetall(redisKeys.run(subject, runId));
    return storedRun(subject, stored, this.#now());
  }

  /** The running run of a subject, or null. */
  async running(subject: string): Promise<StoredRun | null> {
    const { runs } = await this.list({ subject, limit: 5 });
    return runs.find(({ status }) => status === 'running') ?? null;
  }

  /** Oldest first, the last `limit` lines. */
  async log(subject: string, runId: string, limit = 500): Promise<RunLogLine[]> {
    const lines = await this.#redis.lrange(redisKeys.runLog(subject, runId), -limit, -1);
    return lines.flatMap((line) => {
      const parsed = logLine.safeParse(JSON.parse(line));
      return parsed.success ? [parsed.data] : [];
    });
  }

  /**
   * Asks a running run to end. Its process notices within two seconds, and its status becomes `cancelled`.
   * @returns false when it is not running.
   */
  async cancel(subject: string, runId: string, by: string): Promise<boolean> {
    const run = await this.get(subject, runId);
    if (run?.status !== 'running') return false;
    await this.#redis.set(redisKeys.runCancel(subject, runId), by, 'EX', CANCEL_KEPT_S);
    return true;
  }
}

function storedRun(subject: string, stored: Record<string, string>, now_ms: number): StoredRun | null {
  const isBuild = subject === SNAPSHOT_SUBJECT;
  const said = parsed(isBuild ? buildRun : runRecord, stored.said);
  if (!said) return null;
  const isSilent = now_ms - Number(stored.heard_at_ms ?? 0) > SILENT_RUN_MS;
  const hasGone = said.status === 'running' && isSilent;
  return {
    subject,
    run_id: said.run_id,
    status: hasGone ? 'failed' : said.status,
    started_at: said.started_at,
    finished_at: said.finished_at,
    reason: hasGone ? GONE : said.reason,
    progress: parsed(runProgress, stored.progress),
    record: isBuild ? null : parsed(runRecord, stored.said),
    build: isBuild ? parsed(buildRun, stored.said) : null,
  };
}

function parsed<Shape extends z.ZodType>(shape: Shape, text: string | undefined): z.infer<Shape> | null {
  if (!text) return null;
  return shape.safeParse(JSON.parse(text)).data ?? null;
}
