/** The parts of the bench in the order they run; each can be run alone. */

import { buildRows, startRows } from './builds.ts';
import { coldRows } from './cold.ts';
import { cachedRows, keyedRows, refusalRows } from './comparisons.ts';
import type { Cost } from './cost-table.ts';
import { costs } from './costs.ts';
import { nightRows } from './night.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';
import { memoryRows } from './start-and-memory.ts';
import { repeatStarts } from './starts.ts';
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
  ['night', rowsOf(nightRows)],
  ['start', rowsOf(startRows)],
  ['cached', rowsOverStarts(cachedRows)],
  ['keyed', rowsOverStarts(keyedRows)],
  ['refusals', rowsOverStarts(refusalRows)],
  ['cold', rowsOf(coldRows)],
  ['memory', rowsOf(memoryRows)],
  ['workers', rowsOverStarts(workersRows)],
  ['users', rowsOf(usersRows)],
  ['costs', async (session) => ({ rows: [], costs: await costs(session) })],
]);

/**
 * The parts that `--only` names; all of them without it.
 * @throws when a name is none of a part.
 */
export function chosenParts(only: string | undefined): [string, Part][] {
  if (only === undefined) return [...PARTS];
  const names = only.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !PARTS.has(name));
  if (unknown !== undefined)
    throw new Error(`there is no part "${unknown}"; parts: ${[...PARTS.keys()].join(', ')}`);
  return [...PARTS].filter(([name]) => names.includes(name));
}

/** Runs parts one after another. A part that fails is a row that says so, and the others run. */
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
