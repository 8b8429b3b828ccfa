/**
 * Builds the nights of the measurement: the good one exists; the second follows it with the faults, and the first has
 * the faults and no night before.
 */
import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { buildSnapshot } from '../../../../build/editions/build-snapshot.ts';
import { QualityReports } from '../../../../build/quality/findings.ts';
import { DuckSession } from '../../../../build/runtime/duckdb.ts';
import { CuratedError, loadCurated } from '../../../../data/curated/curated.ts';
import type { QualityFinding } from '../../../../data/schema/quality.ts';
import { CONCEPTS, conceptLink, observationsFile } from '../../../../data/schema/snapshot.ts';
import { showSnapshot } from '../../../shown-snapshot.ts';
import { GoodData } from './good-data.ts';
import { measureNight, type NightMeasurement } from './measure.ts';
import { plantFaults } from './plant-faults.ts';
import type { Planted } from './tools.ts';
import { copyAsFirstNight, copyLake, writeCurated, writeLake } from './write-night.ts';

const DAY_MS = 86_400_000;

export interface GoodNight {
  lakeDir: string;
  snapshotDir: string;
  curatedDir: string;
  /** When it was built, in milliseconds. */
  builtAt: number;
}

export interface MeasureOptions {
  seed: number;
  count: number;
  /** An empty directory. */
  scratch: string;
}

interface BuiltNight {
  findings: QualityFinding[];
  /** Directory of the snapshot. */
  snapshot: string;
}

export interface FaultyNights {
  /** What is open before the faults; its series get none. */
  open: QualityFinding[];
  planted: Planted[];
  /** The second night, then the first. */
  nights: NightMeasurement[];
}

/** The data of the good night. The caller closes them. */
export async function openGoodData(good: GoodNight, scratch: string): Promise<GoodData> {
  return GoodData.open({
    lakeDir: good.lakeDir,
    curatedDir: good.curatedDir,
    twins: await twinsOf(good.curatedDir, await currentSnapshot(good.snapshotDir)),
    currentYear: new Date(good.builtAt).getUTCFullYear(),
    scratch,
  });
}

/** Plants faults into a good night and measures what the quality report finds, after a good night and without. */
export async function measureFaults(good: GoodNight, options: MeasureOptions): Promise<FaultyNights> {
  const { seed, count, scratch } = options;
  const before = await readFindings(good.lakeDir, scratch);
  const goodSnapshot = await currentSnapshot(good.snapshotDir);
  const data = await openGoodData(good, scratch);
  try {
    // Series with an open finding are no good data.
    const open = before.filter(({ decision }) => decision === null);
    const avoid = new Set(
      open.flatMap(({ indicator, other }) => [indicator, other]).filter((id) => id !== null),
    );
    const planted = await plantFaults(data, { seed, count, avoid });
    const refused = await refusedByCurated(good, data, planted, join(scratch, 'refused'));
    const kept = planted.filter((one) => !refused.has(one));
    const curatedDir = join(scratch, 'data');
    await copyCurated(good.curatedDir, curatedDir);
    await writeCurated(
      curatedDir,
      data,
      kept.map(({ changes }) => changes),
    );
    const second = await buildSecond(good, data, kept, join(scratch, 'second'), curatedDir);
    const first = await buildFirst(
      good,
      data,
      join(scratch, 'second/lake'),
      join(scratch, 'first'),
      curatedDir,
    );
    const measure = async (night: 'compared' | 'alone', built: BuiltNight): Promise<NightMeasurement> =>
      measureNight({
        night,
        data,
        planted,
        before,
        after: built.findings,
        dealtWith: new Map([...refused, ...(await unpublished(kept, goodSnapshot, built.snapshot, scratch))]),
      });
    return { open, planted, nights: [await measure('compared', second), await measure('alone', first)] };
  } finally {
    await data.close();
  }
}

const currentSnapshot = async (snapshotDir: string): Promise<string> =>
  (await showSnapshot(snapshotDir)).directory;

/** Pairs of one concept: those that the build found, and those of review. */
async function twinsOf(curatedDir: string, snapshot: string): Promise<[string, string][]> {
  const { concepts } = await loadCurated(curatedDir);
  const found = conceptLink.array().parse(JSON.parse(await readFile(join(snapshot, CONCEPTS), 'utf8')));
  return [
    ...found.map(({ a, b }): [string, string] => [a, b]),
    ...concepts
      .pairs()
      .map(([one, other]): [string, string] => [one.series.indicator, other.series.indicator]),
  ];
}

