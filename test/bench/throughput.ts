/** Requests per second of the gateway beside a floor that does the same work, in short turns. */
import type { Call } from './http-client.ts';
import { requestTexts } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { ForkedTask } from './processes.ts';
import type { Row } from './report.ts';

const WARM_UP_MS = 700;
/**
 * Many short rounds: what else happens on the machine hits a pair of neighbours alike, and the median drops the rest. With
 * eleven, equal candidates differed by up to 4 in 100. These are the rounds of one start of three; see `repeatStarts`.
 */
const ROUND_MS = 300;
const ROUNDS = 9;
const CONNECTIONS = 32;

export interface Candidate {
  name: string;
  port: number;
  call: Call;
  /** The status that every answer must have; default 200. */
  status?: number;
  /** CPU time that it has used so far, in milliseconds. */
  cpu: () => Promise<number | null>;
}

export interface Comparison {
  name: string;
  gateway: Candidate;
  floors: (Candidate & { atLeast?: number })[];
  connections?: number;
}

/** What a candidate did in all its rounds. */
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
  const result = await load.ask<LoadJob, LoadResult>({ ...job, port, status, requests: requestTexts(call) });
  if (result.errors > 0) throw new Error(`${name} ${call.path}: ${result.errors} answers were not ${status}`);
  return { answers: result.answers, perSecond: result.answers / (result.duration_ms / 1000) };
}

/** One row per floor. Neighbours take turns, and turn about: gateway, floor; floor, gateway; … */
export async function throughput(load: ForkedTask, comparison: Comparison): Promise<Row[]> {
  const { name, gateway, floors, connections = CONNECTIONS } = comparison;
  const candidates = [gateway, ...floors];
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
  return floors.map((floor) => ({
    name: floors.length > 1 ? `${name} / ${floor.name}` : name,
    measured: sample(gateway),
    floor: { name: floor.name, sample: sample(floor) },
    ...(floor.atLeast !== undefined && { goal: { at: 'least', bound: floor.atLeast } }),
  }));
}
