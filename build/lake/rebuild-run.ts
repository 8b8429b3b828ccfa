/**
 * Rebuilds a run that LAKE_KEEP has removed: its rows from the first run of its chain and the revisions since, its
 * catalogue from the next run that is still there.
 */
import { existsSync } from 'node:fs';
import { link, mkdir, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { readSql } from '../../data/runtime/sql-files.ts';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { type LakeRun, OBSERVATIONS, ProviderLake, REVISIONS } from './lake.ts';
import { type ProjectionRule, yearOf } from './projection-rule.ts';
import { factsOf, OBSERVED, PROJECTED, type SeriesFile, UNSTATED } from './series-facts.ts';

const REBUILT_ROWS = readSql(import.meta.url, 'sql/rebuilt-rows.sql');
const DROP_REVISED = readSql(import.meta.url, 'sql/drop-revised.sql');
const INSERT_REVISED = readSql(import.meta.url, 'sql/insert-revised.sql');
const WRITE_REBUILT = readSql(import.meta.url, 'sql/write-rebuilt.sql');
const EACH_ROW = readSql(import.meta.url, 'sql/rebuilt-in-order.sql');
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
  const duck = await DuckSession.open({ scratch: join(target, '.scratch-rebuilt'), memoryMb: MEMORY_MB });
  try {
    return await rebuild(duck, from, run, directory);
  } finally {
    await duck.close();
  }
}

/** Whether LAKE_KEEP has left the run as it was. */
const isWhole = ({ directory }: LakeRun): boolean => existsSync(join(directory, 'catalogue.json'));

/** The runs from the last one whose rows are kept up to this one. */
function chainOf(history: readonly LakeRun[], run: LakeRun): LakeRun[] {
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
  const [first = run, ...later] = chainOf(history, run);
  await duck.run(REBUILT_ROWS, { observations: first.observations });
  for (const one of later) {
    const revisions = join(one.directory, REVISIONS);
    if (!existsSync(revisions)) continue;
    await duck.run(DROP_REVISED, { revisions });
    await duck.run(INSERT_REVISED, { revisions });
  }
  const entries = await entriesSince(lake, history, run);
  const currentYear = yearOf(Date.parse(run.record.started_at));
  const lost: string[] = [];
  const series: SeriesFile = {};
  await eachSeries(duck, (slug, rows) => {
    const entry = entries.get(slug);
    if (entry) series[slug] = rows.facts(entry.unit, ruleOf(entry), currentYear);
    else lost.push(slug);
  });
  const slugs = Object.keys(series);
  const file = join(directory, OBSERVATIONS);
  if (!existsSync(file)) await duck.run(WRITE_REBUILT, { file, slugs: listValue(slugs) });
  const catalogue = [...entries.values()].filter(({ slug }) => series[slug] !== undefined);
  await new ProviderLake(join(directory, '..', '..'), basename(lake.directory)).describe(
    directory,
    catalogue,
    series,
  );
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

/** The rows of one series, as they come. */
class SeriesRows {
  readonly #columns: Record<
    'country' | 'year' | 'value' | 'ciLo' | 'ciHi' | 'projected' | 'status',
    number[]
  > = { country: [], year: [], value: [], ciLo: [], ciHi: [], projected: [], status: [] };
  readonly #countries: Words<string>;
  readonly #statuses: Words<string | null>;

  constructor(countries: Words<string>, statuses: Words<string | null>) {
    this.#countries = countries;
    this.#statuses = statuses;
  }

  add([, iso3, year, value, ciLo, ciHi, projected, status]: readonly unknown[]): void {
    const columns = this.#columns;
    columns.country.push(this.#countries.codeOf(String(iso3)));
    columns.year.push(Number(year));
    for (const [name, cell] of [
      ['value', value],
      ['ciLo', ciLo],
      ['ciHi', ciHi],
    ] as const)
      columns[name].push(typeof cell === 'number' ? cell : Number.NaN);
    columns.projected.push(projected === null ? UNSTATED : projected ? PROJECTED : OBSERVED);
    columns.status.push(this.#statuses.codeOf(typeof status === 'string' ? status : null));
  }

  facts(unit: string | null, rule: ProjectionRule, currentYear: number): SeriesFile[string] {
    const { country, year, value, ciLo, ciHi, projected, status } = this.#columns;
    const columns = {
      rows: year.length,
      country: Int32Array.from(country),
      year: Int32Array.from(year),
      value: Float64Array.from(value),
      ciLo: Float64Array.from(ciLo),
      ciHi: Float64Array.from(ciHi),
      projected: Uint8Array.from(projected),
      status: Int32Array.from(status),
    };
    return factsOf(columns, this.#countries.words, this.#statuses.words, unit, rule, currentYear);
  }
}

/** Numbers words in the order of their first use. */
class Words<Word> {
  readonly words: Word[];
  readonly #codes: Map<Word, number>;

  constructor(first: readonly Word[]) {
    this.words = [...first];
    this.#codes = new Map(first.map((word, code) => [word, code]));
  }

  codeOf(word: Word): number {
    const known = this.#codes.get(word);
    if (known !== undefined) return known;
    const code = this.words.push(word) - 1;
    this.#codes.set(word, code);
    return code;
  }
}

async function eachSeries(
  duck: DuckSession,
  onSeries: (slug: string, rows: SeriesRows) => void,
): Promise<void> {
  const [countries, statuses] = [new Words<string>([]), new Words<string | null>([null])];
  let open: { slug: string; rows: SeriesRows } | null = null;
  await duck.eachChunk(EACH_ROW, (columns, count) => {
    for (let row = 0; row < count; row += 1) {
      const cells = columns.map((column) => column[row]);
      const slug = String(cells[0]);
      if (open?.slug !== slug) {
        if (open) onSeries(open.slug, open.rows);
        open = { slug, rows: new SeriesRows(countries, statuses) };
      }
      open.rows.add(cells);
    }
  });
  const last = open as { slug: string; rows: SeriesRows } | null;
  if (last) onSeries(last.slug, last.rows);
}
