/** Sequences of editions: writes observation files, compares each edition with the one before, and replays revisions. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  compareEditions,
  type EarlierFiles,
  type ObservationFile,
} from '../../../build/editions/compare/compare-editions.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import { hashFile } from '../../../data/runtime/durable-files.ts';
import { type EditionChanges, OBSERVATION_COLUMNS } from '../../../data/schema/snapshot.ts';
import { query } from '../parquet-readers.ts';

export interface Figure {
  value: number | null;
  ci_lo: number | null;
  ci_hi: number | null;
  status: string | null;
  projected: boolean;
  rank: number | null;
}
/** Figures by `iso3 year`. */
export type Series = Map<string, Figure>;
/** Series by indicator id. */
export type Edition = Map<string, Series>;
/** New ids by old id. */
export type Renames = Map<string, string>;

export const figure = (value: number | null, more: Partial<Figure> = {}): Figure => ({
  value,
  ci_lo: null,
  ci_hi: null,
  status: null,
  projected: false,
  rank: null,
  ...more,
});

/** What a revision is about: everything of a figure but its rank. */
const FIELDS = ['value', 'ci_lo', 'ci_hi', 'status', 'projected'] as const;

/** The figures of a series without gaps and ranks, for comparison. */
export const figuresOf = (series: Series | undefined) =>
  new Map(
    [...(series ?? [])]
      .filter(([, { value }]) => value !== null)
      .map(([key, { rank: _, ...one }]) => [key, one] as const),
  );

interface WrittenEdition {
  files: Map<string, ObservationFile>;
  changes: Omit<EditionChanges, 'redefined'> | null;
}

export interface Revision extends Record<string, unknown> {
  iso3: string;
  year: number;
  kind: string;
}

const literal = (value: unknown): string =>
  value === null ? 'NULL' : typeof value === 'string' ? `'${value}'` : String(value);

export class EditionSequence {
  readonly directory: string;
  readonly written: WrittenEdition[] = [];
  readonly #duck: DuckSession;

  private constructor(directory: string, duck: DuckSession) {
    this.directory = directory;
    this.#duck = duck;
  }

  static async create(): Promise<EditionSequence> {
    const directory = await mkdtemp(join(tmpdir(), 'alm-editions-'));
    const duck = await DuckSession.open({ scratch: join(directory, 'scratch') });
    return new EditionSequence(directory, duck);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duck.close();
    await rm(this.directory, { recursive: true });
  }

  /** Writes an edition and compares it with the one before. */
  async add(
    edition: Edition,
    renames: Renames = new Map(),
  ): Promise<Omit<EditionChanges, 'redefined'> | null> {
    const directory = join(this.directory, String(this.written.length));
    await mkdir(directory);
    const files = new Map<string, ObservationFile>();
    for (const [id, series] of edition) files.set(id, await writeSeries(join(directory, id), series));
    const base = this.written.at(-1)?.files;
    const earlier = (id: string) => this.#earlier(id, renames);
    const changes = base
      ? await compareEditions(this.#duck, { base, next: files, renames, earlier, directory })
      : null;
    this.written.push({ files, changes });
    return changes;
  }

  /** The files that tell what earlier editions withdrew. */
  async #earlier(id: string, renames: Renames): Promise<EarlierFiles> {
    const names = [id, ...[...renames].filter(([, to]) => to === id).map(([from]) => from)];
    const found: EarlierFiles = { revisions: [], observations: [] };
    for (const [at, { changes }] of this.written.entries()) {
      for (const name of names) {
        const file = this.#revisionFile(at, name);
        if (file !== null) found.revisions.push(file);
        const before = this.written[at - 1]?.files.get(name);
        if (changes?.withdrawn.includes(name) && before) found.observations.push(before.path);
      }
    }
    return found;
  }

  #revisionFile(at: number, id: string): string | null {
    const revised = this.written[at]?.changes?.revised[id];
    return revised ? join(this.directory, String(at), `revisions/${id}.parquet`) : null;
  }

  /** The revisions of one indicator in one edition. */
  async revisions(at: number, id: string): Promise<Revision[]> {
    const file = this.#revisionFile(at, id);
    return file === null ? [] : ((await query(`SELECT * FROM read_parquet('${file}')`)) as Revision[]);
  }

  async columns(at: number, id: string): Promise<Record<string, unknown>> {
    const rows = await query(`DESCRIBE SELECT * FROM read_parquet('${this.#revisionFile(at, id)}')`);
    return Object.fromEntries(rows.map((one) => [one.column_name, one.column_type]));
  }
}

async function writeSeries(file: string, series: Series): Promise<ObservationFile> {
  const names = Object.keys(OBSERVATION_COLUMNS);
  const cells = [...series]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, one]): string => {
      const [iso3, year] = key.split(' ');
      const row: Record<string, unknown> = { ...one, iso3, year: Number(year) };
      return `(${names.map((name) => literal(row[name] ?? null)).join()})`;
    });
  const typed = Object.entries(OBSERVATION_COLUMNS).map(([name, type]) => `${name}::${type} AS ${name}`);
  const rows = cells.length > 0 ? cells : [`(${names.map(() => 'NULL').join()})`];
  const where = cells.length > 0 ? '' : 'WHERE false';
  await query(
    `COPY (SELECT ${typed.join()} FROM (VALUES ${rows.join()}) AS t(${names.join()}) ${where})
     TO '${file}' (FORMAT parquet)`,
  );
  return { path: file, ...(await hashFile(file)) };
}

/** Checks that every revision follows from the series before it. @returns the series after them. */
export function replaySeries(before: Series, revisions: readonly Revision[]): Series {
  const after: Series = new Map([...before].filter(([, { value }]) => value !== null));
  for (const row of revisions) {
    const key = `${row.iso3} ${row.year}`;
    const side = (prefix: string): Figure | null =>
      row[`${prefix}_value`] === null
        ? null
        : (Object.fromEntries(FIELDS.map((name) => [name, row[`${prefix}_${name}`]])) as unknown as Figure);
    const had = after.get(key);
    const plain = (one: Figure | null | undefined) => (one ? FIELDS.map((name) => one[name]) : null);
    if (JSON.stringify(plain(had)) !== JSON.stringify(plain(side('old'))))
      throw new Error(`${key}: the revision does not follow from the series`);
    const now = side('new');
    if (now) after.set(key, now);
    else after.delete(key);
  }
  return after;
}
