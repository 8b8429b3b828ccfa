/**
 * The gateway killed, stopped and given other snapshots under load.
 *
 * A kill may cut off calls that were already charged, since the process that would refund them is gone. The promise is
 * a limit: at most the calls in flight are charged without a response, each in the ledger by its request id. A stop
 * breaks nothing: requests on open connections are answered, and new connections reach another gateway.
 */
import { startBalancer } from './balancer.ts';
import { Clients, checkSettledCalls, summarise, unnamedCharges } from './clients.ts';
import { createCustomers, Deployment, storeOn } from './deployment.ts';
import { snapshotFaults } from './snapshots.ts';
import type { Reporter } from './table.ts';

export interface GatewayScale {
  kills: number;
  stops: number;
  /** Each with a rollback and two damaged snapshots. */
  publications: number;
  /** Concurrent callers; four times as many during kills. */
  workers: number;
}

const FULL: GatewayScale = { kills: 12, stops: 8, publications: 15, workers: 64 };
const CUSTOMERS = 8;
/** Calls between two kills or stops: at least `BETWEEN`, plus a random number. */
const BETWEEN = 400;
const BETWEEN_RANDOM = 1_000;

export default async function gatewayFaults(report: Reporter, scale: GatewayScale = FULL): Promise<void> {
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
    const end = clients.records.length + BETWEEN + Math.floor(Math.random() * BETWEEN_RANDOM);
    const load = clients.keepCalling(workers, () => clients.records.length < end);
    await clients.untilRecorded(end - workers);
    inFlight += clients.inFlight;
    await gateway.end('SIGKILL');
    await load;
    gateway = await deployment.gateway();
    await clients.moveTo(gateway.port, workers);
  }
  const whole = clients.records.filter(({ status }) => status !== null);
  const answered = await checkSettledCalls(whole, redis, customers);
  const cutOff = clients.records.length - whole.length;
  const unnamed = await unnamedCharges(whole, redis, customers);
  const { served, missing, doubled, chargedRefusals, unbalanced } = answered;
  report(
    'Gateway killed: every acknowledged debit is in the ledger, once; every balance is the sum of its ledger',
    `${kills} kills, ${summarise(answered)}; ${missing} missing, ${doubled + unnamed.doubled} doubled, ${chargedRefusals} refused but charged, ${unbalanced} of ${CUSTOMERS} accounts differ`,
    served > 0 && missing + doubled + unnamed.doubled + chargedRefusals + unbalanced === 0,
  );
  report(
    'Gateway killed: at most the calls in flight are charged without an answer, each in the ledger by its request id',
    `${inFlight} in flight, ${cutOff} cut off, ${unnamed.charged} of them charged`,
    unnamed.charged <= Math.min(inFlight, cutOff),
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
    const end = clients.records.length + BETWEEN + Math.floor(Math.random() * BETWEEN_RANDOM);
    await clients.untilRecorded(end);
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
  const check = await checkSettledCalls(clients.records, redis, customers);
  const { calls, served, missing, doubled, unbalanced } = check;
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
