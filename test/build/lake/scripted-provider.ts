/** A provider whose rows the test sets, and the replay of its history: nothing but the kept files is read. */
import { existsSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import type { Connector, RawObservation } from '../../../build/connectors/connector.ts';
import { acceptRun } from '../../../build/ingest/accept-run.ts';
import {
  type LakeRun,
  OBSERVATIONS,
  type ProviderLake,
  REVISIONS,
} from '../../../build/lake/provider-lake.ts';
import { REVISION_COLUMNS, type RunRecord } from '../../../data/schema/lake.ts';
import { query } from '../parquet-readers.ts';
import { plainEntry, World } from '../world.ts';

export const SLUGS = ['one', 'two', 'three'] as const;
export const PLACES = ['DEU', 'FRA', 'USA'] as const;
const FILE = 'data.json';

export interface LakeRow {
  value: number | null;
  ci_lo: number | null;
  ci_hi: number | null;
  projected: boolean | null;
  status: string | null;
}
/** Rows by `slug iso3 year`. */
export type Rows = Map<string, LakeRow>;

export const figure = (value: number | null, more: Partial<LakeRow> = {}): LakeRow => ({
  value,
  ci_lo: null,
  ci_hi: null,
  projected: null,
  status: null,
  ...more,
});

const rawRow = ([key, { projected, ...row }]: [string, LakeRow]): RawObservation => {
  const [, place = '', year = ''] = key.split(' ');
  return { place, year, ...row, ...(projected === null ? {} : { projected }) };
};

/** Reads what `publish` wrote. */
const connector: Connector<unknown> = {
  protocol: 'scripted',
  settings: z.unknown(),
  async *read({ upstream }) {
    const rows = JSON.parse(await upstream.text(FILE)) as [string, LakeRow][];
    const bySlug = Object.groupBy(rows, ([key]) => key.split(' ')[0] ?? '');
    for (const [slug, some = []] of Object.entries(bySlug)) {
      yield { kind: 'indicator', entry: plainEntry(slug) };
      yield { kind: 'observations', slug, rows: some.map(rawRow), files: [FILE] };
    }
  },
};

export class ScriptedProvider {
  readonly world: World;

  private constructor(world: World) {
    this.world = world;
  }

  static async create(): Promise<ScriptedProvider> {
    const gates = { max_row_drop: 0.5, max_country_drop: 1 };
    return new ScriptedProvider(await World.create({ atlas: { gates } }));
  }

  get lake(): ProviderLake {
    return this.world.lake('atlas');
  }

  async publish(rows: Rows): Promise<void> {
    await this.world.write(`mirror/atlas/${FILE}`, JSON.stringify([...rows]));
    const time = new Date(this.world.clock);
    await utimes(join(this.world.directory, 'mirror/atlas', FILE), time, time);
  }

  ingest(): Promise<RunRecord> {
    return this.world.ingest('atlas', { findConnector: () => connector });
  }

  /** A night: publishes, ingests, and lets a day pass. */
  async night(rows: Rows): Promise<RunRecord> {
    await this.publish(rows);
    const record = await this.ingest();
    this.world.tomorrow();
    return record;
  }

  async accept(runId: string): Promise<RunRecord> {
    const record = await acceptRun(await this.world.dependencies(), 'atlas', runId);
    this.world.tomorrow();
    return record;
  }
}

const keyOf = (row: Record<string, unknown>): string => `${row.indicator} ${row.iso3} ${row.year}`;

const rowOf = (row: Record<string, unknown>, prefix: 'new_' | ''): LakeRow =>
  Object.fromEntries(
    ['value', 'ci_lo', 'ci_hi', 'projected', 'status'].map((name) => [name, row[prefix + name]]),
  ) as unknown as LakeRow;

/** The rows of a run's `revisions.parquet`, in the documented columns; a run that changed nothing has none. */
async function revisionsOf({ directory }: LakeRun): Promise<Record<string, unknown>[]> {
  const file = join(directory, REVISIONS);
  if (!existsSync(file)) return [];
  const columns = await query(`DESCRIBE SELECT * FROM read_parquet('${file}')`);
  expect(Object.fromEntries(columns.map((one) => [one.column_name, one.column_type]))).toEqual(
    REVISION_COLUMNS,
  );
  return query(`SELECT * FROM read_parquet('${file}')`);
}

/** The rows of a run: its own if it is the first of its chain, else those of its base with its revisions. */
async function rowsAfter(run: LakeRun, base: Rows | undefined): Promise<Rows> {
  if (!base) {
    const all = await query(`SELECT * FROM read_parquet('${join(run.directory, OBSERVATIONS)}')`);
    return new Map(all.map((row) => [keyOf(row), rowOf(row, '')]));
  }
  const rows: Rows = new Map(base);
  for (const row of await revisionsOf(run)) {
    if (row.old_row !== rows.has(keyOf(row))) throw new Error(`${keyOf(row)} does not follow from the base`);
    if (row.new_row) rows.set(keyOf(row), rowOf(row, 'new_'));
    else rows.delete(keyOf(row));
  }
  return rows;
}

/** The rows of every good run of a lake, from the first one's rows and the revisions of the others. */
export async function replay(lake: ProviderLake): Promise<Map<string, Rows>> {
  const replayed = new Map<string, Rows>();
  for (const run of await lake.history()) {
    const { run_id: id, status, base_run: base } = run.record;
    if (status !== 'succeeded') continue;
    if (base === undefined) throw new Error(`${id} names no base`);
    replayed.set(id, await rowsAfter(run, base === null ? undefined : replayed.get(base)));
  }
  return replayed;
}

/** The kinds of a run's revisions by `slug iso3 year`. */
export async function kindsOf({ lake }: ScriptedProvider, runId: string): Promise<Record<string, string>> {
  const run = (await lake.history()).find(({ record }) => record.run_id === runId);
  if (!run) throw new Error(`the history has no run ${runId}`);
  return Object.fromEntries(
    (await revisionsOf(run)).map(({ indicator, iso3, year, kind }) => [`${indicator} ${iso3} ${year}`, kind]),
  ) as Record<string, string>;
}

export const sorted = (rows: Rows | undefined): [string, LakeRow][] =>
  [...(rows ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
