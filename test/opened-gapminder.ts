/**
 * A snapshot of all of Gapminder, series of withholding collectors included, so that every figure can be compared with
 * its file. Built from the lake of the shared build, with curated data that decide to publish each of them: those
 * withheld for their quality, too.
 */
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildSnapshot } from '../build/editions/build-snapshot.ts';
import { loadCurated } from '../data/curated/curated.ts';
import { DATA } from './build/world.ts';
import { silentLog } from './redis.ts';
import type { SharedBuild } from './shared-builds.ts';

const DECISION = `
rules:
  - slug: .*
    set: { redistributable: true, access_tier: open, licence_reason: For a comparison with the files. }
`;

/** @param root a directory of the caller. @returns the directory of snapshots. */
export async function buildOpenedGapminder({ lake }: SharedBuild, root: string): Promise<string> {
  const curatedDir = join(root, 'data');
  await cp(DATA, curatedDir, { recursive: true });
  const file = join(curatedDir, 'providers', 'gapminder.yaml');
  await writeFile(file, (await readFile(file, 'utf8')) + DECISION);
  const decisions = join(curatedDir, 'quality-decisions.csv');
  const [header = ''] = (await readFile(decisions, 'utf8')).split('\n', 1);
  await writeFile(decisions, `${header}\n`);
  await mkdir(join(root, 'lake'));
  await symlink(join(lake, 'gapminder'), join(root, 'lake', 'gapminder'));
  const snapshots = join(root, 'snapshots');
  await buildSnapshot({
    settings: {
      LAKE_DIR: join(root, 'lake'),
      SNAPSHOT_DIR: snapshots,
      SNAPSHOT_KEEP: 1,
      SIGNING_DIR: join(root, 'signing'),
    },
    curated: await loadCurated(curatedDir),
    now: Date.now,
    log: silentLog,
  });
  return snapshots;
}
