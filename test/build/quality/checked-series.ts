/** A context for quality checks with constructed series: labels and figures as a test gives them, in real Parquet. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import type { CheckContext, CheckedSeries } from '../../../build/quality/check.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import type { SeriesStatistics } from '../../../data/schema/quality.ts';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { DATA } from '../world.ts';

const curated = await loadCurated(DATA);

export type Row = [iso3: string, year: number, value: number, projected?: boolean];

export interface Labelled extends Partial<Omit<IndicatorRecord, 'id' | 'provider' | 'coverage'>> {
  rows?: Row[];
  /** What upstream says where it differs. */
  upstream?: { name?: string; unit?: string | null; description?: string | null };
}

const EMPTY: SeriesStatistics = {
  rows: 0,
  values: 0,
  nulls: 0,
  projected: 0,
  countries: 0,
  min: null,
  q1: null,
  median: null,
  q3: null,
  max: null,
  negative: 0,
  zero: 0,
  above_1: 0,
  above_100: 0,
  whole_share: null,
  first_year: null,
  last_year: null,
  latest_year: null,
  latest_countries: 0,
  newest_projected_year: null,
  jump: null,
  statuses: {},
  digest: '',
  anomalies: [],
};

const CREDIT = { licence: 'CC BY 4.0', licence_url: null, attribution: 'Somebody' };

function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.floor(share * (sorted.length - 1))] ?? null;
}

function statisticsOf(rows: readonly Row[]): SeriesStatistics {
  const values = rows.map(([, , value]) => value).sort((a, b) => a - b);
  const observed = rows.filter(([, , , projected]) => projected !== true);
  return {
    ...EMPTY,
    rows: rows.length,
    values: rows.length,
    projected: rows.length - observed.length,
    countries: new Set(rows.map(([iso3]) => iso3)).size,
    min: values[0] ?? null,
    q1: quantile(values, 0.25),
    median: quantile(values, 0.5),
    q3: quantile(values, 0.75),
    max: values.at(-1) ?? null,
    negative: values.filter((value) => value < 0).length,
    latest_year: observed.length > 0 ? Math.max(...observed.map(([, year]) => year)) : null,
    digest: JSON.stringify(rows),
  };
}

export function checkedSeries(id: string, number: number, labelled: Labelled): CheckedSeries {
  const { rows = [], upstream, ...label } = labelled;
  const dot = id.indexOf('.');
  const [providerId, slug] = [id.slice(0, dot), id.slice(dot + 1)];
  const record: IndicatorRecord = {
    id,
    name: id,
    description: null,
    unit: null,
    topic: 'economy',
    higher_is_better: null,
    preferred: false,
    featured: false,
    access_tier: 'open',
    no_rank: false,
    ...CREDIT,
    provider: { id: providerId, name: providerId, ...CREDIT },
    coverage: null,
    ...label,
  };
  const planned: CheckedSeries['planned'] = {
    id,
    number,
    slug,
    providerId,
    record,
    upstream: {
      slug,
      name: upstream?.name ?? record.name,
      description: upstream?.description === undefined ? record.description : upstream.description,
      unit: upstream?.unit === undefined ? record.unit : upstream.unit,
      source: null,
      source_url: null,
      tags: [],
      licence: null,
    },
    sources: [],
    files: [],
    original: null,
    topicOrder: 0,
    projectedFrom: 1_000_000,
    flaggedByClock: [],
    lake: '',
    lakeRows: rows.length,
    ciLevel: null,
    inputs: '',
  };
  return { planned, record, statistics: statisticsOf(rows) };
}

/** Runs `use` with a context of these series, by indicator id. */
export async function withSeries<T>(
  labelled: Record<string, Labelled>,
  use: (context: CheckContext) => Promise<T>,
  more: Partial<CheckContext> = {},
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'almanac-labels-'));
  const duck = await DuckSession.open({ scratch: join(directory, 'scratch'), memoryMb: 256, threads: 1 });
  try {
    const series = new Map(
      Object.entries(labelled).map(([id, one], number) => [id, checkedSeries(id, number, one)] as const),
    );
    await duck.run('CREATE TABLE planned (number INTEGER, id VARCHAR)');
    await duck.run(
      'CREATE TABLE rows (number INTEGER, iso3 VARCHAR, year INTEGER, value DOUBLE, projected BOOLEAN)',
    );
    for (const [id, { planned }] of series) {
      const rows = (labelled[id]?.rows ?? []).map(([iso3, year, value, projected = false]) => ({
        iso3,
        year,
        value,
        projected,
      }));
      await duck.run('INSERT INTO planned VALUES ($number, $id)', { number: planned.number, id });
      await duck.run(
        `INSERT INTO rows SELECT $number, unnest(from_json($rows,
          '[{"iso3":"VARCHAR","year":"INTEGER","value":"DOUBLE","projected":"BOOLEAN"}]'), recursive := true)`,
        { number: planned.number, rows: JSON.stringify(rows) },
      );
      await duck.run(
        `COPY (SELECT iso3, year, value, projected FROM rows WHERE number = ${planned.number} ORDER BY iso3, year)
         TO '${join(directory, `${id}.parquet`)}'`,
      );
    }
    await duck.run(`CREATE TABLE country_series AS
      SELECT number, iso3, {value: arg_max(value, year) FILTER (NOT projected)} AS latest FROM rows GROUP BY ALL`);
    return await use({
      duck,
      files: (ids) => listValue(ids.map((id) => join(directory, `${id}.parquet`))),
      filesBefore: (ids) => listValue(ids.map((id) => join(directory, `${id}.parquet`))),
      series,
      withheld: new Set(),
      departed: new Set(),
      firstDate: null,
      coverage: '',
      coverageBefore: null,
      known: [],
      before: new Map(),
      providers: [],
      concepts: [],
      curated,
      currentYear: 2026,
      ...more,
    });
  } finally {
    await duck.close();
    await rm(directory, { recursive: true, force: true });
  }
}
