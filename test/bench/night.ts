/** Part of the bench: the nightly run over all providers. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CURRENT_POINTER } from '../../data/schema/snapshot.ts';
import { mirrorDirectory } from '../mirror.ts';
import { type Run, runNode } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';

const NIGHTLY = 'nightly run over all providers';

interface Night {
  snapshots: string;
  run: () => Promise<Run>;
}

/** Separate from the lake and snapshots that other parts serve; null without a provider mirror. */
function nightOf({ dir: home, settings }: Session): Night | null {
  const dir = join(home, 'night');
  const mirror = mirrorDirectory();
  if (mirror === null) return null;
  const snapshots = join(dir, 'snapshots');
  const own = { ...settings, VAR_DIR: dir, SNAPSHOT_DIR: snapshots, PROVIDER_MIRROR: mirror };
  return { snapshots, run: () => runNode('build/main.ts', ['nightly', '--all', '--json'], own) };
}

/** The snapshots of a nightly run over all providers, made on demand; undefined without a provider mirror. */
export async function publishedNight(session: Session): Promise<string | undefined> {
  const night = nightOf(session);
  if (night !== null && !existsSync(join(night.snapshots, CURRENT_POINTER))) await night.run();
  return night?.snapshots;
}

export async function nightlyRows(session: Session): Promise<(Row | Skipped)[]> {
  const night = nightOf(session);
  if (night === null) return [{ name: NIGHTLY, skipped: 'no provider mirror' }];
  const { say } = session;
  say('a nightly run over all providers');
  const first = await night.run();
  say('a night that finds nothing new');
  const second = await night.run();
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
