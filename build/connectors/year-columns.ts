/**
 * Tables with a column for each year, made into tables with a row for each.
 *
 * A header is a year's when it is four digits, `X1990`, `YR1990` or `1990 [YR1990]`, or when the definition's own
 * pattern says so: its group `year` is the year, and its group `series`, where it has one, the series, as in `hdi_1990`
 * and `le_1990` of one table.
 */
import { CsvError } from './csv-error.ts';
import type { CsvTable } from './csv-rows.ts';

const USUAL = /^(?:X|Y|YR)?(?<year>[12]\d{3})(?: \[YR\d{4}\])?$/i;
/** Fewer columns that look like years are names. */
const FEWEST = 2;

/** The columns that take their places; upstream's own columns come before them. */
export const MELTED = { series: 'series', year: 'year', value: 'value' } as const;

interface YearCell {
  at: number;
  year: string;
  series: string | null;
}

export interface YearColumns {
  /** The columns of the table with a row for each year. */
  columns: string[];
  hasSeries: boolean;
  keys: readonly number[];
  cells: readonly YearCell[];
}

/**
 * Finds the columns of years.
 * @param pattern of the definition; without it the usual headers count, and null says that there are none
 * @throws {CsvError} when the definition's pattern has no group `year` or fits no column.
 */
export function findYearColumns(header: readonly string[], pattern: string | undefined): YearColumns | null {
  const expression = pattern === undefined ? USUAL : new RegExp(pattern, 'u');
  const keys: number[] = [];
  const cells: YearCell[] = [];
  for (const [at, name] of header.entries()) {
    const groups = expression.exec(name.trim())?.groups;
    if (groups?.year === undefined) keys.push(at);
    else cells.push({ at, year: groups.year, series: groups.series ?? null });
  }
  if (pattern === undefined && cells.length < FEWEST) return null;
  if (cells.length === 0)
    throw new CsvError(`year_columns fits no column (its group "year" is the year): ${header.join(', ')}`);
  const hasSeries = cells.some(({ series }) => series !== null);
  const added = hasSeries ? [MELTED.series, MELTED.year, MELTED.value] : [MELTED.year, MELTED.value];
  const columns = [...keys.map((at) => header[at] ?? ''), ...added];
  return { columns, hasSeries, keys, cells };
}

/** The same figures, a row for each year. */
export function meltYears(table: CsvTable, { columns, hasSeries, keys, cells }: YearColumns): CsvTable {
  async function* batches(): AsyncGenerator<string[][], void, undefined> {
    for await (const batch of table.batches) {
      yield batch.flatMap((row) => {
        const kept = keys.map((at) => row[at] ?? '');
        return cells.map(({ at, year, series }) => [
          ...kept,
          ...(hasSeries ? [series ?? ''] : []),
          year,
          row[at] ?? '',
        ]);
      });
    }
  }
  return { header: columns, batches: batches() };
}
