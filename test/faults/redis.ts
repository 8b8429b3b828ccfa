/**
 * Redis killed repeatedly during thousands of calls, grants and purchases; the gateway restarts it on the same files.
 * Every acknowledged change must be in the ledger exactly once.
 *
 * Each fsync policy is tested. With `everysec` Redis delays writes during a disk sync but acknowledges them, so a kill
 * may lose these. A power cut cannot be tested: there we rely on Redis syncing before it answers under `always`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { whenReady } from '../../data/runtime/redis.ts';
import { median } from '../bench/report.ts';
import { Clients, checkSettledCalls, type LedgerCheck, summarise } from './clients.ts';
import { createCustomers, Deployment, storeOn } from './deployment.ts';
import { PurchaseLoad } from './purchase-load.ts';
import type { Reporter } from './table.ts';

const POLICIES = ['always', 'everysec', 'no'] as const;
type Policy = (typeof POLICIES)[number];

export interface RedisScale {
  /** Concurrent calls per round. */
  calls: number;
  /** Kills under `always`, and under each other policy. */
  kills: number;
  otherKills: number;
}

const FULL: RedisScale = { calls: 10_000, kills: 10, otherKills: 2 };
const CUSTOMERS = 8;
const CONNECTIONS_AT_MOST = 10_000;
const RECOVERY_WITHIN_MS = 20_000;
const PROBE_EVERY_MS = 20;

export default async function redisFaults(report: Reporter, scale: RedisScale = FULL): Promise<void> {
  await using deployment = await Deployment.open();
  const gateway = await deployment.gateway();
  const redis = await deployment.connect();
  const store = storeOn(redis);
  const customers = await createCustomers(store, CUSTOMERS);
  const connections = Math.min(scale.calls, CONNECTIONS_AT_MOST);
  await using clients = new Clients(gateway.port, customers, connections);
  await using probe = new Clients(gateway.port, customers, 1);
  for (const policy of POLICIES) {
    const kills = policy === 'always' ? scale.kills : scale.otherKills;
    const buying = new PurchaseLoad(store, customers);
    const recoveries_ms: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      if (policy !== 'always') await setPolicy(deployment, policy);
      await buying.untilPurchased();
      recoveries_ms.push(await killInTheMiddle(deployment, clients, probe, scale.calls));
    }
    await whenReady(redis, RECOVERY_WITHIN_MS);
    const totals = await buying.close(redis);
    const check = await checkSettledCalls([...clients.take(), ...probe.take()], redis, customers);
    tell(report, policy, kills, check, recoveries_ms);
    const { grants, purchases, missing, doubled } = totals;
    const lost = losesNothing(policy) ? missing : 0;
    report(
      losesNothing(policy)
        ? `${nameOf(policy)}: no acknowledged grant or purchase is missing, none is doubled`
        : `${nameOf(policy)}: no grant or purchase is doubled`,
      `${grants} grants, ${purchases} purchases: ${missing} missing, ${doubled} doubled`,
      lost + doubled === 0 && grants > 0 && purchases > 0,
    );
  }
}

const nameOf = (policy: Policy): string =>
  policy === 'always' ? 'Redis killed' : `Redis killed, appendfsync ${policy}`;

const losesNothing = (policy: Policy): boolean => policy !== 'everysec';

function tell(
  report: Reporter,
  policy: Policy,
  kills: number,
  check: LedgerCheck,
  recoveries_ms: number[],
): void {
  const name = nameOf(policy);
  const { served, missing, doubled, chargedRefusals, unexpected, cutOff, unbalanced } = check;
  // Lost writes may include refunds of refused calls.
  const lost = losesNothing(policy) ? missing + chargedRefusals : 0;
  report(
    losesNothing(policy)
      ? `${name}: every acknowledged debit is in the ledger, once; a refused call costs nothing`
      : `${name}: no promise of what came while the disk was syncing; no debit is in the ledger twice`,
    `${kills} kills, ${summarise(check)}; ${missing} missing, ${doubled} doubled, ${chargedRefusals} refused but charged`,
    served > 0 && lost + doubled === 0,
  );
  report(
    `${name}: every balance is the sum of its ledger`,
    `${unbalanced} of ${CUSTOMERS} accounts differ`,
    unbalanced === 0,
  );
  if (policy !== 'always') return;
  report(
    `${name}: every call is answered, or refused with 503 and Retry-After`,
    `${unexpected + cutOff} of ${check.calls} otherwise`,
    unexpected + cutOff === 0,
  );
  const slowest_s = Math.max(...recoveries_ms) / 1000;
  report(
    `${name}: the gateway recovers by itself`,
    `served again ${(median(recoveries_ms) / 1000).toFixed(1)} s after the kill (at most ${slowest_s.toFixed(1)} s)`,
    slowest_s * 1000 < RECOVERY_WITHIN_MS,
  );
}

/**
 * One round: all calls at once, and a kill after a random share of them has ended.
 * @returns ms from the kill to the next served call
 */
async function killInTheMiddle(
  deployment: Deployment,
  clients: Clients,
  probe: Clients,
  calls: number,
): Promise<number> {
  const pid = await deployment.redisPid();
  const killAfter = Math.ceil(calls * (0.02 + 0.7 * Math.random()));
  let recovery: Promise<number> | null = null;
  await clients.calls(calls, (ended) => {
    if (ended !== killAfter) return;
    process.kill(pid, 'SIGKILL');
    recovery = untilServed(probe);
  });
  return (await recovery) ?? Number.NaN;
}

/** Milliseconds until a call is served again. */
async function untilServed(probe: Clients): Promise<number> {
  const started = performance.now();
  for (;;) {
    await pause(PROBE_EVERY_MS);
    const { status } = await probe.call();
    const waited_ms = performance.now() - started;
    if (status === 200 || waited_ms > RECOVERY_WITHIN_MS) return waited_ms;
  }
}

/** Applies until the next start of Redis. */
async function setPolicy(deployment: Deployment, policy: Policy): Promise<void> {
  const control = new Redis({ path: new URL(await deployment.redisUrl()).pathname });
  await control.config('SET', 'appendfsync', policy);
  control.disconnect();
}
