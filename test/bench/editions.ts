/** Part of the bench: what editions cost. */
import type { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { observationsFile } from '../../data/schema/snapshot.ts';
import { freePort } from '../free-ports.ts';
import { mirrorDirectory } from '../mirror.ts';
import { type DataQuery, dataPath, hotQuery, slices } from './data-queries.ts';
import { buildCosts } from './edition-costs.ts';
import { type Built, buildNights } from './edition-nights.ts';
import { startRows } from './edition-starts.ts';
import { requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import { type Gateway, startGateway } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';
import { repeatStarts } from './throughput.ts';

const PASS_AT_MOST_MS = 60_000;
const BATCH = 20;
const PASSES = 3;
/** More than all indicators of all editions need. */
const ROOMY_CACHE_MB = '2000';
const MEGABYTE = 1024 * 1024;
/** Of the memory that the differing files need: their sizes in memory are not quite those on disk. */
const MEMORY_AT_MOST = 1.02;

type Rows = (Row | Skipped)[];

export async function editionRows(session: Session): Promise<Rows> {
  const mirror = mirrorDirectory();
  if (mirror === null) return [{ name: 'editions', skipped: 'no provider mirror' }];
  const built = await buildNights(session, mirror);
  return [
    ...(await buildCosts(built)),
    ...(await repeatStarts(() => openRows(session, built))),
    ...(await coldRows(session, built)),
    ...(await memoryRows(session, built)),
    ...(await startRows(session, built)),
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
async function memoryRows(
  session: Session,
  { storage, settings, editions, catalogue }: Built,
): Promise<Row[]> {
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
  const ids = slices(catalogue).map(({ indicator }) => indicator);
  const differing =
    (await fileBytes(storage, editions, ids)) / (await fileBytes(storage, editions.slice(-1), ids));
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
      goal: { at: 'most', bound: Number((MEMORY_AT_MOST * differing).toFixed(3)) },
    },
  ];
}

/** Bytes of the files of some indicators in some editions, each file once. */
async function fileBytes(
  storage: SnapshotStorage,
  editions: readonly string[],
  ids: readonly string[],
): Promise<number> {
  const files = new Map<string, number>();
  for (const edition of editions) {
    const { kept } = await storage.open(edition);
    for (const id of ids) {
      const ref = kept[observationsFile(id)];
      if (ref) files.set(ref.sha256, ref.bytes);
    }
  }
  return [...files.values()].reduce((total, bytes) => total + bytes, 0);
}
