/**
 * Load: what a service must bear for long, and what it must survive.
 *
 * Capacity is found first, by callers who wait for each answer. Then requests come whether or not earlier ones have been
 * answered: at four fifths of capacity, where nothing may fail or grow, and at three times capacity, where the service must
 * say no at once instead of making everybody wait. The generator shares the machine's cores with the gateway and Redis, so
 * capacity is that of all three together; it is measured again before the overload, since the machine may have changed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { requestText } from '../bench/http-client.ts';
import type { LoadJob, LoadResult } from '../bench/load.ts';
import { type Gateway, type Helper, startHelper } from '../bench/processes.ts';
import { median } from '../bench/report.ts';
import { connectionFaults } from './connections.ts';
import type { OpenLoopJob, OpenLoopResult, Second } from './open-loop.ts';
import type { Reporter } from './parts.ts';
import { type Customer, openAccounts, Site, storeOn } from './site.ts';

export interface LoadScale {
  /** How long four fifths of capacity are borne. */
  steady_s: number;
  overload_s: number;
  idle_connections: number;
}

const FULL: LoadScale = { steady_s: 60, overload_s: 15, idle_connections: 10_000 };
const CUSTOMERS = 40;
/** Every call costs one credit, so that what was served is what was spent. */
const PATHS = [
  '/v1/countries/KEN',
  '/v1/rankings/alpha.life_expectancy',
  '/v1/data?indicator=beta.long_series&countries=KEN&from=2000&to=2000',
];
const CLOSED_CONNECTIONS = 64;
const OPEN_CONNECTIONS = 4_000;
const CAPACITY_MS = 4_000;
const PATIENCE_MS = 15_000;
const SHARE = 0.8;
const OVER = 3;
const SAMPLE_MS = 1_000;
/** Whatever grows with each request grows by far more than this. */
const MEMORY_GROWTH_MB = 48;
const HANDLES_GROWTH = 32;
const RECOVERED_WITHIN_S = 5;
const RECOVERY_S = 8;

interface Stage {
  gateway: Gateway;
  requests: string[];
  closed: Helper;
  open: Helper;
}

export async function loadFaults(report: Reporter, scale: LoadScale = FULL): Promise<void> {
  await using site = await Site.open();
  const gateway = await site.gateway();
  const redis = await site.connect();
  const store = storeOn(redis);
  const customers = await openAccounts(store, CUSTOMERS);
  await using closed = startHelper('load.ts');
  await using open = startHelper('../faults/open-loop.ts');
  const stage = { gateway, requests: requestsOf(customers), closed, open };
  const spent = async (): Promise<number> => {
    const accounts = await Promise.all(customers.map(({ account_id }) => store.get(account_id)));
    return accounts.reduce((sum, { credits }) => sum + credits.lifetime_spent, 0);
  };
  await capacityOf(stage);
  await steady(report, stage, await capacityOf(stage), scale.steady_s);
  await overload(report, stage, await capacityOf(stage), scale.overload_s, spent);
  const [customer] = customers;
  if (customer) await connectionFaults(report, gateway, customer, scale.idle_connections);
}

const requestsOf = (customers: readonly Customer[]): string[] =>
  customers.flatMap(({ key }) =>
    PATHS.map((path) => requestText({ path, headers: { authorization: `Bearer ${key}` } })),
  );

/** Answers a second to callers who wait for each. */
async function capacityOf({ gateway, requests, closed }: Stage): Promise<number> {
  const result = await closed.ask<LoadJob, LoadResult>({
    port: gateway.port,
    requests,
    connections: CLOSED_CONNECTIONS,
    duration_ms: CAPACITY_MS,
  });
  return result.answers / (result.duration_ms / 1000);
}

const openLoop = ({ gateway, requests, open }: Stage, rate: number, duration_s: number) =>
  open.ask<OpenLoopJob, OpenLoopResult>({
    port: gateway.port,
    requests,
    rate,
    duration_ms: duration_s * 1000,
    connections_most: OPEN_CONNECTIONS,
    patience_ms: PATIENCE_MS,
  });

