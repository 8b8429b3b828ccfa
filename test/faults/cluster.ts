/**
 * A Redis Cluster of three masters and three replicas whose masters are killed under load, one after another.
 *
 * Redis replicates after it answers, so a failover may lose acknowledged writes. With `REDIS_WAIT_REPLICAS=1` every
 * change of money waits for the replica and must survive. Without it losses are reported and break no promise.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { median } from '../bench/report.ts';
import { startRedisCluster, type TestCluster } from '../redis.ts';
import { Clients, checkSettledCalls, summarise } from './clients.ts';
import { type Customer, createCustomers, Deployment, storeOn } from './deployment.ts';
import { PurchaseLoad } from './purchase-load.ts';
import type { Reporter } from './table.ts';

export interface ClusterScale {
  failovers: number;
  /** Failovers without waiting for replicas; 0 skips them. */
  withoutWaiting: number;
}

const FULL: ClusterScale = { failovers: 6, withoutWaiting: 3 };
const CUSTOMERS = 12;
const WORKERS = 100;
const NODE_TIMEOUT_MS = 1_000;
const BEFORE_KILL_MS = 1_500;
const FAILOVER_WITHIN_MS = 30_000;
const PROBE_EVERY_MS = 50;

export default async function clusterFaults(report: Reporter, scale: ClusterScale = FULL): Promise<void> {
  const options = { replicas: 1, persistent: true, nodeTimeoutMs: NODE_TIMEOUT_MS };
  await using cluster = await startRedisCluster(options);
  await failOver(report, cluster, 1, scale.failovers);
  if (scale.withoutWaiting > 0) await failOver(report, cluster, 0, scale.withoutWaiting);
}

const openDeployment = (cluster: TestCluster, replicas: number): Promise<Deployment> =>
  Deployment.open({
    REDIS_URL: cluster.url,
    REDIS_CLUSTER: 'true',
    REDIS_WAIT_REPLICAS: String(replicas),
  });

async function failOver(
  report: Reporter,
  cluster: TestCluster,
  replicas: number,
  failovers: number,
): Promise<void> {
  await using deployment = await openDeployment(cluster, replicas);
  const gateway = await deployment.gateway();
  const redis = await deployment.connect();
  const store = storeOn(redis);
  const customers = await createCustomers(store, CUSTOMERS);
  await using clients = new Clients(gateway.port, customers, WORKERS);
  const buying = new PurchaseLoad(store, customers);
  const outages_ms: number[] = [];
  for (let failover = 0; failover < failovers; failover++) {
    const victim = customers[failover % customers.length];
    if (!victim) throw new Error('no customer');
    await buying.untilPurchased();
    outages_ms.push(await killMaster(cluster, gateway.port, victim, clients));
  }
  const totals = await buying.close(redis);
  const check = await checkSettledCalls(clients.records, redis, customers);
  const { calls, served, missing, doubled, chargedRefusals, unexpected, cutOff, unbalanced } = check;
  const name = `Master of a cluster killed, REDIS_WAIT_REPLICAS=${replicas}`;
  const lost = `${missing} debits, ${totals.missing} grants and purchases`;
  if (replicas === 0) {
    report(
      `${name}: no promise; every balance is the sum of its ledger, and nothing is doubled`,
      `${failovers} failovers, ${summarise(check)}; lost ${lost}; ${doubled + totals.doubled} doubled, ${unbalanced} of ${CUSTOMERS} accounts differ`,
      doubled + totals.doubled + unbalanced === 0 && served > 0,
    );
    return;
  }
  report(
    `${name}: no acknowledged debit, grant or purchase is lost, none is doubled`,
    `${failovers} failovers, ${summarise(check)}, ${totals.grants} grants, ${totals.purchases} purchases; lost ${lost}; ${doubled + totals.doubled} doubled, ${chargedRefusals} refused but charged`,
    missing + totals.missing + doubled + totals.doubled + chargedRefusals === 0 && served > 0,
  );
  report(
    `${name}: every balance is the sum of its ledger; every call is answered, or refused with 503 and Retry-After`,
    `${unbalanced} of ${CUSTOMERS} accounts differ, ${unexpected + cutOff} of ${calls} calls otherwise`,
    unbalanced + unexpected + cutOff === 0,
  );
  const longest_s = Math.max(...outages_ms) / 1000;
  report(
    `${name}: the gateway follows the failover by itself`,
    `the accounts of the lost master were served again after ${(median(outages_ms) / 1000).toFixed(1)} s (at most ${longest_s.toFixed(1)} s), node timeout ${NODE_TIMEOUT_MS / 1000} s`,
    longest_s * 1000 < FAILOVER_WITHIN_MS,
  );
}

/** Kills the master of an account under load and restarts it. @returns the outage of that account, in ms */
async function killMaster(
  cluster: TestCluster,
  port: number,
  victim: Customer,
  clients: Clients,
): Promise<number> {
  let isOver = false;
  const load = clients.keepCalling(WORKERS, () => !isOver);
  await pause(BEFORE_KILL_MS * (0.5 + Math.random()));
  const master = await cluster.masterOf(redisKeys.account(victim.account_id));
  const killed_at_ms = performance.now();
  await cluster.kill(master);
  await using probe = new Clients(port, [victim], 1);
  // A shard whose only replica became its master cannot acknowledge money until the killed node is back.
  const isBack = untilTakenOver(cluster, master, victim).then(() => cluster.restart(master));
  let outage_ms = 0;
  do {
    await pause(PROBE_EVERY_MS);
    outage_ms = performance.now() - killed_at_ms;
  } while ((await probe.call()).status !== 200 && outage_ms < FAILOVER_WITHIN_MS);
  await isBack;
  isOver = true;
  await load;
  clients.records.push(...probe.records);
  return outage_ms;
}

async function untilTakenOver(cluster: TestCluster, lost: number, { account_id }: Customer): Promise<void> {
  const deadline = performance.now() + FAILOVER_WITHIN_MS;
  while ((await cluster.masterOf(redisKeys.account(account_id))) === lost) {
    if (performance.now() > deadline) throw new Error('no replica took over');
    await pause(PROBE_EVERY_MS);
  }
}
