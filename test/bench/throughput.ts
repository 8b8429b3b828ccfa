/** Requests per second of the gateway and of floors that do the same work, in alternating rounds. */
import { type Call, requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { ForkedTask } from './processes.ts';
import type { CpuTime, Row, Sample, Skipped } from './report.ts';

const WARM_UP_MS = 700;
/**
 * Many short rounds: noise affects both of a pair, and the median drops outliers. With eleven rounds equal candidates
 * differed by up to 4 %. These are the rounds of one start of three; see `repeatStarts`.
 */
const ROUND_MS = 300;
const ROUNDS = 9;
const CONNECTIONS = 32;

export interface Candidate {
  name: string;
  port: number;
  call: Call;
  /** Expected status; default 200. */
  status?: number | undefined;
  /** CPU time so far, in ms. */
  cpu: () => Promise<number | null>;
}

export interface Comparison {
  name: string;
  gateway: Candidate;
  floor: Candidate & { atLeast?: number | undefined };
  connections?: number | undefined;
}

/** Sums over all rounds of a candidate. */
interface Tally {
  perSecond: number[];
  answers: number;
  cpu_ms: number | null;
}

async function requestsPerSecond(
  load: ForkedTask,
  candidate: Candidate,
  job: Pick<LoadJob, 'connections' | 'duration_ms'>,
): Promise<{ answers: number; perSecond: number }> {
  const { name, port, call, status = 200 } = candidate;
  const result = await load.ask<LoadJob, LoadResult>({ ...job, port, status, requests: [requestText(call)] });
  if (result.errors > 0) throw new Error(`${name} ${call.path}: ${result.errors} answers were not ${status}`);
  return { answers: result.answers, perSecond: result.answers / (result.duration_ms / 1000) };
}

/** The order alternates: gateway, floor; floor, gateway; … */
export async function throughput(load: ForkedTask, comparison: Comparison): Promise<Row> {
  const { name, gateway, floor, connections = CONNECTIONS } = comparison;
  const candidates = [gateway, floor];
  for (const candidate of candidates)
    await requestsPerSecond(load, candidate, { connections, duration_ms: WARM_UP_MS });
  const tallies = new Map(
    candidates.map((candidate): [Candidate, Tally] => [candidate, { perSecond: [], answers: 0, cpu_ms: 0 }]),
  );
  for (let round = 0; round < ROUNDS; round++) {
    const inTurn = round % 2 === 0 ? [...tallies] : [...tallies].reverse();
    for (const [candidate, tally] of inTurn) {
      const before = await candidate.cpu();
      const { answers, perSecond } = await requestsPerSecond(load, candidate, {
        connections,
        duration_ms: ROUND_MS,
      });
      const after = await candidate.cpu();
      tally.perSecond.push(perSecond);
      tally.answers += answers;
      tally.cpu_ms =
        tally.cpu_ms === null || before === null || after === null ? null : tally.cpu_ms + after - before;
    }
  }
  const sample = (candidate: Candidate): Row['measured'] => {
    const { perSecond, answers, cpu_ms } = tallies.get(candidate) as Tally;
    const cpu_us = cpu_ms === null ? null : (cpu_ms * 1000) / answers;
    return { unit: 'req/s', rounds: perSecond, cpu_us };
  };
  return {
    name,
    measured: sample(gateway),
    floor: { name: floor.name, sample: sample(floor) },
    ...(floor.atLeast !== undefined && { goal: { at: 'least', bound: floor.atLeast } }),
  };
}

type Rows = (Row | Skipped)[];

const STARTS = 3;

/**
 * Merges rows over several starts of the compared programs. Equal programs differ by a few percent from start to start,
 * by memory layout, which more rounds within one start do not show.
 * @param measure starts all programs and returns rows of the same names each time
 */
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

/** A row that was skipped once stays skipped. */
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
