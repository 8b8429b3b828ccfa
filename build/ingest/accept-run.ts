/** Accepts a held run on an operator's decision. */
import { rm } from 'node:fs/promises';
import { acquireLock } from '../../data/runtime/file-lock.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { changedSeries, type LakeRun, ProviderLake, writeRevisions } from '../lake/lake.ts';
import { CommandError } from '../runtime/errors.ts';
import type { IngestDependencies } from './ingest-provider.ts';

/**
 * Accepts a held run: a new run with its data becomes current. The held run stays unchanged.
 * @throws {CommandError} when the run is not held; {LockHeldError} when the provider is being ingested.
 */
export async function acceptRun(
  dependencies: Pick<IngestDependencies, 'settings' | 'now' | 'observer'>,
  providerId: string,
  runId: string,
  waitAtMost_ms = 0,
): Promise<RunRecord> {
  const lake = new ProviderLake(dependencies.settings.LAKE_DIR, providerId);
  const lock = await acquireLock(lake.lockFile, `provider ${providerId}`, { wait_ms: waitAtMost_ms });
  try {
    const held = await lake.run(runId).catch(() => {
      throw new CommandError(`${providerId} has no run ${runId}`);
    });
    if (held.record.status !== 'suspicious')
      throw new CommandError(`run ${runId} is ${held.record.status}, not held`);
    const { id, directory } = await lake.begin(dependencies.now());
    const instant = formatTimestamp(dependencies.now());
    const { revisions: _, sources, ...rest } = held.record;
    const started: RunRecord = {
      ...rest,
      run_id: id,
      status: 'succeeded',
      started_at: instant,
      finished_at: instant,
      reason: `Accepted by an operator. ${held.record.reason ?? ''}`.trim(),
      accepted_run: runId,
      ...(sources ? { sources: { ...sources, run_id: id } } : {}),
    };
    let record = started;
    try {
      await lake.linkData(held, directory);
      record = { ...started, ...(await revise(lake, held, directory)) };
      lock.signal.throwIfAborted();
      await lake.finish(directory, record);
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
    dependencies.observer?.onRun?.(record);
    return record;
  } finally {
    await lock.release();
  }
}

/** Compares the accepted rows with the current run, which may be newer than the one that the held run was compared with. */
async function revise(
  lake: ProviderLake,
  held: LakeRun,
  directory: string,
): Promise<Pick<RunRecord, 'base_run' | 'revisions'>> {
  const base = await lake.current();
  const series = await lake.series(held);
  await lake.rememberVanished(directory, base, series);
  if (!base) return { base_run: null };
  const changed = changedSeries(await lake.series(base), series);
  const revisions = await writeRevisions(lake, base, directory, changed);
  return { base_run: base.record.run_id, revisions };
}
