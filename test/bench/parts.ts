/** The parts of the bench in order; each can run alone. */

import { coldRows } from './cold.ts';
import { cachedRows, keyedRows, refusalRows } from './comparisons.ts';
import type { Cost } from './cost-table.ts';
import { costs } from './costs.ts';
import { fileRows } from './files.ts';
import { formatRows } from './formats.ts';
import { mcpRows } from './mcp.ts';
import { nightlyRows } from './night.ts';
import { pageRows } from './pages.ts';
import { paintRows } from './paint.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';
import { startRows } from './start.ts';
import { repeatStarts } from './throughput.ts';

export interface Found {
  rows: (Row | Skipped)[];
  costs?: Cost[];
}

type Part = (session: Session) => Promise<Found>;

const rowsOf =
  (measure: (session: Session) => Promise<(Row | Skipped)[]>): Part =>
  async (session) => ({ rows: await measure(session) });

const rowsOverStarts = (measure: (session: Session) => Promise<(Row | Skipped)[]>): Part =>
  rowsOf((session) => repeatStarts(() => measure(session)));

export const PARTS: ReadonlyMap<string, Part> = new Map<string, Part>([
  ['night', rowsOf(nightlyRows)],
  ['start', rowsOf(startRows)],
  ['cached', rowsOverStarts(cachedRows)],
  ['keyed', rowsOverStarts(keyedRows)],
  ['files', rowsOverStarts(fileRows)],
  ['refusals', rowsOverStarts(refusalRows)],
  ['cold', rowsOf(coldRows)],
  ['formats', rowsOf(formatRows)],
  ['mcp', rowsOverStarts(mcpRows)],
  ['pages', rowsOf(pageRows)],
  ['paint', rowsOf(paintRows)],
  ['costs', async (session) => ({ rows: [], costs: await costs(session) })],
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
export async function runParts(session: Session, parts: [string, Part][]): Promise<Found> {
  const all: Required<Found> = { rows: [], costs: [] };
  for (const [name, part] of parts) {
    try {
      const found = await part(session);
      all.rows.push(...found.rows);
      all.costs.push(...(found.costs ?? []));
    } catch (error) {
      all.rows.push({ name, skipped: `failed: ${(error as Error).message}`, failed: true });
    }
  }
  return all;
}
