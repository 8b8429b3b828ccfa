/**
 * A faulty network between gateway and Redis under load: replies are lost, delayed, truncated or never sent. No caller
 * may be charged twice, served unpaid or left without a response. All balances agree once the network recovers.
 */
import { join } from 'node:path';
import { startPrivateRedis } from '../../data/runtime/private-redis.ts';
import { Clients, checkSettledCalls, summarise } from './clients.ts';
import { createCustomers, Deployment, storeOn } from './deployment.ts';
import { type Odds, startLossyProxy } from './lossy-proxy.ts';
import type { Reporter } from './table.ts';

export interface RepliesScale {
  duration_ms: number;
  workers: number;
  odds: Odds;
}

const FULL: RepliesScale = {
  duration_ms: 30_000,
  workers: 200,
  odds: { cut: 0.01, delay: 0.01, silence: 0.001 },
};
const CUSTOMERS = 8;
/** Time limit even when no fault has occurred yet. */
const UNTESTED_MOST_MS = 40_000;

export default async function repliesFaults(report: Reporter, scale: RepliesScale = FULL): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const place = stack.use(await Deployment.open());
  const server = await startPrivateRedis(join(place.dir, 'redis'));
  stack.defer(() => server.stop());
  const proxy = stack.use(await startLossyProxy(new URL(server.url).pathname, Math.random));
  const deployment = stack.use(await Deployment.open({ REDIS_URL: proxy.url }));
  const gateway = await deployment.gateway();
  const redis = await place.connect();
  const customers = await createCustomers(storeOn(redis), CUSTOMERS);
  const clients = stack.use(new Clients(gateway.port, customers, scale.workers));

  proxy.odds = scale.odds;
  const began_ms = performance.now();
  await clients.keepCalling(scale.workers, () => {
    const lasted_ms = performance.now() - began_ms;
    // Early silence could stall all callers for the whole duration and test nothing.
    const isTested = () => proxy.done.cuts > 0 && clients.records.some(({ status }) => status === 200);
    return lasted_ms < scale.duration_ms || (lasted_ms < UNTESTED_MOST_MS && !isTested());
  });
  proxy.odds = null;
  const check = await checkSettledCalls(clients.records, redis, customers);
  const { calls, served, missing, doubled, chargedRefusals, unexpected, cutOff, unbalanced } = check;
  const { cuts, delays, silences } = proxy.done;
  const done = `${cuts} cuts, ${delays} delays, ${silences} connections gone silent`;
  report(
    'Replies of Redis lost: no call is charged twice, none is served unpaid',
    `${done}; ${summarise(check)}; ${doubled} doubled, ${missing} unpaid`,
    doubled + missing === 0 && served > 0 && cuts > 0,
  );
  report(
    'Replies of Redis lost: every call is answered, or refused with 503 and Retry-After',
    `${unexpected + cutOff} of ${calls} otherwise`,
    unexpected + cutOff === 0,
  );
  report(
    'Replies of Redis lost: what a refused call was charged is given back, and every balance is the sum of its ledger',
    `${chargedRefusals} refused but charged, ${unbalanced} of ${CUSTOMERS} accounts differ`,
    chargedRefusals + unbalanced === 0,
  );
}
