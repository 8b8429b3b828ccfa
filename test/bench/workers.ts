/**
 * Part of the bench: two workers against one process.
 *
 * With two cores the generator, the gateway and Redis compete, so the rate alone says little. Responses per CPU second
 * say more: if two workers reach as many as one process, two free cores double the rate.
 */
import { availableParallelism } from 'node:os';
import type { Measured } from './comparisons.ts';
import type { Gateway } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';

const GAIN_AT_LEAST = 1.6;
/** Two workers, and one for the generator. */
const CORES_FOR_RATE = 3;
const CONNECTIONS = 64;

export async function workersRows(session: Session): Promise<(Row | Skipped)[]> {
  const customer = await session.customer();
  await using alone = await session.gateway();
  await using two = await session.gateway({ WORKERS: '2' });
  const rows: (Row | Skipped)[] = [];
  for (const measured of calls(customer.key)) {
    const found = await session.comparison(measured.name, async () => ({
      name: measured.name,
      gateway: candidate('2 workers', two, measured),
      floors: [candidate('1 process', alone, measured)],
      connections: CONNECTIONS,
    }));
    for (const row of found)
      rows.push(
        ...('skipped' in row ? [row] : [withRateGoal(row, measured), ...perCpuSecond(row, measured)]),
      );
  }
  return rows;
}

const calls = (key: string): Measured[] => [
  {
    name: '2 workers: cached /v1/indicators, identity',
    atLeast: GAIN_AT_LEAST,
    call: { path: '/v1/indicators', headers: { 'accept-encoding': 'identity' } },
  },
  {
    name: '2 workers: cached /v1/topics, gzip',
    atLeast: GAIN_AT_LEAST,
    call: { path: '/v1/topics', headers: { 'accept-encoding': 'gzip' } },
  },
  {
    name: '2 workers: keyed flat, one country',
    call: { path: '/v1/countries/SWE', headers: { authorization: `Bearer ${key}` } },
  },
];

const candidate = (name: string, { port, cpu }: Gateway, { call }: Measured) => ({ name, port, cpu, call });

/** The rate has a goal only with enough cores. */
function withRateGoal(row: Row, { atLeast }: Measured): Row {
  const cores = availableParallelism();
  if (cores < CORES_FOR_RATE) return { ...row, note: `the generator shares the ${cores} cores` };
  return atLeast === undefined ? row : { ...row, goal: { at: 'least', bound: atLeast } };
}

/**
 * Responses per CPU second of the gateway: the gain of two free cores is twice this ratio. Keyed calls cost two workers
 * more, since fewer of them share a round trip to Redis.
 */
function perCpuSecond({ name, measured, floor }: Row, { atLeast }: Measured): Row[] {
  if (!measured.cpu_us || !floor?.sample.cpu_us) return [];
  const rate = (cpu_us: number): Row['measured'] => ({ unit: 'req/s', rounds: [1_000_000 / cpu_us] });
  return [
    {
      name: `${name}, for a second of CPU time`,
      measured: rate(measured.cpu_us),
      floor: { name: floor.name, sample: rate(floor.sample.cpu_us) },
      ...(atLeast !== undefined && { goal: { at: 'least', bound: atLeast / 2 } }),
    },
  ];
}
