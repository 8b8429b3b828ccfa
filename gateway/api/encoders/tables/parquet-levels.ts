/** Which cells of a column are missing, as Parquet holds it: a level a row. */
import { runBytesMax, writeRun, writeRuns } from './parquet-runs.ts';
import { Scratch } from './scratch.ts';
import { NO_FLAG, NO_WORD, type Vector } from './table.ts';

/** Which cells of a column have a value. */
export interface Presence {
  rows: number;
  /** How many have one. */
  present: number;
  /** By row: 1 where there is a value. Null where all have one, or none. */
  levels: Uint8Array | null;
}

const LEVELS = new Scratch(Uint8Array);
const LEVEL_RUNS = new Scratch(Uint8Array);

export function presenceOf(vector: Vector, rows: number): Presence {
  const levels = LEVELS.of(rows);
  const present = vector.type === 'double' ? markNumbers(vector.values, levels) : markCodes(vector, levels);
  return { rows, present, levels: present === rows || present === 0 ? null : levels };
}

/** @returns how many are present */
function markNumbers(values: Float64Array, levels: Uint8Array): number {
  let present = 0;
  for (let row = 0; row < levels.length; row += 1) {
    const level = Number.isNaN(values[row]) ? 0 : 1;
    levels[row] = level;
    present += level;
  }
  return present;
}

/** @returns how many are present */
function markCodes(vector: Exclude<Vector, { type: 'double' }>, levels: Uint8Array): number {
  const [codes, missing] =
    vector.type === 'text'
      ? [vector.codes, NO_WORD]
      : [vector.values, vector.type === 'boolean' ? NO_FLAG : vector.nullAs];
  if (missing === null) return levels.length;
  let present = 0;
  for (let row = 0; row < levels.length; row += 1) {
    const level = codes[row] === missing ? 0 : 1;
    levels[row] = level;
    present += level;
  }
  return present;
}

/** In the hybrid of runs and packed bits; most columns are one run. */
export function definitionLevels({ rows, present, levels }: Presence): Uint8Array {
  const into = LEVEL_RUNS.of(runBytesMax(rows, 1));
  const written =
    levels === null
      ? writeRun({ value: present === 0 ? 0 : 1, count: rows }, 1, into, 0)
      : writeRuns(levels, 1, into);
  return into.subarray(0, written);
}
