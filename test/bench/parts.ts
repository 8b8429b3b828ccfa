/** The parts of the bench in order; each can run alone. */

import { buildRows, nightlyRows } from './builds.ts';
import { clientRows } from './clients.ts';
import { coldRows } from './cold.ts';
import { cachedRows, keyedRows, refusalRows } from './comparisons.ts';
import type { Cost } from './cost-table.ts';
import { costs } from './costs.ts';
import { editionRows } from './editions.ts';
import { fileRows } from './files.ts';
import { formatRows } from './formats.ts';
import { mcpRows } from './mcp.ts';
import { pageRows } from './pages.ts';
import { paintRows } from './paint.ts';
import { pictureRows } from './pictures.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';
import { memoryRows, startRows } from './start-and-memory.ts';
import { repeatStarts } from './throughput.ts';
import { usersRows } from './users.ts';
import { workersRows } from './workers.ts';

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
  ['build', rowsOf(buildRows)],
  ['night', rowsOf(nightlyRows)],
  ['start', rowsOf(startRows)],
  ['cached', rowsOverStarts(cachedRows)],
  ['keyed', rowsOverStarts(keyedRows)],
  ['files', rowsOverStarts(fileRows)],
  ['refusals', rowsOverStarts(refusalRows)],
  ['cold', rowsOf(coldRows)],
  ['memory', rowsOf(memoryRows)],
  ['workers', rowsOverStarts(workersRows)],
  ['formats', rowsOf(formatRows)],
  ['clients', rowsOf(clientRows)],
  ['users', rowsOf(usersRows)],
  ['mcp', rowsOverStarts(mcpRows)],
  ['pages', rowsOf(pageRows)],
  ['pictures', rowsOf(pictureRows)],
  ['paint', rowsOf(paintRows)],
  ['editions', rowsOf(editionRows)],
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
