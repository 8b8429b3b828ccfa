/**
 * The gateway killed, stopped and given other snapshots under load.
 *
 * A kill may break the answers in flight, and what they cost may have been charged: the process that could give it back
 * is gone. So the promise is a bound: at most the calls in flight at that moment are charged without an answer, and
 * each of them stands in the ledger by its request id. A stop, as any deployment makes, breaks nothing: whatever is
 * sent on an open connection is answered, and new connections find another gateway.
 */
import { startBalancer } from './balancer.ts';
import { Clients, judge, judgeSettled, told } from './clients.ts';
import { createCustomers, Deployment, storeOn } from './deployment.ts';
import { snapshotFaults } from './snapshots.ts';
import type { Reporter } from './table.ts';

export interface GatewayScale {
  kills: number;
  stops: number;
  /** Publications, each with a rollback and two damaged snapshots. */
  publications: number;
  /** Callers at a time; four times as many while it is killed. */
  workers: number;
}

const FULL: GatewayScale = { kills: 12, stops: 8, publications: 15, workers: 64 };
const CUSTOMERS = 8;
/** Calls that are served before the next kill or stop, at least, and how many more at random. */
const BETWEEN = 400;
const BETWEEN_RANDOM = 1_000;

export async function gatewayFaults(report: Reporter, scale: GatewayScale = FULL): Promise<void> {
  await killed(report, scale.kills, 4 * scale.workers);
  await stopped(report, scale.stops, scale.workers);
  await snapshotFaults(report, scale.publications, scale.workers);
}

async function killed(report: Reporter, kills: number, workers: number): Promise<void> {
  await using deployment = await Deployment.open();
  let gateway = await deployment.gateway();
  const redis = await deployment.connect();
  const customers = await createCustomers(storeOn(redis), CUSTOMERS);
  await using clients = new Clients(gateway.port, customers, workers);
  let inFlight = 0;
  for (let kill = 0; kill < kills; kill++) {
    const end = clients.told.length + BETWEEN + Math.floor(Math.random() * BETWEEN_RANDOM);
    const load = clients.keepCalling(workers, () => clients.told.length < end);
    await clients.untilTold(end - workers);
    inFlight += clients.inFlight;
    await gateway.end('SIGKILL');
    await load;
    gateway = await deployment.gateway();
    await clients.moveTo(gateway.port, workers);
  }
  const cut = clients.told.filter(({ status }) => status === null);
  const whole = clients.told.filter(({ status }) => status !== null);
  const answered = await judgeSettled(whole, redis, customers);
  const lost = await judge(cut, redis, customers);
  const { served, missing, doubled, unanswered, unbalanced } = answered;
  report(
    'Gateway killed: every acknowledged debit is in the ledger, once; every balance is the sum of its ledger',
    `${kills} kills, ${told(answered)}; ${missing} missing, ${doubled + lost.doubled} doubled, ${unanswered} refused but charged, ${unbalanced} of ${CUSTOMERS} accounts differ`,
    served > 0 && missing + doubled + lost.doubled + unanswered + unbalanced === 0,
  );
  report(
    'Gateway killed: at most the calls in flight are charged without an answer, each in the ledger by its request id',
    `${inFlight} in flight, ${cut.length} cut off, ${lost.unanswered} of them charged`,
    lost.unanswered <= inFlight,
  );
}

async function stopped(report: Reporter, stops: number, workers: number): Promise<void> {
  await using deployment = await Deployment.open();
  const running = [await deployment.gateway(), await deployment.gateway()];
  await using balancer = await startBalancer();
  for (const { port } of running) balancer.backends.add(port);
  const redis = await deployment.connect();
  const customers = await createCustomers(storeOn(redis), CUSTOMERS);
  await using clients = new Clients(balancer.port, customers, workers);
  let isOver = false;
  const load = clients.keepCalling(workers, () => !isOver);
  const codes: (number | null)[] = [];
  for (let stop = 0; stop < stops; stop++) {
    const end = clients.told.length + BETWEEN + Math.floor(Math.random() * BETWEEN_RANDOM);
    await clients.untilTold(end);
    const next = await deployment.gateway();
    balancer.backends.add(next.port);
    running.push(next);
    const old = running.shift();
    if (!old) throw new Error('no gateway runs');
    codes.push(await old.end('SIGTERM'));
    balancer.backends.delete(old.port);
  }
  isOver = true;
  await load;
  const judgement = await judgeSettled(clients.told, redis, customers);
  const { calls, served, missing, doubled, unbalanced } = judgement;
  report(
    'Gateway stopped (SIGTERM) under load beside another: not one failed request',
    `${stops} stops, ${calls.toLocaleString('en')} keyed calls, ${calls - served} failed`,
    calls === served && codes.every((code) => code === 0),
  );
  report(
    'Gateway stopped: every call is charged once',
    `${missing} missing, ${doubled} doubled, ${unbalanced} of ${CUSTOMERS} accounts differ`,
    missing + doubled + unbalanced === 0,
  );
}
