/**
 * A flood of calls for whole indicators with keys that no longer work, beside customers who pay. No call may cause a
 * query or a charge, and one must cost the service less than a paid call.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { requestText } from '../bench/http-client.ts';
import type { LoadJob, LoadResult } from '../bench/load.ts';
import { type ForkedTask, forkTask, type Gateway } from '../bench/processes.ts';
import { freePort } from '../free-ports.ts';
import { readLedger } from './clients.ts';
import { type Customer, createCustomers, Deployment, storeOn } from './deployment.ts';
import type { Reporter } from './table.ts';

export interface RefusedKeysScale {
  /** How long each of the floods and the paid load last. */
  duration_ms: number;
}

const FULL: RefusedKeysScale = { duration_ms: 10_000 };
const CONNECTIONS = 64;
const PAID = '/v1/countries/KEN';
const WHOLE = '/v1/data?indicator=beta.long_series';
const PAY_EVERY_MS = 10;

export default async function refusedKeysFaults(
  report: Reporter,
  { duration_ms }: RefusedKeysScale = FULL,
): Promise<void> {
  await using deployment = await Deployment.open();
  const metricsPort = await freePort();
  const gateway = await deployment.gateway({ METRICS_PORT: String(metricsPort), WORKERS: '1' });
  // It reads figures for its featured pages.
  await gateway.idle();
  const redis = await deployment.connect();
  const dead = await createDeadKeys(redis);
  const [customer] = await createCustomers(storeOn(redis), 1);
  if (!customer) throw new Error('no customer');
  await using load = forkTask(new URL('../bench/load.ts', import.meta.url));
  const rate = (path: string, keys: readonly Customer[], status: number): Promise<number> =>
    callsPerSecond(load, gateway, duration_ms, { path, keys, status });
  const paid = await rate(PAID, [customer], 200);
  const before = await readsOf(metricsPort);
  let isOver = false;
  const others = payMeanwhile(gateway, customer, () => !isOver);
  const refused = await rate(WHOLE, dead, 401);
  isOver = true;
  const { calls, failed, slowest_ms } = await others;
  const queries = (await readsOf(metricsPort)) - before;
  const debits = await countDebits(redis, dead);
  const number = (count: number): string => Math.round(count).toLocaleString('en');
  report(
    'Calls with keys that were revoked, have expired or belong to suspended or closed accounts: 401, and one costs less than a paid call',
    `${number(refused)} refused a second, ${number(paid)} paid a second`,
    refused > paid,
  );
  report(
    'Such calls cause no query and no charge, and others are served meanwhile',
    `${queries} queries, ${debits} debits; ${calls - failed} of ${calls} others served, the slowest in ${Math.round(slowest_ms)} ms`,
    queries === 0 && debits === 0 && failed === 0 && calls > 0,
  );
}

/** One key for each cause of refusal. */
async function createDeadKeys(redis: RedisClient): Promise<Customer[]> {
  const store = storeOn(redis);
  const [revoked, suspended, closed, expired] = await createCustomers(store, 4);
  if (!revoked || !suspended || !closed || !expired) throw new Error('no customers');
  for (const { key_id } of await store.keys.list(revoked.account_id)) await store.keys.revoke(key_id);
  await store.suspend(suspended.account_id);
  await store.close(closed.account_id);
  const expires_at_ms = Date.now() + 50;
  const { key } = await store.keys.mint(expired.account_id, { expires_at_ms });
  while (Date.now() <= expires_at_ms) await pause(1);
  return [revoked, suspended, closed, { ...expired, key }];
}

async function callsPerSecond(
  load: ForkedTask,
  { port }: Gateway,
  duration_ms: number,
  { path, keys, status }: { path: string; keys: readonly Customer[]; status: number },
): Promise<number> {
  const requests = keys.map(({ key }) => requestText({ path, headers: { authorization: `Bearer ${key}` } }));
  const job = { port, requests, connections: CONNECTIONS, duration_ms, status };
  const result = await load.ask<LoadJob, LoadResult>(job);
  if (result.errors > 0) throw new Error(`${result.errors} answers to ${path} were not ${status}`);
  return (result.answers / result.duration_ms) * 1000;
}

/** Pays for one call after another, at a steady rate. */
async function payMeanwhile(
  { port }: Gateway,
  { key }: Customer,
  isWanted: () => boolean,
): Promise<{ calls: number; failed: number; slowest_ms: number }> {
  const seen = { calls: 0, failed: 0, slowest_ms: 0 };
  while (isWanted()) {
    const started = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}${PAID}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await answer.arrayBuffer();
    seen.calls++;
    if (answer.status !== 200) seen.failed++;
    seen.slowest_ms = Math.max(seen.slowest_ms, performance.now() - started);
    await pause(PAY_EVERY_MS);
  }
  return seen;
}

/** Reads of observations so far, from memory and from Parquet. */
async function readsOf(metricsPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const counts = text.matchAll(/^almanac_hot_cache_(?:hits|misses) (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

async function countDebits(redis: RedisClient, customers: readonly Customer[]): Promise<number> {
  const ledgers = await Promise.all(customers.map(({ account_id }) => readLedger(redis, account_id)));
  return ledgers.flat().filter(({ kind }) => kind === 'debit').length;
}
