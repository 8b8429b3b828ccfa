/** Measures one size of the scale bench: the build and the start of the gateway. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Run, runNode } from '../processes.ts';
import { median } from '../report.ts';
import { Session } from '../session.ts';
import type { Replicator } from './replica.ts';

const STARTS = 3;
/** Repetitions of a build that takes seconds; the median counts, since disk latency varies. */
const SMALL_BUILDS = 5;
const SMALL_COPIES_MOST = 4;

export interface Size {
  copies: number;
  indicators: number;
  observations: number;
  build: { seconds: number; peak_mb: number };
  snapshot: { files: number; megabytes: number };
  gateway: { ready_s: number[]; ready_mb: number };
}

export interface Place {
  dir: string;
  redisUrl: string;
  say: (line: string) => void;
}

/** Measures one size and deletes its files. */
export async function measureSize(
  replicator: Replicator,
  { dir, redisUrl, say }: Place,
  copies: number,
): Promise<Size> {
  const home = join(dir, `times-${copies}`);
  try {
    say(`${copies}×: a lake`);
    const { rows: observations, series: indicators } = await replicator.fill(home, copies);
    say(`${copies}×: the build`);
    const build = await middleBuild(home, copies <= SMALL_COPIES_MOST ? SMALL_BUILDS : 1);
    say(`${copies}×: the gateway`);
    await using session = new Session({ dir: home, redisUrl, say });
    const snapshot = await measureFiles((await session.snapshot()).dir);
    const gateway = await starts(session);
    return { copies, indicators, observations, build, snapshot, gateway };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** The build with the median time. Each starts without an earlier snapshot. */
async function middleBuild(home: string, times: number): Promise<Size['build']> {
  const settings = { VAR_DIR: home, CURATED_DIR: join(home, 'data'), LOG_LEVEL: 'fatal' };
  const runs: Run[] = [];
  while (runs.length < times) {
    for (const name of ['snapshots', 'signing']) await rm(join(home, name), { recursive: true, force: true });
    runs.push(await runNode('build/main.ts', ['materialise', '--json'], settings));
  }
  return {
    seconds: median(runs.map(({ duration_ms }) => duration_ms / 1000)),
    peak_mb: median(runs.map(({ peak_mb }) => peak_mb ?? Number.NaN)),
  };
}

async function measureFiles(dir: string): Promise<Size['snapshot']> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  let bytes = 0;
  for (const { parentPath, name } of files) bytes += (await stat(join(parentPath, name))).size;
  return { files: files.length, megabytes: bytes / 2 ** 20 };
}

async function starts(session: Session): Promise<{ ready_s: number[]; ready_mb: number }> {
  const ready_s: number[] = [];
  const memory: number[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    await using gateway = await session.gateway();
    ready_s.push(gateway.ready_ms / 1000);
    memory.push((await gateway.memory()) ?? Number.NaN);
  }
  return { ready_s, ready_mb: median(memory) };
}
