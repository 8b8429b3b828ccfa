/**
 * Runs one snapshot build as a child process and measures seconds, CPU seconds and peak memory of each step, from its log
 * and /proc.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cpuTime, memoryLine } from '../process-stats.ts';
import type { Environment } from '../processes.ts';

const ROOT = join(import.meta.dirname, '../../..');
const LOOK_EVERY_MS = 40;
const STEP_BEGINS = 'build step';

export interface StepCost {
  wall_s: number;
  /** User and system time of all threads. */
  cpu_s: number;
  peak_mb: number;
}

export interface WatchedBuild {
  total: StepCost;
  steps: Map<string, StepCost>;
  summary: { snapshot: string; counts: Record<string, number>; steps_ms: Record<string, number> };
}

/** Sums samples by step. */
class Ledger {
  readonly steps = new Map<string, StepCost>();
  readonly #pid: number | undefined;
  #step = 'start';
  #seen = { at: performance.now(), cpu_ms: 0 };

  constructor(pid: number | undefined) {
    this.#pid = pid;
  }

  begin(step: string): void {
    this.#step = step;
  }

  async look(): Promise<void> {
    const step = this.#step;
    const [cpu_ms, memory] = await Promise.all([cpuTime(this.#pid), memoryLine(this.#pid, 'VmRSS')]);
    if (cpu_ms === null || memory === null) return;
    const at = performance.now();
    const known = this.steps.get(step) ?? { wall_s: 0, cpu_s: 0, peak_mb: 0 };
    this.steps.set(step, {
      wall_s: known.wall_s + (at - this.#seen.at) / 1000,
      cpu_s: known.cpu_s + (cpu_ms - this.#seen.cpu_ms) / 1000,
      peak_mb: Math.max(known.peak_mb, memory),
    });
    this.#seen = { at, cpu_ms };
  }

  get total(): StepCost {
    const costs = [...this.steps.values()];
    return {
      wall_s: costs.reduce((sum, { wall_s }) => sum + wall_s, 0),
      cpu_s: costs.reduce((sum, { cpu_s }) => sum + cpu_s, 0),
      peak_mb: Math.max(...costs.map(({ peak_mb }) => peak_mb)),
    };
  }
}

/** Runs `materialise` with these settings. @throws with the end of its output when it fails */
export async function watchBuild(settings: Environment): Promise<WatchedBuild> {
  const pairs = Object.entries({ ...settings, LOG_LEVEL: 'debug' }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const child = spawn('env', [...pairs, process.execPath, 'build/main.ts', 'materialise', '--json'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ledger = new Ledger(child.pid);
  let answer = '';
  child.stdout.on('data', (bytes) => {
    answer += bytes;
  });
  let lastWords = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    lastWords = line;
    const step = stepOf(line);
    if (step !== null) ledger.begin(step);
  });
  let looking: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    looking = looking.then(() => ledger.look());
  }, LOOK_EVERY_MS);
  const [code] = await once(child, 'close');
  clearInterval(timer);
  await looking;
  if (code !== 0) throw new Error(`the build ended with ${code}: ${lastWords}`);
  return { total: ledger.total, steps: ledger.steps, summary: JSON.parse(answer) };
}

function stepOf(line: string): string | null {
  if (!line.includes(STEP_BEGINS)) return null;
  const { msg, step } = JSON.parse(line) as { msg?: string; step?: string };
  return msg === STEP_BEGINS && step !== undefined ? step : null;
}
