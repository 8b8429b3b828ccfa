/** Measures one size of the scale bench: build, gateway start and request rates. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CatalogueIndex } from '../../../data/schema/snapshot.ts';
import { compareWithBare, compareWithFastify, type Measured } from '../comparisons.ts';
import { dataPath, hotQuery } from '../data-queries.ts';
import type { Gateway } from '../processes.ts';
import { median, type Row, ratio, type Skipped } from '../report.ts';
import { Session } from '../session.ts';
import { repeatStarts } from '../throughput.ts';
import type { Replicator } from './replica.ts';
import { type StepCost, type WatchedBuild, watchBuild } from './watched-build.ts';

const STARTS = 3;
/** Repetitions of a build that takes seconds; the median counts, since disk latency varies. */
const SMALL_BUILDS = 5;
const SMALL_COPIES_MOST = 4;
const WHOLE_CONNECTIONS = 4;

export interface Rate {
  name: string;
  per_second: number;
  /** Relative to a floor that sends the same bytes, which cancels body size and machine speed. */
  of_floor: number;
}

export interface Size {
  copies: number;
  indicators: number;
  observations: number;
  build: StepCost;
  steps: Record<string, StepCost>;
  snapshot: { files: number; megabytes: number };
  gateway: { ready_s: number[]; ready_mb: number; loaded_mb: number | null };
  rates: Rate[];
}

export interface Place {
  dir: string;
  redisUrl: string;
  say: (line: string) => void;
}

/** Measures one size and deletes its files. @param withRates measures request rates too, which takes a minute */
export async function measureSize(
  replicator: Replicator,
  { dir, redisUrl, say }: Place,
  copies: number,
  withRates: boolean,
): Promise<Size> {
  const home = join(dir, `times-${copies}`);
  try {
    say(`${copies}×: a lake`);
    const { rows: observations, series: indicators } = await replicator.fill(home, copies);
    say(`${copies}×: the build`);
    const { total: build, steps } = await middleBuild(home, copies <= SMALL_COPIES_MOST ? SMALL_BUILDS : 1);
    say(`${copies}×: the gateway`);
    await using session = new Session({ dir: home, redisUrl, say });
    const snapshot = await measureFiles((await session.snapshot()).dir);
    const gateway = await starts(session);
    const { rates, loaded_mb } = withRates ? await measureRates(session) : { rates: [], loaded_mb: null };
    return {
      copies,
      indicators,
      observations,
      build,
      steps: Object.fromEntries(steps),
      snapshot,
      gateway: { ...gateway, loaded_mb },
      rates,
    };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** The build with the median CPU time. Each starts without an earlier snapshot. */
async function middleBuild(home: string, times: number): Promise<WatchedBuild> {
  const build = (): Promise<WatchedBuild> => watchBuild({ VAR_DIR: home, CURATED_DIR: join(home, 'data') });
  const first = await build();
  const builds = [first];
  while (builds.length < times) {
    await rm(join(home, 'snapshots'), { recursive: true });
    builds.push(await build());
  }
  return builds.toSorted((a, b) => a.total.cpu_s - b.total.cpu_s)[Math.floor(times / 2)] ?? first;
}

async function measureFiles(dir: string): Promise<Size['snapshot']> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  let bytes = 0;
  for (const { parentPath, name } of files) bytes += (await stat(join(parentPath, name))).size;
  return { files: files.length, megabytes: bytes / 2 ** 20 };
}

async function starts(session: Session): Promise<{ ready_s: number[]; ready_mb: number }> {
  const ready_s: number[] = [];
  const memory: number[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    await using gateway = await session.gateway();
    ready_s.push(gateway.ready_ms / 1000);
    memory.push((await gateway.memory()) ?? Number.NaN);
  }
  return { ready_s, ready_mb: median(memory) };
}

/** Matches the same number of indicators at every size: those of the first copy. */
const SEARCH = '/v1/indicators?q=v00_life_expectancy';

const catalogueCalls = ({ indicators: [first] }: CatalogueIndex): Measured[] => [
  ...['identity', 'br'].map((coding) => ({
    name: `whole catalogue, ${coding}`,
    call: { path: '/v1/indicators', headers: { 'accept-encoding': coding } },
    // At more connections a body of 13 MB would not arrive within a round.
    connections: WHOLE_CONNECTIONS,
  })),
  { name: 'one indicator', call: { path: `/v1/indicators/${encodeURIComponent(first?.record.id ?? '')}` } },
  {
    name: 'a page of one topic, by coverage',
    call: { path: `/v1/indicators?topic=${first?.record.topic}&sort=coverage&limit=50` },
  },
  { name: 'a search', call: { path: SEARCH } },
  { name: 'a search not seen before', call: { path: SEARCH, isNewEachTime: true } },
];

async function measureRates(session: Session): Promise<{ rates: Rate[]; loaded_mb: number | null }> {
  let loaded_mb: number | null = null;
  const rows = await repeatStarts(async () => {
    await using gateway = await session.gateway();
    const found = await rateRows(session, gateway);
    loaded_mb = await gateway.memory();
    return found;
  });
  const rates = rows.map((row): Rate => {
    if ('skipped' in row) throw new Error(`${row.name}: ${row.skipped}`);
    const { name, measured } = row;
    return { name, per_second: median(measured.rounds), of_floor: ratio(row) ?? Number.NaN };
  });
  return { rates, loaded_mb };
}

async function rateRows(session: Session, gateway: Gateway): Promise<(Row | Skipped)[]> {
  const { catalogue } = await session.snapshot();
  const customer = await session.customer();
  const rows: (Row | Skipped)[] = [];
  for (const call of catalogueCalls(catalogue)) rows.push(...(await compareWithBare(session, gateway, call)));
  const hot = hotQuery(catalogue);
  const slice: Measured = {
    name: 'hot data, 3 countries × 20 years',
    call: { path: dataPath(hot), headers: { authorization: `Bearer ${customer.key}` } },
    price: hot.countries.length * (hot.to - hot.from + 1),
  };
  rows.push(
    ...(await session.comparison(slice.name, (stack) =>
      compareWithFastify(session, gateway, slice, customer, stack),
    )),
  );
  return rows;
}