const whole = (value: number): string => Math.round(value).toLocaleString('en');
const worst = (seconds: readonly Second[]): number => median(seconds.map((second) => second.served_p99_ms));

async function steady(report: Reporter, stage: Stage, capacity: number, duration_s: number): Promise<void> {
  const { gateway } = stage;
  const before = await gateway.handles();
  const samples: number[] = [];
  const running = openLoop(stage, SHARE * capacity, duration_s);
  const sampling = setInterval(async () => {
    samples.push((await gateway.memory()) ?? Number.NaN);
  }, SAMPLE_MS);
  const result = await running.finally(() => clearInterval(sampling));
  const { due, refused, failed } = result.whole;
  const third = Math.floor(result.seconds.length / 3);
  const [early, late] = [worst(result.seconds.slice(0, third)), worst(result.seconds.slice(-third))];
  report(
    'Load at 80 % of capacity: no call fails, and the slow ones do not get slower',
    `${whole(due)} calls in ${duration_s} s at ${whole(SHARE * capacity)}/s: ${refused} refused, ${failed} failed; p50 ${result.whole.served_p50_ms.toFixed(1)} ms; p99 of a second ${early.toFixed(0)} ms in the first third, ${late.toFixed(0)} ms in the last`,
    refused === 0 && failed === 0 && late <= 3 * early + 50,
  );
  const part = Math.max(1, Math.floor(samples.length / 3));
  const [first, last] = [median(samples.slice(0, part)), median(samples.slice(-part))];
  const after = await settledHandles(gateway, before);
  report(
    'Load at 80 % of capacity: memory and file handles stay flat',
    `${whole(first)} MB in the first third, ${whole(last)} MB in the last; ${before} handles before, ${after} after`,
    !(last > first * 1.15 + MEMORY_GROWTH_MB) && isFlat(before, after),
  );
}

export const isFlat = (before: number | null, after: number | null): boolean =>
  before === null || after === null || after <= before + HANDLES_GROWTH;

/** The handles once the gateway has seen that callers have gone, or after some seconds. */
export async function settledHandles(gateway: Gateway, before: number | null): Promise<number | null> {
  let after = await gateway.handles();
  for (let look = 0; look < 10 && !isFlat(before, after); look++) {
    await pause(500);
    after = await gateway.handles();
  }
  return after;
}

async function overload(
  report: Reporter,
  stage: Stage,
  capacity: number,
  duration_s: number,
  spent: () => Promise<number>,
): Promise<void> {
  const before = await spent();
  const over = await openLoop(stage, OVER * capacity, duration_s);
  const after = await openLoop(stage, capacity / 2, RECOVERY_S);
  const cost = (await spent()) - before;
  const { due, served, refused, failed, refused_p50_ms, refused_p99_ms } = over.whole;
  const goodput = served / duration_s / capacity;
  report(
    'Load at 3 × capacity: what cannot be served is refused with 503 and Retry-After, and the service does not collapse',
    `${whole(due)} calls at ${whole(OVER * capacity)}/s: ${whole((100 * refused) / due)} % refused (p50 ${whole(refused_p50_ms)} ms, p99 ${whole(refused_p99_ms)} ms since due), ${failed} without an answer; served ${goodput.toFixed(2)} × capacity`,
    refused > 0 && failed === 0 && goodput > 0.3,
  );
  report(
    'Load at 3 × capacity: what was served was charged, once; a refusal costs nothing',
    `${whole(served + after.whole.served)} served, ${whole(cost)} credits spent`,
    failed > 0 || cost === served + after.whole.served,
  );
  const well = after.seconds.findIndex((second) => second.refused === 0 && second.failed === 0);
  const isWell =
    well >= 0 && after.seconds.slice(well).every((second) => second.refused + second.failed === 0);
  report(
    'After an overload all is as before within seconds',
    isWell
      ? `nothing refused from second ${well} on; p99 of the last second ${whole(after.seconds.at(-1)?.served_p99_ms ?? 0)} ms`
      : `still ${after.seconds.at(-1)?.refused} refused in the last second`,
    isWell && well <= RECOVERED_WITHIN_S,
  );
}
