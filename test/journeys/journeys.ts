/** Five ways through the service, each in a warm process: what they execute is what a reader has to follow. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Reconciler } from '../../admin/reconcile/reconciler.ts';
import { runArchive } from '../../build/archive/run-archive.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { startFakeUpstream } from '../build/fakes/server.ts';
import { cells, type Series, World } from '../build/world.ts';
import { call } from '../gateway/api/mcp/mcp-client.ts';
import { deliver, eventText, FakeStripe, stripeSettings } from '../gateway/commerce/pages/fake-stripe.ts';
import { startAccountPages } from '../gateway/commerce/pages/harness.ts';
import { openSnapshots } from '../gateway/open-snapshots.ts';
import { Service } from '../gateway/service.ts';
import { keysMatching, silentLog } from '../redis.ts';
import type { Coverage } from './coverage.ts';

export interface Journey {
  title: string;
  /** How many files it may execute; null without a goal. */
  goal: number | null;
  /** By name. */
  files: string[];
}

const DAY_MS = 86_400_000;
/** Longer than everything here takes. */
const POLL_MS = 600_000;
/** One of its own for each turn of each journey: then no cache knows it. */
const INDICATORS = 12;

function figures(day: number): Record<string, Series> {
  const one = (index: number): Series => ({
    name: `Figure ${index}`,
    unit: 'kg',
    cells: cells(12, (place, year) => place + year / 10 + day),
  });
  return Object.fromEntries(
    Array.from({ length: INDICATORS }, (_, index) => [`figure_${index}`, one(index)]),
  );
}

async function read(url: string, headers: Record<string, string> = {}): Promise<void> {
  const response = await fetch(url, { headers });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${url} answers ${response.status}: ${body}`);
}

export async function measureJourneys(coverage: Coverage): Promise<Journey[]> {
  return [...(await measureData(coverage)), await measureCredit(coverage)];
}

async function measureData(coverage: Coverage): Promise<Journey[]> {
  await using resources = new AsyncDisposableStack();
  const world = await World.create();
  resources.defer(() => world.remove());
  const upstream = await startFakeUpstream([
    async ({ pathname }) => {
      const body = await readFile(join(world.directory, 'mirror', pathname)).catch(() => null);
      return body && { body };
    },
  ]);
  resources.defer(() => upstream.stop());
  world.settings.PROVIDER_MIRROR = upstream.url;
  const night = async (day: number): Promise<void> => {
    await world.publish('atlas', figures(day));
    world.tomorrow();
    const { status, reason } = await world.ingest('atlas');
    if (status !== 'succeeded') throw new Error(`the run is ${status}: ${reason}`);
    await world.build();
  };
  await night(0);
  const directory = world.settings.SNAPSHOT_DIR;
  const store = await openSnapshots(directory);
  const figure = await coverage.filesOf(async (turn) => {
    const before = store.current()?.id;
    await night(turn + 1);
    await store.check();
    if (store.current()?.id === before) throw new Error('the new snapshot is not served');
  });
  await store.close();

  const service = await Service.start({ snapshots: directory, settings: { SNAPSHOT_POLL_MS: `${POLL_MS}` } });
  resources.defer(() => service.stop());
  const keys = await Promise.all(Array.from({ length: 8 }, () => service.account()));
  const keyed = (turn: number) => ({ authorization: `Bearer ${keys[turn]?.key}` });
  const coldCall = await coverage.filesOf((turn) =>
    read(`${service.url}/v1/data?indicator=atlas.figure_${turn}`, keyed(turn)),
  );
  const page = await coverage.filesOf((turn) => read(`${service.url}/indicators/atlas.figure_${turn + 4}`));
  const tool = await coverage.filesOf(async (turn) => {
    const asked = { indicators: [`atlas.figure_${turn + 8}`], countries: ['Kenya', 'Germany'] };
    const { isError, text } = await call(service, 'get_data', asked, { key: keys[turn + 4] });
    if (isError) throw new Error(text);
  });
  return [
    { title: 'One call', goal: 32, files: coldCall },
    { title: 'One figure', goal: 100, files: figure },
    { title: 'One page of an indicator', goal: 55, files: page },
    { title: 'One tool call over MCP', goal: 50, files: tool },
  ];
}

/** Waits until the worker has done every job: whom a step tells, it tells after the step. */
async function quiet(redis: RedisClient): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    const busy = await Promise.all(['*:wait', '*:active'].map((name) => keysMatching(redis, name)));
    if (busy.flat().length > 0) times = -1;
    await setTimeout(10);
  }
}

/** Bought over the pages, spent, refunded, archived, read from the archive and reconciled. */
async function measureCredit(coverage: Coverage): Promise<Journey> {
  await using resources = new AsyncDisposableStack();
  const stripe = await FakeStripe.start();
  resources.defer(() => stripe.stop());
  const harness = await startAccountPages({ settings: stripeSettings(stripe) });
  resources.defer(() => harness.stop());
  const { redis, settings, clock } = harness;
  const now = (): number => clock.ms;
  const sources = { redis, now, archiveDir: settings.ARCHIVE_DIR, workDir: join(settings.VAR_DIR, 'work') };
  const reconciler = new Reconciler(sources, silentLog);
  const tell = async (type: string, about: object): Promise<void> => {
    const status = await deliver(harness.url, eventText(type, about), { at_ms: now() });
    if (status !== 200) throw new Error(`the webhook answers ${status}`);
  };
  let buyer = { account_id: '', visitor: harness.visitor(), key: '' };
  const prepare = async (): Promise<void> => {
    const customer = await harness.customer();
    buyer = { ...customer, ...(await harness.makeKey(customer)) };
    await quiet(redis);
  };
  const files = await coverage.filesOf(async () => {
    const { account_id, visitor, key } = buyer;
    await visitor.submit('/account/orders', '/account/orders', { pack: 'starter', payment: 'stripe' });
    const [order] = await harness.accounts.orders.list(account_id);
    const session = stripe.sessionOf(order?.order_id ?? '');
    await tell('checkout.session.completed', { ...session, payment_status: 'paid' });
    const { status } = await harness.call(key);
    if (status !== 200) throw new Error(`the call answers ${status}`);
    const { amount_total: amount, payment_intent, metadata } = session;
    const charge = { amount, currency: 'eur', payment_intent, metadata };
    await tell('charge.refunded', { ...charge, refunded: true, amount_refunded: amount });
    clock.ms += (settings.LEDGER_LIVE_DAYS + 2) * DAY_MS;
    await runArchive({ redis, settings, now, log: silentLog });
    const { entries } = await harness.context.accounts.ledgerPage(account_id, { limit: 100 });
    if (!entries.some(({ kind }) => kind === 'debit')) throw new Error('the archive lacks the call');
    await reconciler.refresh(60_000);
    if (reconciler.last?.discrepancies.length !== 0) throw new Error('the books do not agree');
    await quiet(redis);
  }, prepare);
  return { title: 'One credit', goal: null, files };
}
