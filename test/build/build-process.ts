/**
 * Ingests and builds in a process of its own, for the test that kills it. Says a line for every step it takes; told a
 * number, it kills itself at that line, so that each moment is met exactly.
 */
import { pino } from 'pino';
import { findConnector } from '../../build/connectors/registry.ts';
import { buildSnapshot } from '../../build/editions/build-snapshot.ts';
import { ingestProvider } from '../../build/ingest/ingest-provider.ts';
import { loadCurated } from '../../data/curated/curated.ts';

const [, , directory = '', instant = '', killAt = ''] = process.argv;
let line = 0;
function say(what: string): void {
  line += 1;
  if (String(line) === killAt) process.kill(process.pid, 'SIGKILL');
  process.stdout.write(`${line} ${what}\n`);
}

const dependencies = {
  settings: {
    LAKE_DIR: `${directory}/lake`,
    LAKE_KEEP: 3,
    CURATED_DIR: `${directory}/data`,
    PROVIDER_MIRROR: `${directory}/mirror`,
    SNAPSHOT_DIR: `${directory}/snapshots`,
    SNAPSHOT_KEEP: 3,
  },
  curated: await loadCurated(`${directory}/data`),
  findConnector,
  now: () => Number(instant),
  log: pino({ level: 'trace' }, { write: (line: string) => say(line.trimEnd()) }),
  observer: {
    onRun: ({ status }: { status: string }) => say(`run ${status}`),
    onProgress: ({ task, step, done }: { task: string; step: string; done: number }) =>
      say(`${task} ${step} ${done}`),
  },
};
await ingestProvider(dependencies, 'atlas');
await buildSnapshot(dependencies);
say('done');
