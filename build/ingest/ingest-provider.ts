/**
 * One provider, one run: from upstream to a run directory in the lake.
 *
 * Guarantees: never two runs of a provider at once; every run leaves a record, whatever became of it; only a run that
 * succeeded becomes current, in one atomic step; an unchanged upstream costs no more than asking; a series that could
 * not be read this time keeps its last good rows; a crash leaves nothing that the next run does not put right.
 */
import type { Logger } from 'pino';
import type { Curated } from '../../data/curated.ts';
import { takeLock } from '../../data/runtime/file-lock.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import type { Connector } from '../connectors/connector.ts';
import { ProviderLake } from '../lake/lake.ts';
import type { BuildObserver } from '../runtime/progress.ts';
import type { UpstreamOptions } from '../upstream/open-upstream.ts';
import { ProviderRun } from './provider-run.ts';

export interface IngestDependencies {
  settings: Pick<Settings, 'LAKE_DIR' | 'LAKE_KEEP' | 'CURATED_DIR' | 'PROVIDER_MIRROR'>;
  curated: Curated;
  findConnector: (protocol: string) => Connector;
  now: () => number;
  log: Logger;
  observer?: BuildObserver;
  /** Ends every run. */
  signal?: AbortSignal;
  /** Ends the run of one provider. */
  signalFor?: (providerId: string) => AbortSignal;
  upstream?: UpstreamOptions;
}

export interface IngestOptions {
  /** Reads everything again even when nothing has changed. */
  force?: boolean;
}

/**
 * Ingests one provider.
 * @returns the record of the run: `succeeded`, `unchanged`, `suspicious`, `failed` or `cancelled`.
 * @throws {LockHeld} when the provider is being ingested already; {RangeError} when there is no such provider.
 */
export async function ingestProvider(
  dependencies: IngestDependencies,
  providerId: string,
  options: IngestOptions = {},
): Promise<RunRecord> {
  const definition = dependencies.curated.providers.get(providerId);
  if (!definition) throw new RangeError(`there is no provider "${providerId}"`);
  const lake = new ProviderLake(dependencies.settings.LAKE_DIR, providerId);
  const lock = await takeLock(lake.lockFile, `provider ${providerId}`);
  try {
    for (const broken of await lake.recover(dependencies.now())) dependencies.observer?.onRun?.(broken);
    const record = await new ProviderRun(dependencies, definition, lake).run(options.force ?? false);
    await lake.prune(dependencies.settings.LAKE_KEEP);
    return record;
  } finally {
    await lock.release();
  }
}
