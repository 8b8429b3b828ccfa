/**
 * Writes the excerpt of each indicator (see data/schema/excerpts.ts) from its published file. The excerpt of the base
 * edition is linked where that file did not change.
 */
import { createHash } from 'node:crypto';
import { link, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type DuckDBValue, listValue } from '@duckdb/node-api';
import { inParallel } from '../../../data/runtime/in-parallel.ts';
import { packJson } from '../../../data/runtime/kept-json.ts';
import { readSql } from '../../../data/runtime/sql-files.ts';
import {
  DRAWN_COUNTRIES,
  excerptFile,
  type StoredExcerpt,
  WELL_KNOWN,
} from '../../../data/schema/excerpts.ts';
import { type FileList, observationsFile } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import { type BaseEdition, isReusable } from '../base-edition.ts';
import { type Batch, type BatchIndicator, batchIndicators, filesOf } from './materialise.ts';

const EXCERPTS = readSql(import.meta.url, 'sql/excerpts.sql');
/** Increment when the same observations give another excerpt. */
const EXCERPT_VERSION = 2;
/** Compression takes most of the time, on the thread pool. */
const PARALLEL = 4;

export interface ExcerptFiles {
  /** ISO3 codes by name. */
  countries: readonly string[];
  /** Holds the observation files under their names; receives the excerpts. */
  directory: string;
  kept: FileList;
  base: BaseEdition | null;
}

/** @returns the inputs of each excerpt, by its name. */
export async function writeExcerpts(
  duck: DuckSession,
  indicators: readonly BatchIndicator[],
  { countries, directory, kept, base }: ExcerptFiles,
): Promise<Map<string, string>> {
  const inputs = new Map<string, string>();
  const changed: BatchIndicator[] = [];
  await mkdir(dirname(join(directory, excerptFile(''))), { recursive: true });
  for (const indicator of indicators) {
    const name = excerptFile(indicator.id);
    const hash = hashOf(kept[observationsFile(indicator.id)]?.sha256);
    inputs.set(name, hash);
    if (base && (await isReusable(base, name, base.tables[name], hash)))
      await link(join(base.directory, name), join(directory, name));
    else changed.push(indicator);
  }
  for (const batch of batchIndicators(changed))
    await writeBatch(directory, batch, await readExcerpts(duck, directory, batch, countries));
  return inputs;
}

const hashOf = (observations: string | undefined): string =>
  createHash('sha256')
    .update(JSON.stringify([EXCERPT_VERSION, WELL_KNOWN, DRAWN_COUNTRIES, observations]))
    .digest('hex');

async function writeBatch(
  directory: string,
  batch: Batch,
  excerpts: ReadonlyMap<number, GrowingExcerpt>,
): Promise<void> {
  await inParallel(batch, PARALLEL, async ({ id, number }) => {
    const excerpt = excerpts.get(number) ?? emptyExcerpt(null);
    const packed = await packJson(JSON.stringify(withoutEmptyBounds(excerpt)));
    await writeFile(join(directory, excerptFile(id)), packed);
  });
}

/** With lists for the bounds also where no row has any. */
type GrowingExcerpt = StoredExcerpt & {
  columns: { ci_lo: (number | null)[]; ci_hi: (number | null)[] };
  statuses: Record<string, string>;
};

const emptyExcerpt = (year: number | null): GrowingExcerpt => ({
  year,
  countries: [],
  runs: [],
  columns: { year: [], value: [], ci_lo: [], ci_hi: [], rank: [], rank_delta_1y: [], projected: [] },
  statuses: {},
});

/** By the number of the indicator; those without figures are absent. */
async function readExcerpts(
  duck: DuckSession,
  directory: string,
  batch: Batch,
  countries: readonly string[],
): Promise<Map<number, GrowingExcerpt>> {
  const excerpts = new Map<number, GrowingExcerpt>();
  const parameters = {
    files: filesOf(directory, batch),
    drawn: DRAWN_COUNTRIES,
    well_known: listValue([...WELL_KNOWN]),
    countries: listValue([...countries]),
  };
  await duck.eachChunk(
    EXCERPTS,
    (columns, rows) => {
      const [numbers = [], latest = [], iso3 = [], isDrawn = [], statuses = [], ...figures] = columns;
      for (let at = 0; at < rows; at += 1) {
        const number = Number(numbers[at]);
        const excerpt = excerpts.get(number) ?? emptyExcerpt(Number(latest[at]));
        excerpts.set(number, excerpt);
        countRow(excerpt, String(iso3[at]), isDrawn[at] === true);
        addFigures(excerpt, figures, at);
        const status = statuses[at];
        if (typeof status === 'string') excerpt.statuses[String(iso3[at])] = status;
      }
    },
    parameters,
  );
  return excerpts;
}

function countRow({ runs, countries }: GrowingExcerpt, iso3: string, isDrawn: boolean): void {
  const run = runs.at(-1);
  if (run?.[0] === iso3) {
    run[1] += 1;
    return;
  }
  runs.push([iso3, 1]);
  if (isDrawn) countries.push(iso3);
}

function addFigures({ columns }: GrowingExcerpt, figures: DuckDBValue[][], at: number): void {
  const [year = [], value = [], ciLo = [], ciHi = [], rank = [], rankDelta = [], projected = []] = figures;
  columns.year.push(Number(year[at]));
  columns.value.push(value[at] as number | null);
  columns.ci_lo.push(ciLo[at] as number | null);
  columns.ci_hi.push(ciHi[at] as number | null);
  columns.rank.push(rank[at] as number | null);
  columns.rank_delta_1y.push(rankDelta[at] as number | null);
  columns.projected.push(projected[at] === true);
}

function withoutEmptyBounds({ columns, ...excerpt }: GrowingExcerpt): StoredExcerpt {
  const isBounded = [...columns.ci_lo, ...columns.ci_hi].some((bound) => bound !== null);
  return { ...excerpt, columns: isBounded ? columns : { ...columns, ci_lo: null, ci_hi: null } };
}
