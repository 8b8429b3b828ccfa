/** What the bench of editions measures: all of Gapminder, and nights that revise one per cent of its indicators. */
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { UpstreamChanges } from '../nights/upstream-changes.ts';
import { readCatalogue, showSnapshot } from '../shown-snapshot.ts';
import { type Environment, runNode } from './processes.ts';
import type { Session } from './session.ts';

const NIGHTS = 3;
/** One per cent of Gapminder's files; less than half of them are published. */
const REVISED_FILES = 5;
const SEED = 17;

export interface Built {
  storage: SnapshotStorage;
  settings: Environment;
  /** Newest last. */
  editions: string[];
  /** Milliseconds of the steps of each build. */
  steps: Record<string, number>[];
  catalogue: Awaited<ReturnType<typeof readCatalogue>>;
}

/** A first build, and nights that revise some indicators each. */
export async function buildNights(
  { dir: home, settings: common, say }: Session,
  mirror: string,
): Promise<Built> {
  const dir = join(home, 'editions');
  const copy = join(dir, 'mirror');
  await mkdir(copy, { recursive: true });
  await cp(join(mirror, 'gapminder'), join(copy, 'gapminder'), { recursive: true });
  const settings = { ...common, VAR_DIR: dir, SNAPSHOT_DIR: join(dir, 'snapshots'), PROVIDER_MIRROR: copy };
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  const changes = new UpstreamChanges(copy, SEED);
  const steps: Record<string, number>[] = [];
  for (let night = 0; night <= NIGHTS; night += 1) {
    say(`editions: night ${night}`);
    if (night > 0) await changes.revise({ files: REVISED_FILES, figures: 100 }, Date.now());
    await runNode('build/main.ts', ['ingest', '--provider', 'gapminder', '--json'], settings);
    const { stdout } = await runNode('build/main.ts', ['materialise', '--json'], settings);
    steps.push(JSON.parse(stdout).steps_ms);
  }
  const editions = await storage.ids();
  const catalogue = await readCatalogue(await showSnapshot(storage.directory));
  return { storage, settings, editions, steps, catalogue };
}
