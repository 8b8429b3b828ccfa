/**
 * Ingests and builds, or backfills, in its own process, for tests that kill it. Prints a line per step. Given a line
 * number, it kills itself at that line; given the beginning of a path, just before a file is renamed or linked to it.
 */
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { pino } from 'pino';
import { findConnector } from '../../build/connectors/registry.ts';
import { backfill } from '../../build/editions/backfill.ts';
import { buildSnapshot } from '../../build/editions/build-snapshot.ts';
import { ingestProvider } from '../../build/ingest/ingest-provider.ts';
import { loadCurated } from '../../data/curated/curated.ts';

const [, , task = '', directory = '', instant = '', killAt = '', killBefore = ''] = process.argv;
let line = 0;
function print(text: string): void {
  line += 1;
  if (String(line) === killAt) process.kill(process.pid, 'SIGKILL');
  process.stdout.write(`${line} ${text}\n`);
}

if (killBefore !== '') {
  const { rename, link } = fs;
  const killedBefore =
    (move: typeof rename): typeof rename =>
    async (from, to) => {
      if (String(to).startsWith(`${directory}/${killBefore}`)) process.kill(process.pid, 'SIGKILL');
      await move(from, to);
    };
  fs.rename = killedBefore(rename);
  fs.link = killedBefore(link);
  syncBuiltinESMExports();
}

const dependencies = {
  settings: {
    LAKE_DIR: `${directory}/lake`,
    LAKE_KEEP: 3,
    CURATED_DIR: `${directory}/data`,
    PROVIDER_MIRROR: `${directory}/mirror`,
    SNAPSHOT_DIR: `${directory}/snapshots`,
    SNAPSHOT_KEEP: 3,
    SIGNING_DIR: `${directory}/signing`,
  },
  curated: await loadCurated(`${directory}/data`),
  findConnector,
  now: () => Number(instant),
  log: pino({ level: 'trace' }, { write: (line: string) => print(line.trimEnd()) }),
  observer: {
    onRun: ({ status }: { status: string }) => print(`run ${status}`),
    onProgress: ({ task, step, done }: { task: string; step: string; done: number }) =>
      print(`${task} ${step} ${done}`),
  },
};
if (task === 'backfill') await backfill(dependencies);
else {
  await ingestProvider(dependencies, 'atlas');
  await buildSnapshot(dependencies);
}
print('done');
