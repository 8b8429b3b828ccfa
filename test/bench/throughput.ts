/** Requests per second of the gateway beside a floor that sends the same bytes, in turns. */
import type { Call } from './http-client.ts';
import { requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { Helper } from './processes.ts';
import type { Row } from './report.ts';

const WARM_UP_MS = 700;
const ROUND_MS = 1_500;
const ROUNDS = 5;
const CONNECTIONS = 32;

export interface Contender {
  name: string;
  port: number;
  call: Call;
}

export interface Contest {
  name: string;
  gateway: Contender;
  floors: (Contender & { atLeast: number })[];
}

async function requestsPerSecond(load: Helper, { name, port, call }: Contender, duration_ms: number) {
  const result = await load.ask<LoadJob, LoadResult>({
    port,
    requests: [requestText(call)],
    connections: CONNECTIONS,
    duration_ms,
  });
  if (result.errors > 0) throw new Error(`${name} ${call.path}: ${result.errors} answers were not 200`);
  return result.answers / (result.duration_ms / 1000);
}

/** One row per floor. Rounds go gateway, floor, gateway, floor, … so that each pair saw the same machine. */
export async function throughput(load: Helper, { name, gateway, floors }: Contest): Promise<Row[]> {
  const contenders = [gateway, ...floors];
  for (const contender of contenders) await requestsPerSecond(load, contender, WARM_UP_MS);
  const rounds = new Map(contenders.map((contender): [Contender, number[]] => [contender, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const [contender, values] of rounds) values.push(await requestsPerSecond(load, contender, ROUND_MS));
  const sample = (contender: Contender) => ({ unit: 'req/s' as const, rounds: rounds.get(contender) ?? [] });
  return floors.map((floor) => ({
    name: floors.length > 1 ? `${name} / ${floor.name}` : name,
    measured: sample(gateway),
    floor: { name: floor.name, sample: sample(floor) },
    goal: { at: 'least', bound: floor.atLeast },
  }));
}
