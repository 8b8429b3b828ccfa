/** Rows of a night over all providers of the mirror: the first one, one that finds nothing new, and each connector. */
import { join } from 'node:path';
import { loadCurated } from '../../data/curated/curated.ts';
import { mirrorDirectory } from '../mirror.ts';
import { type Run, runNode } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';

interface Summary {
  providers: { provider: string; outcome: string; rows: number; seconds: number }[];
}

const NAME = 'night over all providers';

export async function nightRows({ dir: home, settings, say }: Session): Promise<(Row | Skipped)[]> {
  // A lake and snapshots of its own: the other parts go on serving what they served.
  const dir = join(home, 'night');
  const mirror = mirrorDirectory();
  if (mirror === null) return [{ name: NAME, skipped: 'no provider mirror' }];
  const own = { ...settings, VAR_DIR: dir, SNAPSHOT_DIR: join(dir, 'snapshots'), PROVIDER_MIRROR: mirror };
  const night = (): Promise<Run> => runNode('build/main.ts', ['nightly', '--all', '--json'], own);
  say('a night over all providers');
  const first = await night();
  say('a night that finds nothing new');
  const second = await night();
  const rows: Row[] = [
    { name: NAME, measured: seconds(first), goal: { at: 'most', bound: 240 } },
    { name: `${NAME}, nothing new upstream`, measured: seconds(second), goal: { at: 'most', bound: 30 } },
    ...(await connectorRows(JSON.parse(first.stdout))),
  ];
  if (first.peak_mb !== null) {
    const measured = { unit: 'MB' as const, rounds: [first.peak_mb] };
    rows.push({ name: `${NAME}: peak memory`, measured, goal: { at: 'most', bound: 2000 } });
  }
  return rows;
}

const seconds = ({ duration_ms }: Run): Row['measured'] => ({ unit: 's', rounds: [duration_ms / 1000] });

/** Rows a second by the connector that read them; two providers are read side by side on two cores. */
async function connectorRows({ providers }: Summary): Promise<Row[]> {
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
