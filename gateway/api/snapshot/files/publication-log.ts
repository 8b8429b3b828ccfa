/** The log of all editions. It is read again when the file changed. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type LogEntry, PUBLICATION_LOG, publicationLog } from '../../../../data/schema/snapshot.ts';

export class PublicationLogFile {
  readonly #path: string;
  #entries: readonly LogEntry[] = [];
  #stamp = '';
  #error: Error | null = null;

  /** @param directory of the snapshots. */
  constructor(directory: string) {
    this.#path = join(directory, PUBLICATION_LOG);
  }

  /** In the order in which they were added. Those read last while the file cannot be read. */
  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  /** Why the file could not be read last time; null if it could. */
  get error(): Error | null {
    return this.#error;
  }

  /** Reads the file if it changed. Never rejects. */
  async check(): Promise<void> {
    try {
      const { size, mtimeMs, ino } = await stat(this.#path);
      const stamp = `${size} ${mtimeMs} ${ino}`;
      if (stamp === this.#stamp) return;
      this.#entries = publicationLog.parse(JSON.parse(await readFile(this.#path, 'utf8'))).editions;
      this.#stamp = stamp;
      this.#error = null;
    } catch (error) {
      this.#stamp = '';
      this.#error = error instanceof Error ? error : new Error(String(error));
    }
  }
}
