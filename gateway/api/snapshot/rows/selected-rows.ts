/** Rows of one indicator picked one by one, where whole ranges do not say which are wanted. */
import { countRows, type IndicatorColumns, type RowFilter, type RowRange } from './indicator-columns.ts';

/** Which of the rows that pass a filter are left out. */
export interface Omission {
  /** All but the newest so many observed values of each country. */
  latest?: number | undefined;
  /** Rows without a value. */
  missing?: boolean | undefined;
}

export interface SelectedRows {
  held: IndicatorColumns;
  /** Positions of the rows, ascending: by country and year. */
  at: Uint32Array;
  /** The country of each, as an index into `held.countries`. */
  country: Uint16Array;
}

export function selectRows(held: IndicatorColumns, filter: RowFilter, omission: Omission): SelectedRows {
  const bound = countRows(held.select(filter));
  const at = new Uint32Array(bound);
  const country = new Uint16Array(bound);
  let rows = 0;
  for (const [index, iso3] of held.countries.entries()) {
    if (filter.countries !== undefined && !filter.countries.includes(iso3)) continue;
    const [range] = held.select({ ...filter, countries: [iso3] });
    if (range === undefined) continue;
    const before = rows;
    rows += select(held, range, omission, at.subarray(rows));
    country.fill(index, before, rows);
  }
  return { held, at: at.subarray(0, rows), country: country.subarray(0, rows) };
}

/** Writes the positions that are not left out. @returns how many */
function select(
  held: IndicatorColumns,
  range: RowRange,
  { latest, missing }: Omission,
  at: Uint32Array,
): number {
  if (latest !== undefined) {
    const found = newestObserved(held, range, latest);
    at.set(found);
    return found.length;
  }
  let rows = 0;
  for (let position = range.start; position < range.end; position += 1) {
    if (missing === true && !hasValue(held, position)) continue;
    at[rows] = position;
    rows += 1;
  }
  return rows;
}

const hasValue = ({ columns }: IndicatorColumns, at: number): boolean => !Number.isNaN(columns.value[at]);

/** Oldest first. */
function newestObserved(held: IndicatorColumns, { start, end }: RowRange, count: number): number[] {
  const found: number[] = [];
  for (let at = end - 1; at >= start && found.length < count; at -= 1)
    if (held.columns.projected[at] !== 1 && hasValue(held, at)) found.push(at);
  return found.reverse();
}
