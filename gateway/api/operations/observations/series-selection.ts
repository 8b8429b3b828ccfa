/** The rows of the series that a call asks for: counted first, so that their price is known, and loaded when written. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';
import type { RowFilter } from '../../snapshot/rows/indicator-columns.ts';
import type { Observations } from '../../snapshot/rows/observations.ts';
import type { Omission, SelectedRows } from '../../snapshot/rows/selected-rows.ts';
import { ROWS_MAX } from './row-bound.ts';

/** What is counted is kept for writing as long as all of it is small; the rest is counted, and read series by series. */
const KEPT_BYTES = 8 * 1024 * 1024;

/** Rows counted before the event loop gets a turn: series in memory are read without waiting. */
const ROWS_PER_TURN = 32_768;

export interface Asked {
  filter: RowFilter;
  omission: Omission;
}

export interface SelectedSeries {
  record: IndicatorRecord;
  rows: number;
  /** All rows, or at least those of some countries. */
  load(countries?: readonly string[]): SelectedRows | Promise<SelectedRows>;
}

export interface SeriesSelection {
  series: readonly SelectedSeries[];
  /** Of all series; beyond `ROWS_MAX` the count stops. */
  rows: number;
}

/**
 * @param look is shown the rows of each series once; null where their number is enough.
 * @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable}
 */
export async function selectSeries(
  { observations }: Edition,
  records: readonly IndicatorRecord[],
  asked: Asked,
  look: ((rows: SelectedRows) => void) | null,
): Promise<SeriesSelection> {
  const series: SelectedSeries[] = [];
  let rows = 0;
  let keptBytes = 0;
  let sinceTurn = 0;
  for (const record of records) {
    const isKept = keptBytes <= KEPT_BYTES;
    const { bytes, ...one } =
      isKept || look !== null
        ? await readSeries(observations, record, asked, isKept, look)
        : await countSeries(observations, record, asked);
    rows += one.rows;
    if (rows > ROWS_MAX) break;
    series.push(one);
    keptBytes += bytes;
    sinceTurn += one.rows;
    if (sinceTurn >= ROWS_PER_TURN) {
      sinceTurn = 0;
      await nextTurn();
    }
  }
  return { series, rows };
}

type MeasuredSeries = SelectedSeries & { bytes: number };

async function readSeries(
  observations: Observations,
  record: IndicatorRecord,
  asked: Asked,
  isKept: boolean,
  look: ((rows: SelectedRows) => void) | null,
): Promise<MeasuredSeries> {
  const selected = await observations.selectRows(record.id, asked.filter, asked.omission);
  look?.(selected);
  const { bytes } = selected.held;
  const load = isKept ? () => selected : readAgain(observations, record.id, asked);
  return { record, rows: selected.at.length, bytes, load };
}

async function countSeries(
  observations: Observations,
  record: IndicatorRecord,
  asked: Asked,
): Promise<MeasuredSeries> {
  const rows = await observations.countRows(record.id, asked.filter, asked.omission);
  return { record, rows, bytes: 0, load: readAgain(observations, record.id, asked) };
}

/** Not a closure where rows were read: closures of one scope share their variables, so it would keep the rows alive. */
const readAgain =
  (observations: Observations, indicator: string, { filter, omission }: Asked): SelectedSeries['load'] =>
  (countries = filter.countries) =>
    observations.selectRows(indicator, { ...filter, countries }, omission);