/** The starter data are not needed, and large. */
const copyCurated = (from: string, to: string): Promise<void> =>
  cp(from, to, { recursive: true, filter: (path) => !path.startsWith(join(from, 'starter')) });

/** Faults that the curated data do not load with. Each is tried alone. */
async function refusedByCurated(
  good: GoodNight,
  data: GoodData,
  planted: readonly Planted[],
  scratch: string,
): Promise<Map<Planted, string>> {
  const refused = new Map<Planted, string>();
  for (const [at, one] of planted.entries()) {
    if (!one.changes.settings && !one.changes.linked) continue;
    const directory = join(scratch, String(at));
    await copyCurated(good.curatedDir, directory);
    await writeCurated(directory, data, [one.changes]);
    try {
      await loadCurated(directory);
    } catch (error) {
      if (!(error instanceof CuratedError)) throw error;
      refused.set(one, 'refused when the curated data are loaded');
    }
  }
  return refused;
}

async function buildSecond(
  good: GoodNight,
  data: GoodData,
  planted: readonly Planted[],
  directory: string,
  curatedDir: string,
): Promise<BuiltNight> {
  const now = good.builtAt + DAY_MS;
  await copyLake(good.lakeDir, join(directory, 'lake'));
  await copyLake(good.snapshotDir, join(directory, 'snapshots'));
  await writeLake(
    join(directory, 'lake'),
    now,
    data,
    planted.map(({ changes }) => changes),
  );
  return build(directory, curatedDir, now);
}

async function buildFirst(
  good: GoodNight,
  data: GoodData,
  lakeDir: string,
  directory: string,
  curatedDir: string,
): Promise<BuiltNight> {
  await copyAsFirstNight(lakeDir, join(directory, 'lake'), data.curated.providers.keys());
  return build(directory, curatedDir, good.builtAt + DAY_MS);
}

async function build(directory: string, curatedDir: string, now: number): Promise<BuiltNight> {
  const [lakeDir, snapshotDir] = [join(directory, 'lake'), join(directory, 'snapshots')];
  await mkdir(snapshotDir, { recursive: true });
  await buildSnapshot({
    settings: {
      LAKE_DIR: lakeDir,
      SNAPSHOT_DIR: snapshotDir,
      SNAPSHOT_KEEP: 3,
      SIGNING_DIR: join(directory, 'signing'),
    },
    curated: await loadCurated(curatedDir),
    now: () => now,
    log: pino({ level: 'error' }),
  });
  return {
    findings: await readFindings(lakeDir, join(directory, 'scratch')),
    snapshot: await currentSnapshot(snapshotDir),
  };
}

/** The findings of the newest night. */
async function readFindings(lakeDir: string, scratch: string): Promise<QualityFinding[]> {
  const reports = new QualityReports(lakeDir);
  const night = (await reports.nights()).at(-1);
  if (night === undefined) throw new Error(`${lakeDir} has no quality report`);
  return withDuck(scratch, (duck) => reports.read(duck, night));
}

/** Empty rows that the build does not publish. */
async function unpublished(
  planted: readonly Planted[],
  good: string,
  faulty: string,
  scratch: string,
): Promise<Map<Planted, string>> {
  const dealtWith = new Map<Planted, string>();
  await withDuck(scratch, async (duck) => {
    const rowsOf = async (snapshot: string, id: string): Promise<number> => {
      const file = join(snapshot, observationsFile(id));
      const [row] = await duck.rows('SELECT count(*)::INTEGER AS rows FROM read_parquet($file)', { file });
      return Number(row?.rows);
    };
    for (const one of planted) {
      const { kind, series } = one.fault;
      if (kind !== 'empty_rows' || series === null) continue;
      if ((await rowsOf(faulty, series)) <= (await rowsOf(good, series))) dealtWith.set(one, 'not published');
    }
  });
  return dealtWith;
}

async function withDuck<Result>(
  scratch: string,
  use: (duck: DuckSession) => Promise<Result>,
): Promise<Result> {
  const duck = await DuckSession.open({ scratch: join(scratch, 'duck') });
  try {
    return await use(duck);
  } finally {
    await duck.close();
  }
}
