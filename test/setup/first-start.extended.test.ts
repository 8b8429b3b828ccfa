/** The first `npm start` on a machine: no snapshot, no mirror and, where the machine permits it, no network. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { directoryOfTest } from '../after-tests.ts';
import { showSnapshot } from '../shown-snapshot.ts';
import { readStarterManifest } from '../starter-manifest.ts';

const SETUP = join(import.meta.dirname, '../../build/setup.mjs');
const NO_NETWORK = ['unshare', '--net'];

it('publishes the starter data', async () => {
  const directory = await directoryOfTest();
  const isolated = spawnSync('env', [...NO_NETWORK, 'true']).status === 0 ? NO_NETWORK : [];
  const unset = ['PROVIDER_MIRROR', 'SNAPSHOT_DIR', 'LAKE_DIR'].flatMap((name) => ['-u', name]);
  const settings = [`VAR_DIR=${directory}`, 'REDIS_URL=redis://127.0.0.1:1'];
  const words = [...unset, ...settings, ...isolated, process.execPath, SETUP, 'start'];
  const { status, stderr } = spawnSync('env', words, { encoding: 'utf8' });
  expect(stderr).toContain('setup: publishing the starter data');
  expect(status).toBe(0);
  const { counts } = (await showSnapshot(join(directory, 'snapshots'))).manifest;
  expect(counts).toMatchObject({ providers: 5, indicators: readStarterManifest().length });
});
