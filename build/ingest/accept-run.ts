/** Accepts a held run on an operator's decision. */
import { link, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { acquireLock } from '../../data/runtime/file-lock.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import {
  changedSeries,
  type LakeRun,
  OBSERVATIONS,
  ProviderLake,
  REVISIONS,
  RUN_DATA,
  writeRevisions,
} from '../lake/lake.ts';
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
      const present = await readdir(held.directory);
      for (const name of RUN_DATA.filter((one) => one !== REVISIONS && present.includes(one))) {
        await link(join(held.directory, name), join(directory, name));
      }
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
  await lake.rememberVanished(
    directory,
    base && !base.record.starter ? await lake.knownSeries(base) : {},
    series,
  );
  if (!base) return { base_run: null };
  const changed = changedSeries(await lake.series(base), series);
  const revisions = await writeRevisions({
    lake,
    base,
    changed,
    current: join(directory, OBSERVATIONS),
    file: join(directory, REVISIONS),
  });
  return { base_run: base.record.run_id, revisions };
}
