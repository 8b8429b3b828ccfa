/** What a step of the command line is, and what steps and jobs work with. */
import type { parseArgs } from 'node:util';
import type { Logger } from 'pino';
import type { Curated } from '../data/curated/curated.ts';
import type { RedisClient } from '../data/runtime/redis.ts';
import type { Settings } from '../data/runtime/settings.ts';
import { runArchive } from './archive/run-archive.ts';
import { findConnector } from './connectors/registry.ts';
import { withDecisions } from './editions/editions.ts';
import type { RunReporter } from './jobs/jobs.ts';
import type { NightlyDependencies } from './nightly.ts';
import { loggedProgress } from './runtime/progress.ts';
import { loadDecisions, loadOverrides } from './runtime/redis-connection.ts';

/** Those of the command line; each step takes some. */
export const OPTIONS = {
  provider: { type: 'string', multiple: true },
  run: { type: 'string' },
  to: { type: 'string' },
  force: { type: 'boolean' },
  all: { type: 'boolean' },
  delete: { type: 'boolean' },
  yes: { type: 'boolean' },
  without: { type: 'string' },
  indicator: { type: 'string' },
  reason: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];
/** `argument` follows the step: of `inspect`, a directory or a URL. */
export type StepOptions = Omit<Values, 'json' | 'help'> & { argument?: string | undefined };

export interface StepContext extends NightlyDependencies {
  settings: Settings;
  curated: Curated;
}

interface Opened {
  /** Without it nothing is archived. */
  redis: RedisClient | null;
  reporter: RunReporter | null;
  log: Logger;
  signal: AbortSignal;
}

/** @param curated as curated; the decisions of this moment are applied to it */
export async function openContext(
  settings: Settings,
  curated: Curated,
  { redis, reporter, log, signal }: Opened,
): Promise<StepContext> {
  const decisions = () => loadDecisions(redis, settings, log);
  return {
    settings,
    decisions,
    findConnector,
    now: Date.now,
    log,
    signal,
    curated: withDecisions(curated, await decisions()),
    overrides: () => loadOverrides(redis, settings, log),
    observer: loggedProgress(log, reporter),
    ...(redis && { archive: () => runArchive({ redis, settings, now: Date.now, log, signal }) }),
    ...(reporter && { signalFor: (subject: string) => reporter.signalFor(subject) }),
  };
}

/** `result` is printed with `--json`, `lines` without it. */
export interface StepResult {
  result: unknown;
  lines: string[];
  exitCode: number;
}

export interface Step {
  help: string;
  run(context: StepContext, options: StepOptions): Promise<StepResult>;
  takesArgument?: boolean;
  /** Reports its run to Redis, or reads from it. */
  usesRedis?: boolean;
}
