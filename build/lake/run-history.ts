/**
 * What the lake keeps of runs for ever, after LAKE_KEEP has removed them: `history/<run id>/` of a provider, with the
 * record, the revisions and the list of upstream files. Hidden names are unfinished.
 */
import { link, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from '../../data/runtime/durable-files.ts';
import type { RunRecord } from '../../data/schema/lake.ts';

/** The directory beside the runs. */
export const HISTORY = 'history';
const DRAFT = '.draft-';

export class RunHistory {
  readonly directory: string;

  /** @param lakeDirectory the directory of one provider */
  constructor(lakeDirectory: string) {
    this.directory = join(lakeDirectory, HISTORY);
  }

  /** Ids of the runs, oldest first. */
  async runIds(): Promise<string[]> {
    const names = await readdir(this.directory).catch(() => []);
    return names.filter((name) => !name.startsWith('.')).sort();
  }

  /** Whether anything stays of a run: neither a failed nor a cancelled one added to the lake. */
  static includes({ status }: Pick<RunRecord, 'status'>): boolean {
    return ['succeeded', 'suspicious', 'unchanged'].includes(status);
  }

  /** Takes files of a run over by hard links; they become visible together. Repeating it changes nothing. */
  async keep(runDirectory: string, runId: string, files: readonly string[]): Promise<void> {
    if ((await this.runIds()).includes(runId)) return;
    const draft = join(this.directory, DRAFT + runId);
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { recursive: true });
    const present = await readdir(runDirectory);
    for (const name of files.filter((one) => present.includes(one))) {
      await link(join(runDirectory, name), join(draft, name));
    }
    await syncDirectory(draft);
    await rename(draft, join(this.directory, runId));
    await syncDirectory(this.directory);
  }
}
