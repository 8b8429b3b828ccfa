/**
 * Reads curated CSV and YAML files, and collects the problems in them as `file:line: reason`. Readers go on after a
 * problem, so that an editor sees all of them at once.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { CsvError, parse } from 'csv-parse/sync';
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';

export interface TableRow<Column extends string> extends Position {
  cells: Record<Column, string | null>;
}

/**
 * Reads a CSV file into rows that know their line. Cells are trimmed; an empty cell is `null`. An unexpected header, a row
 * of another width and broken quoting are problems.
 * @param required columns of the header.
 * @param optional columns that the header may have.
 * @returns the rows with the header's width; none when the header is wrong.
 */
export function readTable<Column extends string>(
  file: string,
  required: readonly Column[],
  optional: readonly string[],
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

type ColumnOf<Schema extends z.ZodObject> = keyof Schema['shape'] & string;

/** The columns of a table whose rows have a schema. */
export const columnsOf = <Schema extends z.ZodObject>({ shape }: Schema): ColumnOf<Schema>[] =>
  Object.keys(shape) as ColumnOf<Schema>[];

/**
 * The rows of a CSV file that fit a schema, each with its position. The others are problems.
 * @param parse makes of the cells what is checked. @param optional columns that the header may have besides.
 */
export function* checkedRows<Schema extends z.ZodObject>(
  schema: Schema,
  file: string,
  problems: Problems,
  parse: (cells: Record<ColumnOf<Schema>, string | null>) => unknown = (cells) => cells,
  optional: readonly string[] = [],
): Generator<Position & { row: z.output<Schema> }> {
  for (const { cells, ...at } of readTable(file, columnsOf(schema), optional, problems)) {
    const row = check(schema, parse(cells), at, problems);
    if (row !== undefined) yield { row, ...at };
  }
}

/** An id of a series must begin with that of a provider. */
export function checkProvider(
  id: string,
  providers: ReadonlySet<string>,
  at: Position,
  problems: Problems,
): void {
  const [provider = ''] = id.split('.', 1);
  if (!providers.has(provider)) problems.add(at, `${id}: there is no provider "${provider}"`);
}

/** The parts of a cell between semicolons. */
export const splitCell = (cell: string | null): string[] =>
  (cell ?? '').split(';').map((part) => part.trim());

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
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: Position,
  problems: Problems,
): z.output<Schema> | undefined {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) addIssue(issue, () => at, problems);
  return undefined;
}

const BOOLEANS: Record<string, boolean> = { true: true, false: false };

/** `true` or `false`. Anything else stays text, which the schema reports. */
export const asBoolean = (cell: string | null): boolean | string | null =>
  cell === null ? null : (BOOLEANS[cell] ?? cell);

/** A plain decimal number. Anything else stays text, which the schema reports. */
export const asNumber = (cell: string | null): number | string | null =>
  cell !== null && /^-?\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell;

/** A position in a curated file. Lines count from 1. */
export interface Position {
  file: string;
  line: number;
}

/** Invalid curated data. The message lists every problem on its own line. */
export class CuratedError extends Error {
  override name = 'CuratedError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const noun = problems.length === 1 ? 'problem' : 'problems';
    super(`${problems.length} ${noun} in the curated data\n  ${problems.join('\n  ')}`);
    this.problems = problems;
  }
}

/** Collects problems while files are read and checked against each other. */
export class Problems {
  readonly #found: Array<Position & { reason: string }> = [];

  add(position: Position, reason: string): void {
    this.#found.push({ ...position, reason });
  }

  /** @throws {CuratedError} naming every problem, by file and then by line, when there is any. */
  throwIfAny(): void {
    if (this.#found.length === 0) return;
    const ordered = this.#found.toSorted(
      (a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.line - b.line,
    );
    throw new CuratedError(ordered.map(({ file, line, reason }) => `${shown(file)}:${line}: ${reason}`));
  }
}

/** A relative path below the working directory, otherwise the absolute one. */
function shown(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith(`..${sep}`) || path === '..' ? file : path;
}

type Path = readonly PropertyKey[];

/** A checked YAML file. */
export interface CuratedDocument<T> {
  value: T;
  /** The position of the value at a path, or of its nearest existing parent. */
  at(path: Path): Position;
}

/** Reads one YAML file. Returns `undefined` and adds the problems when it does not match the schema. */
export async function readDocument<T>(
  file: string,
  schema: z.ZodType<T>,
  problems: Problems,
): Promise<CuratedDocument<T> | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    problems.add({ file, line: 1 }, unreadable(error));
    return undefined;
  }
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter });
  for (const error of document.errors) {
    const reason = error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '');
    problems.add({ file, line: error.linePos?.[0].line ?? 1 }, `not readable as YAML: ${reason}`);
  }
  if (document.errors.length > 0) return undefined;
  const at = (path: Path): Position => ({ file, line: findLine(document, path, counter) });
  const parsed = schema.safeParse(document.toJS());
  if (parsed.success) return { value: parsed.data, at };
  for (const issue of parsed.error.issues) addIssue(issue, at, problems);
  return undefined;
}

function addIssue(issue: z.core.$ZodIssue, at: (path: Path) => Position, problems: Problems): void {
  const field = issue.path.length > 0 ? `${issue.path.join('.')}: ` : '';
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) problems.add(at([...issue.path, key]), `${field}unknown field "${key}"`);
  } else {
    problems.add(at(issue.path), `${field}${issue.message}`);
  }
}

function findLine(document: Document, path: Path, counter: LineCounter): number {
  for (let depth = path.length; depth >= 0; depth--) {
    const offset = findOffset(document, path.slice(0, depth));
    if (offset !== undefined) return counter.linePos(offset).line;
  }
  return 1;
}

/** The position of the key rather than of the value: a mapping starts on the line after its key. */
function findOffset(document: Document, path: Path): number | undefined {
  const parent: unknown = document.getIn(path.slice(0, -1), true);
  if (path.length > 0 && isMap(parent)) {
    const name = String(path.at(-1));
    const pair = parent.items.find((item) => isScalar(item.key) && String(item.key.value) === name);
    return isNode(pair?.key) ? pair.key.range?.[0] : undefined;
  }
  const node: unknown = path.length === 0 ? document.contents : document.getIn(path, true);
  return isNode(node) ? node.range?.[0] : undefined;
}
