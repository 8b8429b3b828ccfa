/** Parts of the bench: the build of Gapminder by steps, and the nightly run over all providers. */

import { join } from 'node:path';
import { loadCurated } from '../../data/curated/curated.ts';
import { mirrorDirectory } from '../mirror.ts';
import { type Run, runNode } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import { buildSnapshot, type Session } from './session.ts';

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
  const perSecond = (ms: number): string =>
    `${Math.round(counts.observations / (ms / 1000)).toLocaleString('en')} rows/s`;
  const step = (name: string, { duration_ms }: Run): Row => ({
    name: `Gapminder: ${name}`,
    measured: seconds({ duration_ms }),
    note: perSecond(duration_ms),
  });
  const whole_ms = ingest.duration_ms + materialise.duration_ms;
  const rows: Row[] = [
    step('ingest', ingest),
    step('materialise to publish', materialise),
    ...Object.entries(steps_ms).map(
      ([name, ms]): Row => ({
        name: `Gapminder: … ${name}`,
        measured: seconds({ duration_ms: ms }),
        note: perSecond(Math.max(1, ms)),
      }),
    ),
    {
      name: 'Gapminder: whole build',
      measured: seconds({ duration_ms: whole_ms }),
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

interface NightlySummary {
  providers: { provider: string; outcome: string; rows: number; seconds: number }[];
}

const NIGHTLY = 'nightly run over all providers';

export async function nightlyRows({ dir: home, settings, say }: Session): Promise<(Row | Skipped)[]> {
  // Separate from the lake and snapshots that other parts serve.
  const dir = join(home, 'night');
  const mirror = mirrorDirectory();
  if (mirror === null) return [{ name: NIGHTLY, skipped: 'no provider mirror' }];
  const own = { ...settings, VAR_DIR: dir, SNAPSHOT_DIR: join(dir, 'snapshots'), PROVIDER_MIRROR: mirror };
  const night = (): Promise<Run> => runNode('build/main.ts', ['nightly', '--all', '--json'], own);
  say('a nightly run over all providers');
  const first = await night();
  say('a night that finds nothing new');
  const second = await night();
  const rows: Row[] = [
    { name: NIGHTLY, measured: seconds(first), goal: { at: 'most', bound: 240 } },
    { name: `${NIGHTLY}, nothing new upstream`, measured: seconds(second), goal: { at: 'most', bound: 30 } },
    ...(await connectorRows(JSON.parse(first.stdout))),
  ];
  if (first.peak_mb !== null) {
    const measured = { unit: 'MB' as const, rounds: [first.peak_mb] };
    rows.push({ name: `${NIGHTLY}: peak memory`, measured, goal: { at: 'most', bound: 2000 } });
  }
  return rows;
}

const seconds = ({ duration_ms }: Pick<Run, 'duration_ms'>): Row['measured'] => ({
  unit: 's',
  rounds: [duration_ms / 1000],
});

/** Rows per second of each connector. Providers are ingested in parallel. */
async function connectorRows({ providers }: NightlySummary): Promise<Row[]> {
  const { providers: definitions } = await loadCurated('data');
  const connectorOf = (id: string): string => {
    const definition = definitions.get(id);
    const own = typeof definition?.mirror === 'object' ? definition.mirror.connector : undefined;
    return own ?? definition?.connector ?? id;
  };
  const read = providers.filter(({ outcome }) => outcome === 'succeeded');
  return [...Map.groupBy(read, ({ provider }) => connectorOf(provider))].map(([connector, runs]) => {
    const total = (what: 'rows' | 'seconds'): number => runs.reduce((sum, run) => sum + run[what], 0);
    return {
      name: `ingest by ${connector}`,
      measured: { unit: 'rows/s', rounds: [total('rows') / total('seconds')] },
      note: runs.map(({ provider }) => provider).join(', '),
    };
  });
}
