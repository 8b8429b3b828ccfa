/**
 * Reads a curated CSV file into rows that know their line. Cells are trimmed; an empty cell is `null`. An unexpected
 * header, a row of another width and broken quoting are problems.
 */
import { readFileSync } from 'node:fs';
import { CsvError, parse } from 'csv-parse/sync';
import type { z } from 'zod';
import type { Position, Problems } from './problems.ts';

export interface TableRow<Column extends string> extends Position {
  cells: Record<Column, string | null>;
}

/**
 * @param required columns of the header.
 * @param optional columns that the header may have.
 * @returns the rows with the header's width; none when the header is wrong.
 */
export function readTable<Column extends string>(
  file: string,
  required: readonly Column[],
  optional: readonly Column[],
  problems: Problems,
): TableRow<Column>[] {
  const lines = readLines(file, problems);
  if (lines === undefined) return [];
  const header = lines[0];
  if (header === undefined) {
    problems.add({ file, line: 1 }, `the file is empty; its header must be ${required.join(',')}`);
    return [];
  }
  const known = new Set<string>([...required, ...optional]);
  const columns = header.cells as Column[];
  const faults = [
    ...columns.filter((name) => !known.has(name)).map((name) => `unknown column "${name}"`),
    ...columns
      .filter((name, i) => columns.indexOf(name) !== i)
      .map((name) => `column "${name}" occurs twice`),
    ...required.filter((name) => !columns.includes(name)).map((name) => `column "${name}" is missing`),
  ];
  for (const fault of faults) problems.add({ file, line: header.line }, fault);
  if (faults.length > 0) return [];
  return lines.slice(1).flatMap((row) => {
    if (row.cells.length !== columns.length) {
      problems.add(
        { file, line: row.line },
        `${row.cells.length} cells where the header has ${columns.length}`,
      );
      return [];
    }
    const cells = Object.fromEntries(columns.map((name, i) => [name, row.cells[i] || null]));
    return [{ file, line: row.line, cells: cells as Record<Column, string | null> }];
  });
}

interface Line {
  line: number;
  cells: string[];
}

/** `undefined`, and a problem, when the file cannot be read. */
function readLines(file: string, problems: Problems): Line[] | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    problems.add({ file, line: 1 }, unreadable(error));
    return undefined;
  }
  const options = { bom: true, info: true, trim: true, relax_column_count: true, skip_empty_lines: true };
  try {
    const records = parse(text, options) as unknown as Array<{ info: { lines: number }; record: string[] }>;
    return records.map(({ info, record }) => ({ line: info.lines, cells: record }));
  } catch (error) {
    const line = error instanceof CsvError && typeof error.lines === 'number' ? error.lines : 1;
    problems.add({ file, line }, `not readable as CSV: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

/** Why a file cannot be read, without its path, which the problem names already. */
export function unreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' ? 'the file is missing' : `the file cannot be read (${String(code ?? error)})`;
}

/** Checks a value against a schema. Each issue becomes a problem at the position, prefixed by the field's name. */
export function check<T>(
  schema: z.ZodType<T>,
  value: unknown,
  at: Position,
  problems: Problems,
): T | undefined {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) {
    const field = issue.path.length > 0 ? `${issue.path.join('.')}: ` : '';
    problems.add(at, `${field}${issue.message}`);
  }
  return undefined;
}

const BOOLEANS: Record<string, boolean> = { true: true, false: false };

/** `true` or `false`. Anything else stays text, which the schema reports. */
export const asBoolean = (cell: string | null): boolean | string | null =>
  cell === null ? null : (BOOLEANS[cell] ?? cell);

/** A plain decimal number. Anything else stays text, which the schema reports. */
export const asNumber = (cell: string | null): number | string | null =>
  cell !== null && /^-?\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell;
