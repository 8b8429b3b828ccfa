/**
 * A bad network between gateway and Redis, under load: replies are lost, late, cut in two, or never come. Nobody may be
 * charged twice, served unpaid or left without an answer; when the network heals, everything adds up again.
 */
import { join } from 'node:path';
import { startPrivateRedis } from '../../data/runtime/private-redis.ts';
import { Clients, judgeSettled, told } from './clients.ts';
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
/** However little has happened by then. */
const UNTESTED_MOST_MS = 40_000;

export async function repliesFaults(report: Reporter, scale: RepliesScale = FULL): Promise<void> {
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
    // A connection that goes silent at once, and with it everybody for seconds, would put nothing to the test.
    const isTested = () => proxy.done.cuts > 0 && clients.told.some(({ status }) => status === 200);
    return lasted_ms < scale.duration_ms || (lasted_ms < UNTESTED_MOST_MS && !isTested());
  });
  proxy.odds = null;
  const judgement = await judgeSettled(clients.told, redis, customers);
  const { calls, served, missing, doubled, unanswered, strange, broken, unbalanced } = judgement;
  const { cuts, delays, silences } = proxy.done;
  const done = `${cuts} cuts, ${delays} delays, ${silences} connections gone silent`;
  report(
    'Replies of Redis lost: no call is charged twice, none is served unpaid',
    `${done}; ${told(judgement)}; ${doubled} doubled, ${missing} unpaid`,
    doubled + missing === 0 && served > 0 && cuts > 0,
  );
  report(
    'Replies of Redis lost: every call is answered, or refused with 503 and Retry-After',
    `${strange + broken} of ${calls} otherwise`,
    strange + broken === 0,
  );
  report(
    'Replies of Redis lost: what a refused call was charged is given back, and every balance is the sum of its ledger',
    `${unanswered} refused but charged, ${unbalanced} of ${CUSTOMERS} accounts differ`,
    unanswered + unbalanced === 0,
  );
}
