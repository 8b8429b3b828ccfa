/**
 * Turns rows that arrive mixed into rows series by series.
 *
 * A wide table holds one value of every series in each row, an SDMX answer is ordered by country: in both the series
 * are interleaved, while ingestion takes one series after the other. The spool keeps rows in memory up to a limit and
 * beyond it moves them to files of a temporary directory, so that memory stays bounded however large the file is.
 * Within a series the order of arrival is kept.
 */
import { createReadStream } from 'node:fs';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** About 60 MB of rows. */
const ROWS_IN_MEMORY = 250_000;
const ROWS_PER_BATCH = 5_000;

export class SeriesSpool<Row> {
  readonly #limit: number;
  readonly #place: string;
  readonly #series = new Map<string, { rows: Row[]; file: string | null }>();
  #held = 0;
  #directory: string | null = null;

  /** @param place where its temporary directory is made */
  constructor(rowsInMemory = ROWS_IN_MEMORY, place = tmpdir()) {
    this.#limit = rowsInMemory;
    this.#place = place;
  }

  /** The series in order of first arrival. */
  keys(): string[] {
    return [...this.#series.keys()];
  }

  add(key: string, row: Row): void {
    const series = this.#series.get(key);
    if (series) series.rows.push(row);
    else this.#series.set(key, { rows: [row], file: null });
    this.#held += 1;
  }

  /** Moves everything to disk once the limit is passed. To be awaited after each batch of `add`. */
  async spill(): Promise<void> {
    if (this.#held <= this.#limit) return;
    this.#directory ??= await mkdtemp(join(this.#place, 'almanac-spool-'));
    let number = 0;
    for (const series of this.#series.values()) {
      series.file ??= join(this.#directory, `${number}.jsonl`);
      number += 1;
      if (series.rows.length === 0) continue;
      const lines = batchesOf(series.rows).map((rows) => `${JSON.stringify(rows)}\n`);
      await appendFile(series.file, lines.join(''));
      series.rows = [];
    }
    this.#held = 0;
  }

  /** The rows of one series in order of arrival, in batches. Can be read again until `close`. */
  async *read(key: string): AsyncGenerator<Row[], void, undefined> {
    const series = this.#series.get(key);
    if (!series) return;
    if (series.file) {
      for await (const line of createInterface({ input: createReadStream(series.file) })) {
        yield JSON.parse(line) as Row[];
      }
    }
    yield* batchesOf(series.rows);
  }

  async close(): Promise<void> {
    this.#series.clear();
    if (this.#directory) await rm(this.#directory, { recursive: true, force: true });
    this.#directory = null;
  }
}

function batchesOf<Row>(rows: Row[]): Row[][] {
  const batches: Row[][] = [];
  for (let at = 0; at < rows.length; at += ROWS_PER_BATCH) batches.push(rows.slice(at, at + ROWS_PER_BATCH));
  return batches;
}
