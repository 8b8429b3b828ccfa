/** Parts of the bench: the build, step by step, and the gateway's start. */
import { type Run, startGateway } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import { buildSnapshot, type Session } from './session.ts';

const STARTS = 5;
const BUILD_AT_MOST_S = 45;
const BUILD_AT_MOST_MB = 1500;

interface Summary {
  counts: { observations: number };
  steps_ms: Record<string, number>;
}

export async function buildRows(session: Session): Promise<(Row | Skipped)[]> {
  const builds = await buildSnapshot(session);
  if (builds === null) return [{ name: 'build of all Gapminder', skipped: 'no provider mirror' }];
  const { ingest, materialise } = builds;
  const { counts, steps_ms }: Summary = JSON.parse(materialise.stdout);
  const seconds = (ms: number): Row['measured'] => ({ unit: 's', rounds: [ms / 1000] });
  const perSecond = (ms: number): string =>
    `${Math.round(counts.observations / (ms / 1000)).toLocaleString('en')} rows/s`;
  const step = (name: string, { duration_ms }: Run): Row => ({
    name: `Gapminder: ${name}`,
    measured: seconds(duration_ms),
    note: perSecond(duration_ms),
  });
  const whole_ms = ingest.duration_ms + materialise.duration_ms;
  const rows: Row[] = [
    step('ingest', ingest),
    step('materialise to publish', materialise),
    ...Object.entries(steps_ms).map(
      ([name, ms]): Row => ({
        name: `Gapminder: … ${name}`,
        measured: seconds(ms),
        note: perSecond(Math.max(1, ms)),
      }),
    ),
    {
      name: 'Gapminder: whole build',
      measured: seconds(whole_ms),
      goal: { at: 'most', bound: BUILD_AT_MOST_S },
      note: `${counts.observations.toLocaleString('en')} rows, ${perSecond(whole_ms)}`,
    },
  ];
  for (const [name, { peak_mb }] of Object.entries(builds)) {
    if (peak_mb === null) continue;
    rows.push({
      name: `Gapminder: peak memory, ${name}`,
      measured: { unit: 'MB', rounds: [peak_mb] },
      goal: { at: 'most', bound: BUILD_AT_MOST_MB },
    });
  }
  return rows;
}

/** Starts several times; the time of the first counts like the others, since files are in the page cache. */
export async function startRows(session: Session): Promise<Row[]> {
  await session.snapshot();
  session.say('starting the gateway');
  const ready: number[] = [];
  const memory: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    await using gateway = await startGateway(session.settings);
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
