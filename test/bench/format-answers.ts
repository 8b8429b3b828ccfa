/** What the bench of formats asks for, and how a floor gets the same rows. */
import { join, resolve } from 'node:path';
import { observationsFile } from '../../data/schema/snapshot.ts';
import type { CatalogueIndex } from '../shown-snapshot.ts';
import { wholeIndicator } from './data-queries.ts';
import { ANSWER, type FloorSeries, USUAL_COLUMNS } from './format-questions.ts';
import { fetchWhole } from './http-client.ts';
import type { Gateway } from './processes.ts';
import type { Account, OpenSnapshot } from './session.ts';

const LONG_ROWS = 1_000_000;
const MIDDLE_ROWS = 100_000;
/** The most that one call may name. */
const INDICATORS_MAX = 50;

/** A call, without its format, and the query by which DuckDB gives its rows. */
export interface FormatAnswer {
  name: string;
  path: string;
  series: FloorSeries[];
  query: string;
  rows: number;
  /** More than rows where rows are wide. */
  observations: number;
}

export interface FormatAnswers {
  /** A whole indicator of about 9,000 rows. */
  one: FormatAnswer;
  /** Whole indicators, about 100,000 rows together. */
  middle: FormatAnswer;
  /** About 1,000,000 rows. */
  long: FormatAnswer;
  /** The same observations, a row a country and year. */
  wide: FormatAnswer;
}

type Counted = FloorSeries & { rows: number };

export async function formatAnswers(
  gateway: Gateway,
  { key }: Account,
  { dir, catalogue }: OpenSnapshot,
): Promise<FormatAnswers> {
  const headers = { authorization: `Bearer ${key}` };
  const json = async (path: string) =>
    JSON.parse((await fetchWhole(gateway.port, { path, headers })).body.toString());
  const rowsOf = async (path: string): Promise<number> => (await json(`${path}&dry_run=true`)).data.rows;

  const all: Counted[] = [];
  for (const series of openSeries(catalogue, dir))
    all.push({ ...series, rows: await rowsOf(`/v1/data?indicator=${encodeURIComponent(series.id)}`) });
  all.sort((a, b) => b.rows - a.rows);

  const id = wholeIndicator(catalogue);
  const one = all.filter((series) => series.id === id);
  const middle = whole(fitting(all, MIDDLE_ROWS));
  const long = whole(fitting(all, LONG_ROWS));
  const widePath = `${long.path}&layout=wide`;
  return {
    one: { ...whole(one), path: `/v1/data?indicator=${encodeURIComponent(id)}` },
    middle,
    long,
    wide: {
      ...long,
      name: `${long.name}, as wide rows`,
      path: widePath,
      query: wideQuery(long.series),
      rows: await rowsOf(widePath),
    },
  };
}

const openSeries = ({ indicators }: CatalogueIndex, dir: string): FloorSeries[] =>
  indicators.flatMap(({ record: { id, access_tier, unit, licence, licence_url, attribution } }) => {
    const file = resolve(join(dir, observationsFile(id)));
    return access_tier === 'open' ? [{ id, file, unit, licence, licence_url, attribution }] : [];
  });

/** The longest that have no more rows together. */
function fitting(longestFirst: readonly Counted[], rowsMax: number): Counted[] {
  const chosen: Counted[] = [];
  let rows = 0;
  for (const one of longestFirst) {
    if (chosen.length === INDICATORS_MAX || rows + one.rows > rowsMax) continue;
    chosen.push(one);
    rows += one.rows;
  }
  return chosen;
}

/** Several whole indicators. */
function whole(counted: readonly Counted[]): FormatAnswer {
  const rows = counted.reduce((sum, one) => sum + one.rows, 0);
  return {
    name: `${rows.toLocaleString('en')} rows`,
    path: `/v1/data?indicators=${counted.map(({ id }) => encodeURIComponent(id)).join(',')}`,
    series: counted.map(({ rows: _rows, ...series }) => series),
    query: `SELECT ${USUAL_COLUMNS} FROM ${ANSWER}`,
    rows,
    observations: rows,
  };
}

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');

const wideQuery = (series: readonly FloorSeries[]): string =>
  `SELECT * FROM (PIVOT ${ANSWER} ON indicator IN (${quoted(series.map(({ id }) => id))}) USING first(value) ` +
  'GROUP BY iso3, year) ORDER BY iso3, year';
