/** What a step of the command line is. */
import type { Curated } from '../data/curated/curated.ts';
import type { Settings } from '../data/runtime/settings.ts';
import type { NightlyDependencies } from './nightly.ts';

export interface StepOptions {
  provider?: string[];
  run?: string;
  to?: string;
  force?: boolean;
  all?: boolean;
  delete?: boolean;
  yes?: boolean;
  without?: string;
  indicator?: string;
  reason?: string;
  /** What follows the step: of `inspect`, a directory or a URL. */
  argument?: string;
}

export interface StepContext extends NightlyDependencies {
  settings: Settings;
  curated: Curated;
}

/** `result` is printed with `--json`, `lines` without it. */
export interface StepResult {
  result: unknown;
  lines: string[];
  exitCode: number;
}

/** The command line was not understood. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export type RunStep = (context: StepContext, options: StepOptions) => Promise<StepResult>;

export interface Step {
  run: RunStep;
  help: string;
  takesArgument?: boolean;
  /** Reports its run to Redis, or reads from it. */
  usesRedis?: boolean;
}
