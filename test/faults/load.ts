/**
 * Sustained load and overload.
 *
 * Capacity is measured first: with a closed loop, then as the share of it that an open loop sustains at a bounded p99
 * while Redis rewrites its append-only file. Then an open loop sends 80 % of capacity, where nothing may fail or grow,
 * and three times capacity, where the service must refuse at once. The generator has a core of its own. Capacity varies
 * with other work on the machine, so the long load is cut into pieces, each between two measurements; a piece in which
 * the machine became slower is void and repeated. An overload that is served whole was none, because the machine became
 * faster; it is repeated with more calls.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { requestText } from '../bench/http-client.ts';
import type { LoadJob, LoadResult } from '../bench/load.ts';
import { type ForkedTask, forkTask } from '../bench/processes.ts';
import { median } from '../bench/report.ts';
import { type ConnectionScale, connectionFaults } from './connections.ts';
import { withSeparateCores } from './cpu-affinity.ts';
import { type Customer, createCustomers, Deployment, storeOn } from './deployment.ts';
import { fillDay } from './ledger-days.ts';
import { isFlat, type MeasuredGateway, settledHandles, startMeasuredGateway } from './measured-gateway.ts';
import type { OpenLoopJob, OpenLoopResult, Second } from './open-loop.ts';
import type { Reporter } from './table.ts';

export interface LoadScale extends ConnectionScale {
  /** Whether the generator gets a core of its own, where there are two. */
  apart: boolean;
  /** Ledger entries before the first call. */
  entries: number;
  /** Duration of one capacity measurement. */
  capacity_ms: number;
  /** Duration of one trial of an open-loop rate. */
  trial_ms: number;
  /** Duration of the load at 80 % of capacity. */
  steady_s: number;
  overload_s: number;
}

const FULL: LoadScale = {
  apart: true,
  entries: 1_000_000,
  capacity_ms: 3_000,
  trial_ms: 6_000,
  steady_s: 180,
  overload_s: 15,
  idle_connections: 10_000,
  drippers: 300,
};
const CUSTOMERS = 40;
/** Every call costs one credit, so calls served equal credits spent. */
const PATHS = [
  '/v1/countries/KEN',
  '/v1/rankings/alpha.life_expectancy',
  '/v1/data?indicator=beta.long_series&countries=KEN&from=2000&to=2000',
];
const CLOSED_CONNECTIONS = 64;
const OPEN_CONNECTIONS = 4_000;
const PIECE_S = 10;
/** Limit for the p99 latency of a sustained rate. */
const GOOD_TIME_MS = 250;
const HALVINGS = 4;
/** Below this ratio of two measurements, other work slowed the machine down. */
const SLOWER = 0.85;
const VOID_MOST = 6;
const PATIENCE_MS = 15_000;
const SHARE = 0.8;
const OVER = 3;
/** By how much an overload grows that was served whole, and how often. */
const MORE = 1.5;
const MORE_MOST = 4;
const SAMPLE_MS = 1_000;
/** Tolerance for garbage; a leak per request exceeds it in three minutes. */
const MEMORY_GROWTH_MB = 48;
/** Tolerance after a collection: some tens of bytes a call. */
const ALIVE_GROWTH_MB = 2;
/** Limit for the median latency of a refusal. */
const AT_ONCE_MS = 250;
const RECOVERED_WITHIN_S = 5;
const RECOVERY_S = 8;

interface Stage {
  gateway: MeasuredGateway;
  redis: RedisClient;
  requests: string[];
  scale: LoadScale;
  closed: ForkedTask;
  open: ForkedTask;
}

