/**
 * The build killed at fifty random moments, on a full disk, and with a faulty provider. A real gateway serves meanwhile,
 * and every response must match a published snapshot.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { machineFault } from '../../build/runtime/errors.ts';
import { runBuild } from '../build/build-child.ts';
import { mountSmallDisk, type SmallDisk } from '../build/small-disk.ts';
import { checkStoredState } from '../build/stored-state.ts';
import { published, SHORT, startFaultyUpstream, upstreamFaults } from '../build/upstream/faulty-upstream.ts';
import { type Cell, World } from '../build/world.ts';
import { Service } from '../gateway/service.ts';
import type { Reporter } from './table.ts';

const KILLS = 50;
/** Some kills come after the build has ended and do not count. */
const MOST_ROUNDS = 80;
/** A process does nothing earlier. */
const FIRST_KILL_MS = 80;
const PAUSE_MS = 5;
const GATES = { gates: { max_row_drop: 1, max_country_drop: 1 } };
const DISK_BYTES = 8_000_000;
const PAGE_BYTES = 4_096;
const FREE_PAGES = [0, 1, 4, 16, 20, 24, 32, 48, 64, 96, 160, 320];
const ROUTES = ['/v1/indicators', '/v1/countries/FRA', '/v1/data?indicator=atlas.one', '/v1/meta/freshness'];

/** Requests the gateway continuously and counts unexpected responses. */
class Prober {
  asked = 0;
  failed = 0;
  /** Responses that match no published snapshot. */
  unexpected = 0;
  readonly #ask: (route: string) => Promise<{ status: number; text: string }>;
  readonly #good = new Set<string>();
  #goesOn = true;
  #last: Promise<void> = Promise.resolve();
  #work: Promise<void> = Promise.resolve();

  private constructor(service: Service, key: string) {
    this.#ask = (route) => service.get(route, { key });
  }

  static async start(service: Service): Promise<Prober> {
    const { key } = await service.account({ credits: 1_000_000_000 });
    const prober = new Prober(service, key);
    await prober.learn();
    prober.#work = prober.#run();
    return prober;
  }

  /** Accepts the current responses, after a publication. */
  async learn(): Promise<void> {
    for (const route of ROUTES) this.#good.add((await this.#ask(route)).text);
  }

  /** Runs `work` between two requests, then accepts the new responses. */
  async between(work: () => Promise<void>): Promise<void> {
    await this.#inTurn(async () => {
      await work();
      await this.learn();
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work);
    return this.#last;
  }

  async #run(): Promise<void> {
    for (let turn = 0; this.#goesOn; turn++) {
      await this.#inTurn(() => this.#look(ROUTES[turn % ROUTES.length] ?? ''));
      await pause(PAUSE_MS);
    }
  }

  async #look(route: string): Promise<void> {
    const { status, text } = await this.#ask(route);
    this.asked += 1;
    if (status !== 200) this.failed += 1;
    else if (!this.#good.has(text)) this.unexpected += 1;
  }

  async stop(): Promise<string> {
    this.#goesOn = false;
    await this.#work;
    return `${this.asked} answers, ${this.failed} failed, ${this.unexpected} of no snapshot`;
  }
}

/** A provider's world with a published snapshot and a gateway that serves it, both disposed of by `stack`. */
async function openServedWorld(
  stack: AsyncDisposableStack,
  prepare: (world: World) => Promise<void> = async () => {},
) {
  const world = await World.create({ atlas: GATES });
  stack.defer(() => world.remove());
  await prepare(world);
  await world.publish('atlas', published(1));
  await world.ingest('atlas');
  await world.build();
  // The gateway looks for snapshots only on demand.
  const settings = { SNAPSHOT_POLL_MS: '3600000' };
  const service = await Service.start({ snapshots: world.settings.SNAPSHOT_DIR, settings });
  stack.defer(() => service.stop());
  return { world, service };
}

type Served = { iso3: string; year: number; value: number | null }[];

/** The edition of all served values; null when values are missing or editions are mixed. */
function editionOf(rows: Served): number | null {
  const cells = (published(0).one?.cells ?? []) as Cell[];
  // Place codes match in any letter case; the provider has its own code for Kosovo.
  const keyOf = (place: string, year: Cell[1]): string =>
    `${place.trim().toUpperCase().replace('KOS', 'XKX')} ${year}`;
  const base = new Map(cells.map(([place, year, value]) => [keyOf(place, year), Number(value)]));
  const editions = new Set(
    rows.map(({ iso3, year, value }) =>
      Math.round(Number(value) - (base.get(`${iso3} ${year}`) ?? Number.NaN)),
    ),
  );
  const [edition = null] = editions;
  return rows.length === base.size && editions.size === 1 ? edition : null;
}

/** Ingests and builds in a child process. @throws where that fails by itself */
async function runChild(world: World, after_ms?: number): Promise<{ ms: number; killed: boolean }> {
  const begun = performance.now();
  const { code, signal, lines } = await runBuild(world, 'build', after_ms === undefined ? {} : { after_ms });
  const killed = signal === 'SIGKILL';
  if (!killed && code !== 0) throw new Error(`the build failed: ${lines.at(-1)}`);
  return { ms: performance.now() - begun, killed };
}

