/**
 * Regroups interleaved rows by series.
 *
 * A row of a wide table holds one value of each series, and an SDMX response is ordered by country, while ingestion takes
 * one series after the other. The spool buffers rows in memory up to a limit and beyond it in files of a temporary
 * directory, so that memory stays bounded. Within a series it keeps the order of arrival.
 */
import { createReadStream } from 'node:fs';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** About 60 MB of rows. */
const MAX_ROWS_IN_MEMORY = 250_000;
const ROWS_PER_BATCH = 5_000;

export class SeriesSpool<Row> {
  readonly #limit: number;
  readonly #parentDirectory: string;
  readonly #series = new Map<string, { rows: Row[]; file: string | null }>();
  #rowsInMemory = 0;
  #directory: string | null = null;

  /** @param parentDirectory where the temporary directory is created */
  constructor(rowsInMemory = MAX_ROWS_IN_MEMORY, parentDirectory = tmpdir()) {
    this.#limit = rowsInMemory;
    this.#parentDirectory = parentDirectory;
  }

  /** The series in order of first arrival. */
  keys(): string[] {
    return [...this.#series.keys()];
  }

  add(key: string, row: Row): void {
    const series = this.#series.get(key);
    if (series) series.rows.push(row);
    else this.#series.set(key, { rows: [row], file: null });
    this.#rowsInMemory += 1;
  }

  /** Writes the buffered rows to disk when they exceed the limit. Await it after each batch of `add`. */
  async spill(): Promise<void> {
    if (this.#rowsInMemory <= this.#limit) return;
    this.#directory ??= await mkdtemp(join(this.#parentDirectory, 'almanac-spool-'));
    let number = 0;
    for (const series of this.#series.values()) {
      series.file ??= join(this.#directory, `${number}.jsonl`);
      number += 1;
      if (series.rows.length === 0) continue;
      const lines = splitIntoBatches(series.rows).map((rows) => `${JSON.stringify(rows)}\n`);
      await appendFile(series.file, lines.join(''));
      series.rows = [];
    }
    this.#rowsInMemory = 0;
  }

  /** The rows of one series in batches. Can be read repeatedly. */
  async *read(key: string): AsyncGenerator<Row[], void, undefined> {
    const series = this.#series.get(key);
    if (!series) return;
    if (series.file) {
      for await (const line of createInterface({ input: createReadStream(series.file) })) {
        yield JSON.parse(line) as Row[];
      }
    }
    yield* splitIntoBatches(series.rows);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#series.clear();
    if (this.#directory) await rm(this.#directory, { recursive: true, force: true });
    this.#directory = null;
  }
}

function splitIntoBatches<Row>(rows: Row[]): Row[][] {
  const batches: Row[][] = [];
  for (let at = 0; at < rows.length; at += ROWS_PER_BATCH) batches.push(rows.slice(at, at + ROWS_PER_BATCH));
  return batches;
}