export default async function loadFaults(report: Reporter, scale: LoadScale = FULL): Promise<void> {
  await using deployment = await Deployment.open();
  const start = () => startMeasuredGateway(deployment);
  await using cores = scale.apart ? await withSeparateCores(start) : null;
  const gateway = cores?.started ?? (await start());
  const redis = await deployment.connect();
  const store = storeOn(redis);
  const customers = await createCustomers(store, CUSTOMERS);
  await using closed = forkTask(new URL('../bench/load.ts', import.meta.url));
  await using open = forkTask(new URL('open-loop.ts', import.meta.url));
  const stage = { gateway, redis, requests: requestsOf(customers), scale, closed, open };
  const spent = async (): Promise<number> => {
    const accounts = await Promise.all(customers.map(({ account_id }) => store.get(account_id)));
    return accounts.reduce((sum, { credits }) => sum + credits.lifetime_spent, 0);
  };
  await fillDay(redis, scale.entries);
  await capacityOf(stage);
  const share = await openShare(stage);
  await steady(report, stage, share, scale.steady_s);
  await overload(report, stage, share * (await capacityOf(stage)), scale.overload_s, spent);
  const [customer] = customers;
  if (customer) await connectionFaults(report, gateway, customer, scale);
}

const requestsOf = (customers: readonly Customer[]): string[] =>
  customers.flatMap(({ key }) =>
    PATHS.map((path) => requestText({ path, headers: { authorization: `Bearer ${key}` } })),
  );

/** Closed-loop responses per second. */
async function capacityOf({ gateway, requests, scale, closed }: Stage): Promise<number> {
  const result = await closed.ask<LoadJob, LoadResult>({
    port: gateway.port,
    requests,
    connections: CLOSED_CONNECTIONS,
    duration_ms: scale.capacity_ms,
  });
  return result.answers / (result.duration_ms / 1000);
}

/** The share of closed-loop capacity that an open loop sustains, found by bisection. */
async function openShare(stage: Stage): Promise<number> {
  const closed = await capacityOf(stage);
  let [low, high] = [0, 1];
  for (let step = 0; step < HALVINGS; step++) {
    const share = (low + high) / 2;
    // A second trial rules out interference from other work on the machine.
    const isBorne = (await bears(stage, share * closed)) || (await bears(stage, share * closed));
    [low, high] = isBorne ? [share, high] : [low, share];
  }
  return Math.max(low, 1 / 2 ** HALVINGS);
}

