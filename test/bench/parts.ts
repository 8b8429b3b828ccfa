/** The parts of the bench in order; each can run alone. */
import { coldRows } from './cold.ts';
import { cachedRows, keyedRows, refusalRows } from './comparisons.ts';
import { derivedRows } from './derived.ts';
import { fileRows } from './files.ts';
import { formatRows } from './formats.ts';
import { mcpRows } from './mcp.ts';
import { nightlyRows } from './night.ts';
import { pageRows } from './pages.ts';
import { paintRows } from './paint.ts';
import type { Row, Skipped } from './report.ts';
import { searchRows } from './search.ts';
import type { Session } from './session.ts';
import { startRows } from './start.ts';
import { repeatStarts } from './throughput.ts';

type Part = (session: Session) => Promise<(Row | Skipped)[]>;

const overStarts =
  (measure: Part): Part =>
  (session) =>
    repeatStarts(() => measure(session));

export const PARTS: ReadonlyMap<string, Part> = new Map<string, Part>([
  ['night', nightlyRows],
  ['start', startRows],
  ['cached', overStarts(cachedRows)],
  ['keyed', overStarts(keyedRows)],
  ['files', overStarts(fileRows)],
  ['refusals', overStarts(refusalRows)],
  ['cold', coldRows],
  ['derived', derivedRows],
  ['formats', formatRows],
  ['search', overStarts(searchRows)],
  ['mcp', overStarts(mcpRows)],
  ['pages', pageRows],
  ['paint', paintRows],
]);

/**
 * The parts that `--only` names, or all.
 * @throws for an unknown name
 */
export function chosenParts(only: string | undefined): [string, Part][] {
  if (only === undefined) return [...PARTS];
  const names = only.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !PARTS.has(name));
  if (unknown !== undefined)
    throw new Error(`unknown part "${unknown}"; parts: ${[...PARTS.keys()].join(', ')}`);
  return [...PARTS].filter(([name]) => names.includes(name));
}

/** Runs parts in sequence. A failed part becomes a row; the others still run. */
export async function runParts(session: Session, parts: [string, Part][]): Promise<(Row | Skipped)[]> {
  const rows: (Row | Skipped)[] = [];
  for (const [name, part] of parts) {
    try {
      rows.push(...(await part(session)));
    } catch (error) {
      rows.push({ name, skipped: `failed: ${(error as Error).message}`, failed: true });
    }
  }
  return rows;
}
