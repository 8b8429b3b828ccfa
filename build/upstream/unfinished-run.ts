/**
 * What a run that was broken off had fetched already, so that paging goes on where it was instead of at page one.
 *
 * A file beside the copies says when the unfinished run began: it appears with the first fetch and goes when the run
 * comes to an end of its own, good or bad. A crash or a cancellation leaves it, and for an hour the next run takes the
 * copies made since as they are; pages of different hours are never mixed.
 */
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const MARK = '.unfinished';
const RESUMABLE_MS = 3_600_000;

export class UnfinishedRun {
  readonly #directory: string;
  readonly #now: () => number;
  #since: Promise<number | null> | null = null;

  constructor(directory: string, now: () => number) {
    this.#directory = directory;
    this.#now = now;
  }

  /** Whether a copy is of the run that this one continues. */
  async holds(copy: string): Promise<boolean> {
    this.#since ??= this.#begin();
    const since = await this.#since;
    if (since === null) return false;
    const made = await stat(copy).catch(() => null);
    return made !== null && made.mtimeMs >= since;
  }

  /**
   * When the run that is continued began, by the clock of the file system: it runs some milliseconds behind ours, and
   * copies are dated by it. Null when this run begins anew.
   */
  async #begin(): Promise<number | null> {
    const mark = join(this.#directory, MARK);
    const since = Number(await readFile(mark, 'utf8').catch(() => 'NaN'));
    if (this.#now() - since < RESUMABLE_MS) return (await stat(mark)).mtimeMs;
    await mkdir(this.#directory, { recursive: true });
    await writeFile(mark, String(this.#now()));
    return null;
  }

  /** The run came to its end: nothing is left to go on with. */
  async end(): Promise<void> {
    await rm(join(this.#directory, MARK), { force: true });
  }
}
