/**
 * A lake as it stood on past nights: the run of each provider that was current, in a directory of its own. A run that
 * LAKE_KEEP has removed is rebuilt: its rows from the first run of its chain and the revisions since, its catalogue from
 * the next run that is still there.
 */

import { existsSync } from 'node:fs';
import { link, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import type { Curated } from '../../data/curated/curated.ts';
import { replaceFile } from '../../data/runtime/durable-files.ts';
import { sqlOf } from '../../data/runtime/sql-files.ts';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { type LakeRun, OBSERVATIONS, POINTER, ProviderLake, REVISIONS } from './provider-lake.ts';
import {
  factsOf,
  type LakeRow,
  type ProjectionRule,
  projectionRuleOf,
  type SeriesFile,
  yearOf,
} from './series-facts.ts';

const sql = sqlOf(import.meta.url);

/** A day, UTC, on which at least one provider had a new good run. */
export interface PastNight {
  date: string;
  /** When the newest of its runs ended, in milliseconds. */
  ended_ms: number;
  /** Its last run of each provider that had one. */
  runs: { provider: string; run: LakeRun }[];
}

export class PastLake {
  readonly #directory: string;
  readonly #providers: ReadonlyMap<string, Rebuilding>;
  /** Providers whose current run is lost, with the reason. */
  readonly #lost = new Map<string, string>();

  private constructor(directory: string, providers: ReadonlyMap<string, Rebuilding>) {
    this.#directory = directory;
    this.#providers = providers;
  }

  /** @param directory of the lake to make */
  static async open(lakeDir: string, curated: Curated, directory: string): Promise<PastLake> {
    const providers = new Map<string, Rebuilding>();
    for (const definition of curated.providers.values()) {
      const { id, enabled, redistributable } = definition;
      if (!enabled || !redistributable) continue;
      const lake = new ProviderLake(lakeDir, id);
      const ruleOf = (entry: CatalogueEntry) => projectionRuleOf(definition, curated.overlay(id, entry));
      providers.set(id, { lake, history: await lake.history(), ruleOf });
    }
    return new PastLake(directory, providers);
  }

  /** The nights that ended before a day, oldest first. */
  nightsBefore(date: string): PastNight[] {
    const byDate = new Map<string, PastNight>();
    for (const [provider, { history }] of this.#providers) {
      for (const run of history) {
        const ended = run.record.finished_at;
        if (run.record.status !== 'succeeded' || ended === null) continue;
        const ended_ms = Date.parse(ended);
        const day = new Date(ended_ms).toISOString().slice(0, 10);
        if (day >= date) continue;
        const night = byDate.get(day) ?? { date: day, ended_ms, runs: [] };
        night.ended_ms = Math.max(night.ended_ms, ended_ms);
        night.runs = [...night.runs.filter((one) => one.provider !== provider), { provider, run }];
        byDate.set(day, night);
      }
    }
    return [...byDate.values()].sort((a, b) => a.ended_ms - b.ended_ms);
  }

  /**
   * Makes the runs of a night current. Nights must come in their order.
   * @returns ids of series that no catalogue describes any more; they are left out
   * @throws {LostRunError} when the lake no longer holds the rows of a run that was current then.
   */
  async advance({ date, runs }: PastNight): Promise<string[]> {
    const leftOut: string[] = [];
    for (const { provider, run } of runs) {
      const slugs = await this.#makeCurrent(provider, run);
      leftOut.push(...slugs.map((slug) => `${provider}.${slug}`));
    }
    const [lost] = this.#lost;
    if (lost) throw new LostRunError(`no edition of ${date}: ${lost.join(': ')}`);
    return leftOut;
  }

  async #makeCurrent(provider: string, run: LakeRun): Promise<string[]> {
    const target = join(this.#directory, provider);
    await mkdir(target, { recursive: true });
    const from = this.#providers.get(provider);
    if (!from) throw new RangeError(`there is no provider "${provider}"`);
    try {
      const slugs = await restoreRun(from, run, target);
      await replaceFile(join(target, POINTER), run.record.run_id);
      this.#lost.delete(provider);
      return slugs;
    } catch (error) {
      if (!(error instanceof LostRunError)) throw error;
      this.#lost.set(provider, error.message);
      return [];
    }
  }
}

const MEMORY_MB = 768;

/** What the lake no longer holds. */
export class LostRunError extends Error {
  override name = 'LostRunError';
}

export interface Rebuilding {
  /** The lake of the provider, and all that it ever had. */
  lake: ProviderLake;
  history: readonly LakeRun[];
  /** The rule of a series by its definition. */
  ruleOf: (entry: CatalogueEntry) => ProjectionRule;
}

/**
 * Writes a past run into another lake, as it was. A run that is still there is linked.
 * @param target the provider's directory in the other lake
 * @returns the slugs of series that no catalogue describes any more; they are left out
 * @throws {LostRunError} when its rows are not in the lake any more.
 */
export async function restoreRun(from: Rebuilding, run: LakeRun, target: string): Promise<string[]> {
  const directory = join(target, run.record.run_id);
  await mkdir(directory, { recursive: true });
  for (const name of await readdir(run.directory))
    await link(join(run.directory, name), join(directory, name));
  if (isWhole(run)) return [];
  const scratch = join(target, '.scratch-rebuilt');
  await using duck = await DuckSession.open({ scratch, memoryMb: MEMORY_MB });
  return await rebuild(duck, from, run, directory);
}

/** Whether LAKE_KEEP has left the run as it was. */
const isWhole = ({ directory }: LakeRun): boolean => existsSync(join(directory, 'catalogue.json'));

/** The runs from the last one whose rows are kept up to this one. */
function findChain(history: readonly LakeRun[], run: LakeRun): LakeRun[] {
  const chain = [run];
  for (let first = run; !existsSync(first.observations); ) {
    const { base_run: baseId, run_id: id } = first.record;
    const base = history.find(({ record }) => record.run_id === baseId);
    if (!base) throw new LostRunError(`the lake no longer has the rows of run ${id}`);
    chain.unshift(base);
    first = base;
  }
  return chain;
}

async function rebuild(
  duck: DuckSession,
  { lake, history, ruleOf }: Rebuilding,
  run: LakeRun,
  directory: string,
): Promise<string[]> {
  const [first = run, ...later] = findChain(history, run);
  await duck.run(sql('rebuilt-rows'), { observations: first.observations });
  for (const one of later) {
    const revisions = join(one.directory, REVISIONS);
    if (!existsSync(revisions)) continue;
    await duck.run(sql('drop-revised'), { revisions });
    await duck.run(sql('insert-revised'), { revisions });
  }
  const entries = await entriesSince(lake, history, run);
  const currentYear = yearOf(Date.parse(run.record.started_at));
  const lost: string[] = [];
  const series: SeriesFile = {};
  for await (const rows of duck.groups(sql('rebuilt-in-order'), 1)) {
    const slug = String(rows[0]?.[0]);
    const entry = entries.get(slug);
    if (!entry) {
      lost.push(slug);
      continue;
    }
    const read = rows.map((row) => rebuiltRow.parse(row));
    series[slug] = factsOf(read, entry.unit, ruleOf(entry), currentYear);
  }
  const slugs = Object.keys(series);
  const file = join(directory, OBSERVATIONS);
  if (!existsSync(file)) await duck.run(sql('write-rebuilt'), { file, slugs: listValue(slugs) });
  const catalogue = [...entries.values()].filter(({ slug }) => series[slug] !== undefined);
  await lake.describe(directory, catalogue, series);
  return lost;
}

/** The descriptions of series in the runs after this one, the next one first. */
async function entriesSince(
  lake: ProviderLake,
  history: readonly LakeRun[],
  run: LakeRun,
): Promise<Map<string, CatalogueEntry>> {
  const entries = new Map<string, CatalogueEntry>();
  for (const one of history.filter((later) => later.record.run_id > run.record.run_id && isWhole(later)))
    for (const entry of await lake.catalogue(one))
      if (!entries.has(entry.slug)) entries.set(entry.slug, entry);
  return entries;
}

const figure = z.number().nullable();
const words = z.string().nullable();
/** A row as `rebuilt-in-order.sql` selects it. */
const rebuiltRow = z
  .tuple([z.string(), z.string(), z.int(), figure, figure, figure, z.boolean().nullable(), words])
  .transform(([, iso3, year, value, ci_lo, ci_hi, projected, status]): LakeRow => {
    return { iso3, year, value, ci_lo, ci_hi, projected, status };
  });
