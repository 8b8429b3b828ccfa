/** Part of the bench: the nightly run over all providers. */

import { join } from 'node:path';
import { mirrorDirectory } from '../mirror.ts';
import { type Run, runNode } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';

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
    { name: NIGHTLY, measured: seconds(first), goal: { at: 'most', bound: 75 } },
    { name: `${NIGHTLY}, nothing new upstream`, measured: seconds(second), goal: { at: 'most', bound: 30 } },
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