async function bears(stage: Stage, rate: number): Promise<boolean> {
  await stage.redis.bgrewriteaof().catch((error: Error) => {
    if (!error.message.includes('already in progress')) throw error;
  });
  const { whole } = await openLoop(stage, rate, stage.scale.trial_ms / 1000);
  return whole.refused + whole.failed === 0 && whole.served_p99_ms < GOOD_TIME_MS;
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

/** The pieces of the long load that count, and how many did not. */
async function pieces(
  stage: Stage,
  share: number,
  duration_s: number,
): Promise<{ good: OpenLoopResult[]; voids: number }> {
  const good: OpenLoopResult[] = [];
  let voids = 0;
  let capacity = await capacityOf(stage);
  while (good.length < Math.ceil(duration_s / PIECE_S)) {
    const result = await openLoop(stage, SHARE * share * capacity, Math.min(PIECE_S, duration_s));
    const after = await capacityOf(stage);
    const isVoid = after < SLOWER * capacity && voids < VOID_MOST;
    if (isVoid) voids++;
    else good.push(result);
    capacity = after;
  }
  return { good, voids };
}

async function steady(report: Reporter, stage: Stage, share: number, duration_s: number): Promise<void> {
  const { gateway } = stage;
  const { alive } = await gateway.collect();
  const before = await gateway.handles();
  const samples: number[] = [];
  const running = pieces(stage, share, duration_s);
  const sampling = setInterval(async () => {
    samples.push((await gateway.memory()) ?? Number.NaN);
  }, SAMPLE_MS);
  const { good, voids } = await running.finally(() => clearInterval(sampling));
  const seconds = good.flatMap((piece) => piece.seconds);
  const sum = (what: 'due' | 'refused' | 'failed'): number =>
    seconds.reduce((total, second) => total + second[what], 0);
  const third = Math.max(1, Math.floor(seconds.length / 3));
  const [early, late] = [worst(seconds.slice(0, third)), worst(seconds.slice(-third))];
  const slowest = Math.max(...seconds.map((second) => second.served_p99_ms));
  const p50 = median(seconds.map((second) => second.served_p50_ms));
  report(
    'Load at 80 % of capacity: no call fails, and the tail latency does not grow',
    `${whole(sum('due'))} calls in ${seconds.length} s: ${sum('refused')} refused, ${sum('failed')} failed; p50 ${p50.toFixed(1)} ms; p99 of a second ${early.toFixed(0)} ms in the first third, ${late.toFixed(0)} ms in the last, ${slowest.toFixed(0)} ms in the slowest; ${voids} pieces repeated because the machine slowed down`,
    sum('refused') + sum('failed') === 0 && late <= 3 * early + 50,
  );
  const part = Math.max(1, Math.floor(samples.length / 3));
  const [first, last] = [median(samples.slice(0, part)), median(samples.slice(-part))];
  report(
    'Load at 80 % of capacity: resident memory stays flat',
    `${whole(first)} MB in the first third, ${whole(last)} MB in the last`,
    !(last > first * 1.15 + MEMORY_GROWTH_MB),
  );
  const after = await settledHandles(gateway, before);
  const left = await gateway.collect();
  report(
    'Load at 80 % of capacity: calls leak neither memory nor file handles',
    `${alive.toFixed(1)} MB alive before, ${left.alive.toFixed(1)} MB after; ${before} handles before, ${after} after`,
    left.alive < alive + ALIVE_GROWTH_MB && isFlat(before, after),
  );
}

async function overload(
  report: Reporter,
  stage: Stage,
  capacity: number,
  duration_s: number,
  spent: () => Promise<number>,
): Promise<void> {
  const before = await settled(spent);
  const { whole: over, servedBefore } = await overloaded(stage, capacity, duration_s);
  const after = await openLoop(stage, capacity / 2, Math.min(RECOVERY_S, duration_s));
  const cost = (await settled(spent)) - before;
  const { due, served, refused, failed, refused_p50_ms, refused_p99_ms } = over;
  const goodput = served / duration_s / capacity;
  const paid = servedBefore + served + after.whole.served;
  report(
    'Load at 3 × capacity: excess calls are refused at once with 503 and Retry-After, and throughput does not collapse',
    `${whole(due)} calls at ${whole(due / duration_s)}/s: ${whole((100 * refused) / due)} % refused (p50 ${whole(refused_p50_ms)} ms, p99 ${whole(refused_p99_ms)} ms since due), ${failed} without an answer; served ${goodput.toFixed(2)} × capacity`,
    refused > 0 && failed === 0 && goodput > 0.3 && refused_p50_ms < AT_ONCE_MS,
  );
  report(
    'Load at 3 × capacity: each served call is charged once; a refusal costs nothing',
    `${whole(paid)} served, ${whole(cost)} credits spent`,
    failed > 0 || cost === paid,
  );
  const well = after.seconds.findLastIndex(({ refused, failed }) => refused + failed > 0) + 1;
  report(
    'The service recovers from an overload within seconds',
    `nothing refused from second ${well} on; p99 of the last second ${whole(after.seconds.at(-1)?.served_p99_ms ?? 0)} ms`,
    well <= RECOVERED_WITHIN_S,
  );
}

/** At least three times capacity, and more than is served whole; how many calls were served before that. */
async function overloaded(
  stage: Stage,
  capacity: number,
  duration_s: number,
): Promise<{ whole: Second; servedBefore: number }> {
  let servedBefore = 0;
  for (let step = 0; ; step++) {
    const { whole } = await openLoop(stage, OVER * capacity * MORE ** step, duration_s);
    if (whole.served < whole.due || step === MORE_MOST) return { whole, servedBefore };
    servedBefore += whole.served;
  }
}

/** Waits until spending stops: calls of disconnected callers are still charged. */
async function settled(spent: () => Promise<number>): Promise<number> {
  for (let before = await spent(); ; ) {
    await pause(500);
    const now = await spent();
    if (now === before) return now;
    before = now;
  }
}
