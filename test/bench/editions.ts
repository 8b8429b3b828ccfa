/** Part of the bench: what editions cost. All of Gapminder, and nights that revise one per cent of its indicators. */
import { cp, mkdir, readFile, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { SnapshotStorage } from '../../build/publish/snapshot-storage.ts';
import type { FileList } from '../../data/schema/snapshot.ts';
import { freePort } from '../free-ports.ts';
import { mirrorDirectory } from '../mirror.ts';
import { UpstreamChanges } from '../nights/upstream-changes.ts';
import { readCatalogue, showSnapshot } from '../shown-snapshot.ts';
import { type DataQuery, dataPath, hotQuery, slices } from './data-queries.ts';
import { copyEditions } from './edition-copies.ts';
import { requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import { type Environment, type Gateway, runNode, startGateway } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';

const NIGHTS = 3;
const REVISED_SHARE = 0.01;
const SEED = 17;
const PASS_AT_MOST_MS = 60_000;
const BATCH = 20;
const STARTS = 5;
const PASSES = 3;
/** More than all indicators of all editions need. */
const ROOMY_CACHE_MB = '2000';
const EDITIONS = 100;
const MEGABYTE = 1024 * 1024;
/** Longer ago than any file is made, so that the file system notes the next reading. */
const NEVER_READ = new Date(0);

type Rows = (Row | Skipped)[];

interface Built {
  storage: SnapshotStorage;
  settings: Environment;
  /** Newest last. */
  editions: string[];
  /** Milliseconds of the steps of each build. */
  steps: Record<string, number>[];
  catalogue: Awaited<ReturnType<typeof readCatalogue>>;
}

export async function editionRows(session: Session): Promise<Rows> {
  const mirror = mirrorDirectory();
  if (mirror === null) return [{ name: 'editions', skipped: 'no provider mirror' }];
  const built = await buildNights(session, mirror);
  return [
    ...(await buildCosts(built)),
    ...(await openRows(session, built)),
    ...(await coldRows(session, built)),
    ...(await memoryRows(session, built)),
    ...(await startRows(session, built)),
  ];
}

/** A first build, and nights that revise some indicators each. */
async function buildNights({ dir: home, settings: common, say }: Session, mirror: string): Promise<Built> {
  const dir = join(home, 'editions');
  const copy = join(dir, 'mirror');
  await mkdir(copy, { recursive: true });
  await cp(join(mirror, 'gapminder'), join(copy, 'gapminder'), { recursive: true });
  const settings = { ...common, VAR_DIR: dir, SNAPSHOT_DIR: join(dir, 'snapshots'), PROVIDER_MIRROR: copy };
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  const changes = new UpstreamChanges(copy, SEED);
  const steps: Record<string, number>[] = [];
  for (let night = 0; night <= NIGHTS; night += 1) {
    say(`editions: night ${night}`);
    if (night > 0) {
      const { manifest } = await storage.open((await storage.currentId()) ?? '');
      const files = Math.ceil(manifest.counts.indicators * REVISED_SHARE);
      await changes.revise({ files, figures: 100 }, Date.now());
    }
    await runNode('build/main.ts', ['ingest', '--provider', 'gapminder', '--json'], settings);
    const { stdout } = await runNode('build/main.ts', ['materialise', '--json'], settings);
    steps.push(JSON.parse(stdout).steps_ms);
  }
  const editions = await storage.ids();
  const catalogue = await readCatalogue(await showSnapshot(storage.directory));
  return { storage, settings, editions, steps, catalogue };
}

const bytesOf = (files: FileList): number =>
  Object.values(files).reduce((total, { bytes }) => total + bytes, 0);

/** Time of trees and signature, and bytes that a night adds. */
async function buildCosts({ storage, editions, steps }: Built): Promise<Row[]> {
  const shareOfTrees = (name: string, builds: Record<string, number>[], bound: number): Row => {
    const trees = builds.map(({ proofs = Number.NaN }) => proofs / 1000);
    const others = builds.map(({ proofs = 0, ...rest }) => {
      const all_ms = Object.values(rest).reduce((total, ms) => total + ms, 0);
      return all_ms / 1000;
    });
    return {
      name,
      measured: { unit: 's', rounds: trees },
      floor: { name: 'the rest of materialise', sample: { unit: 's', rounds: others } },
      goal: { at: 'most', bound },
    };
  };
  const [first = {}, ...nights] = steps;
  const added: number[] = [];
  const kept: number[] = [];
  const known = new Set<string>();
  for (const edition of editions) {
    const { kept: files } = await storage.open(edition);
    const fresh = Object.entries(files).filter(([, { sha256 }]) => !known.has(sha256));
    for (const [, { sha256 }] of fresh) known.add(sha256);
    added.push(bytesOf(Object.fromEntries(fresh)) / MEGABYTE);
    kept.push(bytesOf(files) / MEGABYTE);
  }
  return [
    shareOfTrees('trees and signature, first build', [first], 1),
    shareOfTrees('trees and signature, a night that revises 1 % of the indicators', nights, 0.15),
    {
      name: 'bytes that a night adds that revises 1 % of the indicators',
      measured: { unit: 'MB', rounds: added.slice(1) },
      floor: { name: 'all kept files', sample: { unit: 'MB', rounds: kept.slice(1) } },
      goal: { at: 'most', bound: 0.03 },
    },
  ];
}

const withAsOf = (path: string, asOf: string): string => `${path}&as_of=${asOf}`;
/** 1.1 times the time of the call without `as_of`. */
const OPEN_AT_LEAST = 0.91;

/** A repeated call as of an edition that is open, beside the call without `as_of`. */
async function openRows(session: Session, { settings, editions, catalogue }: Built): Promise<Rows> {
  const { key } = await session.customer();
  const headers = { authorization: `Bearer ${key}` };
  const path = dataPath(hotQuery(catalogue));
  await using gateway = await startGateway(settings);
  const rows: Rows = [];
  for (const [name, edition] of [
    ['served', editions.at(-1)],
    ['an earlier', editions.at(-2)],
  ]) {
    const call = { path: withAsOf(path, edition ?? ''), headers };
    const { port, cpu } = gateway;
    rows.push(
      ...(await session.comparison(`as_of of ${name} edition, open`, async () => ({
        name: `as_of of ${name} edition, open`,
        gateway: { name: 'gateway', port, cpu, call },
        floors: [{ name: 'without as_of', port, cpu, call: { path, headers }, atLeast: OPEN_AT_LEAST }],
      }))),
    );
  }
  return rows;
}

/** Each indicator once, as of a closed edition or without, in turn: neither finds the other's columns in memory. */
async function coldRows(session: Session, { settings, editions, catalogue }: Built): Promise<Row[]> {
  const { key } = await session.customer();
  session.say('editions: cold /v1/data');
  const closed = editions[0] ?? '';
  const [now, then]: [number[], number[]] = [[], []];
  const opened: number[] = [];
  const ask = async ({ port }: Gateway, paths: string[]): Promise<number> => {
    const requests = paths.map((path) => requestText({ path, headers: { authorization: `Bearer ${key}` } }));
    const job = { port, requests, connections: 1, duration_ms: PASS_AT_MOST_MS, once: true };
    const { errors, answers, latency_p50_ms } = await session.load.ask<LoadJob, LoadResult>(job);
    if (errors > 0 || answers !== paths.length) throw new Error('cold /v1/data: not every response was 200');
    return latency_p50_ms;
  };
  const [warmUp, ...all] = slices(catalogue);
  const path = (one: DataQuery | undefined): string => (one ? dataPath(one) : '');
  for (const parity of [0, 1]) {
    await using gateway = await startGateway(settings);
    await ask(gateway, [path(warmUp)]);
    opened.push(await ask(gateway, [withAsOf(path(warmUp), closed)]));
    for (let from = 0; from + BATCH <= all.length; from += BATCH) {
      const batch = all.slice(from, from + BATCH);
      const [mine, other] = [0, 1].map((half) =>
        batch.filter((_, at) => (at + parity) % 2 === half).map(path),
      );
      then.push(
        await ask(
          gateway,
          (mine ?? []).map((one) => withAsOf(one, closed)),
        ),
      );
      now.push(await ask(gateway, other ?? []));
    }
  }
  return [
    { name: 'first call as of a closed edition, which opens it', measured: { unit: 'ms', rounds: opened } },
    {
      name: 'cold filtered /v1/data as of a closed edition',
      measured: { unit: 'ms', rounds: then },
      floor: { name: 'without as_of', sample: { unit: 'ms', rounds: now } },
      goal: { at: 'most', bound: 1.3 },
    },
  ];
}

/** The hot cache after the same indicators were asked for in one edition, and in three more. */
async function memoryRows(session: Session, { settings, editions, catalogue }: Built): Promise<Row[]> {
  const { key } = await session.customer();
  session.say('editions: memory');
  const metricsPort = await freePort();
  await using gateway = await startGateway({
    ...settings,
    METRICS_PORT: String(metricsPort),
    HOT_CACHE_MB: ROOMY_CACHE_MB,
  });
  const paths = slices(catalogue).map(
    ({ indicator }) => `/v1/data?indicator=${encodeURIComponent(indicator)}`,
  );
  const askAll = async (asOf: string | null): Promise<number> => {
    for (const path of paths) {
      const address = `http://127.0.0.1:${gateway.port}${asOf === null ? path : withAsOf(path, asOf)}`;
      const answer = await fetch(address, { headers: { authorization: `Bearer ${key}` } });
      if (answer.status !== 200) throw new Error(`${address} answered ${answer.status}`);
      await answer.arrayBuffer();
    }
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^almanac_hot_cache_bytes (\S+)/m.exec(metrics)?.[1]) / MEGABYTE;
  };
  // A column becomes hot when it is asked for again.
  let one = 0;
  for (let pass = 0; pass < PASSES; pass += 1) one = await askAll(null);
  let all = one;
  for (const edition of editions.slice(0, -1))
    for (let pass = 0; pass < PASSES; pass += 1) all = await askAll(edition);
  return [
    {
      name: `hot indicators of ${editions.length} editions, ${paths.length} indicators whole`,
      measured: { unit: 'MB', rounds: [all] },
      floor: { name: 'of one edition', sample: { unit: 'MB', rounds: [one] } },
      goal: { at: 'most', bound: 1 + 2 * REVISED_SHARE * NIGHTS },
    },
  ];
}

/** A start on a hundred editions beside one on a few, and what it reads. */
async function startRows(session: Session, { storage, settings, editions }: Built): Promise<Row[]> {
  session.say('editions: starts');
  const read = await filesReadByStart(storage, settings);
  const few: number[] = [];
  const many: number[] = [];
  const copies = join(storage.directory, '..', 'many');
  await copyEditions(storage, copies, EDITIONS);
  for (let start = 0; start < STARTS; start += 1) {
    for (const [times, directory] of [
      [few, storage.directory],
      [many, copies],
    ] as const) {
      await using gateway = await startGateway({ ...settings, SNAPSHOT_DIR: directory });
      times.push(gateway.ready_ms / 1000);
    }
  }
  return [
    {
      name: `start on ${EDITIONS} editions`,
      measured: { unit: 's', rounds: many },
      floor: { name: `on ${editions.length}`, sample: { unit: 's', rounds: few } },
      goal: { at: 'most', bound: 1.1 },
    },
    {
      name: 'files of single indicators and countries that a start reads',
      measured: { unit: 'files', rounds: [read] },
      goal: { at: 'most', bound: 0 },
    },
  ];
}

/** How many observation files and bodies of single indicators and countries have been read when the gateway is ready. */
async function filesReadByStart(storage: SnapshotStorage, settings: Environment): Promise<number> {
  const published = await storage.current();
  if (published === null) throw new Error('nothing is published');
  const files = { ...published.kept, ...(await storage.prerendered(published)) };
  const single = /^(observations|routes\/indicators|routes\/countries)\//;
  const objects = new Set(
    Object.entries(files).flatMap(([name, ref]) => (single.test(name) ? [storage.pathOf(ref)] : [])),
  );
  const forget = async (): Promise<void> => {
    for (const object of objects) await utimes(object, NEVER_READ, (await stat(object)).mtime);
  };
  const countRead = async (): Promise<number> => {
    const times = await Promise.all([...objects].map(async (object) => (await stat(object)).atime));
    return times.filter((atime) => atime > NEVER_READ).length;
  };
  await forget();
  for (const object of [...objects].slice(0, 1)) await readFile(object);
  if ((await countRead()) !== 1) throw new Error('the file system does not note when files are read');
  await forget();
  await using _gateway = await startGateway(settings);
  return countRead();
}
