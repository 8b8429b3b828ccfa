/**
 * The directory of the snapshot moved away while it is served, and Redis filled to its limit. Calls that cannot be served
 * are refused free of charge, /readyz tells the cause, and all is as before once the cause is gone.
 */
import { rename } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { RedisClient } from '../../data/runtime/redis.ts';
import type { Gateway } from '../bench/processes.ts';
import { median } from '../bench/report.ts';
import { type CallRecord, Clients, checkSettledCalls, type LedgerCheck, summarise } from './clients.ts';
import { type Customer, createCustomers, Deployment, storeOn } from './deployment.ts';
import type { Reporter } from './table.ts';

export interface ReadinessScale {
  /** How often each cause comes and goes. */
  rounds: number;
  /** Concurrent callers. */
  workers: number;
}

const FULL: ReadinessScale = { rounds: 5, workers: 32 };
const CUSTOMERS = 8;
/** Calls made while a cause lasts, by each caller. */
const CALLS = 20;
const LOOK_EVERY_MS = 5;
/** Only ends what hangs: how long it took is a figure of the report, not a promise. */
const GIVE_UP_AFTER_MS = 120_000;

/** A cause that comes and goes. */
interface Cause {
  name: string;
  /** Part of what /readyz says. */
  told: string;
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
}

export default async function readinessFaults(report: Reporter, scale: ReadinessScale = FULL): Promise<void> {
  await using deployment = await Deployment.open();
  // Keeps the private Redis running while the gateways of the rounds come and go.
  await deployment.gateway({ WORKERS: '1' });
  const redis = await deployment.connect();
  const control = new Redis({ path: new URL(await deployment.redisUrl()).pathname });
  const { snapshots } = deployment;
  const causes: Cause[] = [
    {
      name: 'Snapshot directory removed while it is served',
      told: 'are missing',
      begin: () => rename(snapshots, `${snapshots}-gone`),
      end: () => rename(`${snapshots}-gone`, snapshots),
    },
    {
      name: 'Redis full',
      told: 'full',
      begin: () => control.config('SET', 'maxmemory', 1),
      end: () => control.config('SET', 'maxmemory', 0),
    },
  ];
  for (const cause of causes) {
    const customers = await createCustomers(storeOn(redis), CUSTOMERS);
    await comeAndGo(report, cause, { deployment, redis, customers }, scale);
  }
  control.disconnect();
}

interface Target {
  deployment: Deployment;
  redis: RedisClient;
  customers: readonly Customer[];
}

/** Each round has a gateway of its own, which has nothing in memory when the cause comes. */
async function comeAndGo(
  report: Reporter,
  { name, told, begin, end }: Cause,
  { deployment, redis, customers }: Target,
  { rounds, workers }: ReadinessScale,
): Promise<void> {
  const records: CallRecord[] = [];
  const told_ms: number[] = [];
  const ready_ms: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const gateway = await deployment.gateway({ WORKERS: '1' });
    await using clients = new Clients(gateway.port, customers, workers);
    await begin();
    told_ms.push(await untilReadyz(gateway, (status, text) => status === 503 && text.includes(told)));
    let isOver = false;
    const load = clients.keepCalling(workers, () => !isOver);
    await clients.untilRecorded(CALLS * workers);
    await end();
    ready_ms.push(await untilReadyz(gateway, (status) => status === 200));
    await clients.untilRecorded(clients.records.length + CALLS * workers);
    isOver = true;
    await load;
    records.push(...clients.take());
    await gateway.end('SIGTERM');
  }
  tell(report, name, await checkSettledCalls(records, redis, customers), rounds);
  const seconds = (values: number[]): string => (median(values) / 1000).toFixed(2);
  report(
    `${name}: /readyz is 503 with the cause, and 200 again once it is gone`,
    `${rounds} times: told after ${seconds(told_ms)} s, ready ${seconds(ready_ms)} s after the end`,
    Math.max(...told_ms, ...ready_ms) < GIVE_UP_AFTER_MS,
  );
}

function tell(report: Reporter, name: string, check: LedgerCheck, rounds: number): void {
  const { calls, served, refused, missing, doubled, chargedRefusals, unexpected, cutOff, unbalanced } = check;
  report(
    `${name}: a call that cannot be served gets 503 and Retry-After and costs nothing, every other is served`,
    `${rounds} times, ${summarise(check)}, ${unexpected + cutOff} of ${calls} otherwise; ${missing} missing, ${doubled} doubled, ${chargedRefusals} refused but charged, ${unbalanced} of ${CUSTOMERS} accounts differ`,
    served > 0 && refused > 0 && unexpected + cutOff + missing + doubled + chargedRefusals + unbalanced === 0,
  );
}

/** Milliseconds until /readyz answers as wanted. */
async function untilReadyz(
  { port }: Gateway,
  isWanted: (status: number, text: string) => boolean,
): Promise<number> {
  const started = performance.now();
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    const waited_ms = performance.now() - started;
    if (isWanted(answer.status, await answer.text()) || waited_ms > GIVE_UP_AFTER_MS) return waited_ms;
    await pause(LOOK_EVERY_MS);
  }
}
