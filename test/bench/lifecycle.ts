/** Rows of the build and of the gateway's start. */
import { mirrorDirectory } from '../mirror.ts';
import { type Environment, runNode, startGateway } from './processes.ts';
import type { Row, Skipped } from './report.ts';

const STARTS = 5;

/** Builds a snapshot for everything that follows: all of Gapminder where a provider mirror is at hand, else the sample. */
export async function buildRows(
  settings: Environment,
  say: (line: string) => void,
): Promise<(Row | Skipped)[]> {
  const mirror = mirrorDirectory();
  if (mirror === null) {
    say('building the sample snapshot');
    await runNode('build/main.ts', ['sample'], settings);
    return [{ name: 'build of all Gapminder', skipped: 'no provider mirror' }];
  }
  say('building all of Gapminder');
  const withMirror = { ...settings, PROVIDER_MIRROR: mirror };
  const ingest = await runNode('build/main.ts', ['ingest', '--provider', 'gapminder'], withMirror);
  const build = await runNode('build/main.ts', ['materialise'], withMirror);
  const seconds = [ingest, build].map(({ duration_ms }) => duration_ms / 1000);
  const rows: Row[] = [
    { name: 'Gapminder: ingest', measured: { unit: 's', rounds: seconds.slice(0, 1) } },
    { name: 'Gapminder: materialise to publish', measured: { unit: 's', rounds: seconds.slice(1) } },
    {
      name: 'Gapminder: whole build',
      measured: { unit: 's', rounds: [seconds.reduce((sum, each) => sum + each, 0)] },
      goal: { at: 'most', bound: 45 },
    },
  ];
  const peaks = [ingest.peak_mb, build.peak_mb].filter((peak) => peak !== null);
  if (peaks.length > 0)
    rows.push({
      name: 'Gapminder: peak memory of the build',
      measured: { unit: 'MB', rounds: [Math.max(...peaks)] },
      goal: { at: 'most', bound: 1500 },
    });
  return rows;
}

/** Starts several times; the time of the first counts like the others, since files are in the page cache. */
export async function startRows(settings: Environment): Promise<Row[]> {
  const ready: number[] = [];
  const memory: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    await using gateway = await startGateway(settings);
    ready.push(gateway.ready_ms / 1000);
    memory.push((await gateway.memory()) ?? Number.NaN);
  }
  return [
    {
      name: 'gateway: start to ready',
      measured: { unit: 's', rounds: ready },
      goal: { at: 'most', bound: 2 },
    },
    {
      name: 'gateway: resident memory when ready',
      measured: { unit: 'MB', rounds: memory },
      goal: { at: 'most', bound: 300 },
    },
  ];
}
