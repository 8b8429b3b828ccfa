/** Recovers runs after a crash: when a worker starts, and when a job was lost with its worker. */
import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import { loadCurated } from '../../data/curated/curated.ts';
import { acquireLock, LockHeldError } from '../../data/runtime/file-lock.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { ProviderLake } from '../lake/lake.ts';
import type { RunReporter } from './run-reporter.ts';

/** Records interrupted runs as failed, and reports to Redis the runs that it does not know. */
export async function recoverRuns(
  settings: Pick<Settings, 'LAKE_DIR' | 'CURATED_DIR'>,
  reporter: RunReporter,
  now: () => number,
  log: Logger,
): Promise<void> {
  const curated = await loadCurated(settings.CURATED_DIR);
  for (const id of curated.providers.keys()) {
    const lake = new ProviderLake(settings.LAKE_DIR, id);
    if (!existsSync(lake.directory)) continue;
    try {
      const lock = await acquireLock(lake.lockFile, `provider ${id}`);
      await lake.recover(now()).finally(() => lock.release());
    } catch (error) {
      // A held lock means that the run is alive.
      if (!(error instanceof LockHeldError))
        log.error({ err: error, provider: id }, 'runs cannot be recovered');
    }
    await reporter.backfill(await lake.records());
  }
}
