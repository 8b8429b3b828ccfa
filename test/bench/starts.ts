/**
 * Rows over several starts of the programs that are compared. Equal programs differ by a few in 100 from start to start, in
 * where their code and data come to lie, and no number of rounds within one start shows it.
 */
import type { CpuTime, Row, Sample, Skipped } from './report.ts';

type Rows = (Row | Skipped)[];

const STARTS = 3;

/** @param measure starts everything anew, and gives rows of the same names each time. */
export async function repeatStarts(measure: () => Promise<Rows>): Promise<Rows> {
  const together = new Map<string, Row | Skipped>();
  for (let start = 0; start < STARTS; start++) {
    for (const row of await measure()) {
      const before = together.get(row.name);
      together.set(row.name, before === undefined ? row : joined(before, row));
    }
  }
  return [...together.values()];
}

/** What could not be measured once is not measured. */
function joined(before: Row | Skipped, row: Row | Skipped): Row | Skipped {
  if ('skipped' in before) return before;
  if ('skipped' in row) return row;
  const floor = before.floor &&
    row.floor && { ...row.floor, sample: samples(before.floor.sample, row.floor.sample) };
  return { ...row, measured: samples(before.measured, row.measured), ...(floor && { floor }) };
}

type Timed = Sample & { cpu_us?: CpuTime };

function samples(before: Timed, then: Timed): Timed {
  const rounds = [...before.rounds, ...then.rounds];
  const sum = (sample: Timed): number => (sample.cpu_us ?? Number.NaN) * sample.rounds.length;
  const cpu_us = (sum(before) + sum(then)) / rounds.length;
  return { ...then, rounds, ...(!Number.isNaN(cpu_us) && { cpu_us }) };
}