async function killedBuilds(report: Reporter): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { world, service } = await openServedWorld(stack);
  const { key } = await service.account({ credits: 1_000_000_000 });
  const publishNext = async (edition: number): Promise<void> => {
    world.tomorrow();
    await world.publish('atlas', published(edition));
  };
  await publishNext(2);
  let { ms: whole_ms } = await runChild(world);
  await service.snapshots.check();
  const prober = await Prober.start(service);
  let kills = 0;
  let whole = 0;
  let mixed = 0;
  let edition = 2;
  for (let round = 0; kills < KILLS && round < MOST_ROUNDS; round += 1) {
    edition += 1;
    await publishNext(edition);
    const { killed, ms } = await runChild(world, FIRST_KILL_MS + Math.random() * whole_ms);
    if (killed) kills += 1;
    else whole_ms = Math.min(whole_ms, ms);
    whole += await checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR);
    const { json } = await service.get('/v1/data?indicator=atlas.one', { key });
    const served = editionOf(json.data);
    if (served === null || served > edition) mixed += 1;
    await prober.between(() => service.snapshots.check());
  }
  await publishNext(edition + 1);
  const last = await runChild(world);
  await prober.between(() => service.snapshots.check());
  const { json } = await service.get('/v1/data?indicator=atlas.one', { key });
  const answers = await prober.stop();
  report(
    'A killed build leaves the served snapshot unchanged',
    `${kills} kills at random moments; ${mixed} mixtures; ${answers}`,
    kills === KILLS && mixed + prober.failed + prober.unexpected === 0,
  );
  report(
    'After a kill nothing half-written is visible, and the next build works',
    `${whole} runs and snapshots held against their manifests; the last build published edition ${editionOf(json.data)}`,
    !last.killed && editionOf(json.data) === edition + 1,
  );
}

async function fullDisks(report: Reporter): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const disks: SmallDisk[] = [];
  const mount = async (world: World): Promise<void> => {
    for (const directory of [world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR]) {
      const disk = mountSmallDisk(directory, DISK_BYTES);
      if (disk) disks.push(disk);
      if (disk) stack.defer(async () => disk.unmount());
    }
  };
  const { world, service } = await openServedWorld(stack, mount);
  const [lake, snapshots] = disks;
  const promise = 'A full disk changes nothing that is served, and the record of the run names the cause';
  if (!lake || !snapshots) return report(promise, 'not tried: a tmpfs may not be mounted here', true);
  const prober = await Prober.start(service);
  let full = 0;
  let named = 0;
  const judge = (error: unknown, reason: string | null): void => {
    full += 1;
    if (/^The disk is full: /.test(reason ?? machineFault(error) ?? '')) named += 1;
  };
  for (const [index, pages] of FREE_PAGES.entries()) {
    world.tomorrow();
    await world.publish('atlas', published(index + 2));
    lake.fill(pages * PAGE_BYTES);
    const ended = await world.ingest('atlas').catch((error: Error) => error);
    lake.empty();
    if (ended instanceof Error) judge(ended, null);
    else if (ended.status === 'failed') judge(null, ended.reason);
    await checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR);
    world.tomorrow();
    snapshots.fill(pages * PAGE_BYTES);
    const built = await world.build().catch((error: Error) => error);
    snapshots.empty();
    if (built instanceof Error) judge(built, null);
    await checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR);
  }
  const answers = await prober.stop();
  const isKept = full > 5 && named === full && prober.failed + prober.unexpected === 0;
  report(promise, `full in ${full} runs and builds, named in ${named}; ${answers}`, isKept);
}

async function badProviders(report: Reporter): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const upstream = await startFaultyUpstream();
  stack.defer(upstream.stop);
  upstream.publish(1);
  const { world, service } = await openServedWorld(stack, async (made) => {
    await made.define('atlas');
    made.settings.PROVIDER_MIRROR = upstream.url;
  });
  const prober = await Prober.start(service);
  const faults = upstreamFaults(upstream.neighbour);
  const missed: string[] = [];
  for (const fault of faults) {
    world.tomorrow();
    upstream.publish(2);
    upstream.setFault(fault);
    const patient = { ...SHORT, ...fault.timeouts };
    const { status, reason } = await world.ingest('atlas', { upstream: patient });
    upstream.setFault(null);
    if (status !== fault.status || !fault.reason.test(reason ?? '')) missed.push(fault.name);
    await checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR);
  }
  const answers = await prober.stop();
  report(
    'Whatever fails at a provider, its last good figures stay and the record names the cause',
    `${faults.length} kinds of fault; not named: ${missed.join(', ') || 'none'}; ${answers}`,
    missed.length + prober.failed + prober.unexpected === 0,
  );
  report(
    'No provider can redirect the build into the private network',
    `${upstream.visits()} requests reached a neighbour on this machine`,
    upstream.visits() === 0,
  );
  world.tomorrow();
  const { status } = await world.ingest('atlas', { upstream: SHORT });
  report('A provider that recovers is read again', status, status === 'succeeded');
}

/** Takes at most two minutes. */
export async function buildFaults(report: Reporter): Promise<void> {
  await killedBuilds(report);
  await fullDisks(report);
  await badProviders(report);
}
